"""Warm parents: a process for each environment that tasks share, which forks tasks instead of starting interpreters.

See docs/decisions/0023. A parent is made once a task with its environment has ended, so that the first one of its kind
has the host to itself, and an idle host keeps none; it imports what that task has imported. Whoever cannot be forked is
started afresh; a parent is only ever a short cut.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from resolute.agent import shim
from resolute.agent.accounts import Account, as_user
from resolute.agent.environment import BOOTSTRAP
from resolute.agent.process_launch import account_of
from resolute.agent.runtime import Launch
from resolute.agent.task_files import open_to_read

log_ = structlog.get_logger()

PARENTS_MAX = 2
IN_USE_S = 30.0
"""A parent that forked this recently does not make room for another."""
ROOM = "." * 4096
"""Its command line and its environment are long, so that those of a task fit over them."""

ALWAYS = ("determined.core", "determined.exec.harness", "encodings.idna", "gzip")
NAMES_BYTES_MAX = 256 * 1024
_DIE_WITH_ITS_PARENT = f"ctypes.CDLL(None).prctl(1, {signal.SIGKILL:d}, 0, 0, 0)"
_BEGIN = f"import ctypes, os, sys; {_DIE_WITH_ITS_PARENT}; os.execv(sys.argv[1], sys.argv[1:])"
AS_TASKS_DO = (sys.executable, "-I", "-S", "-c", _BEGIN)
"""A task's interpreter is started by another, its shim, which may have settled the locale for both. Unlike a task, a
parent ends with its agent, whatever it is at; its forks do not inherit that."""

_PORTS = ("DTRAIN_SSH_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2", "C10D_PORT")
OWN_NAMES = frozenset(("TRACEPARENT", "CUDA_VISIBLE_DEVICES", *_PORTS))
OWN_PREFIX = "DET_"
"""The variables that differ from task to task, and that nothing looks at when it is loaded. All others must be those
the parent was started with: what a library reads when it is loaded is then as after a fresh start."""

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WarmSettings:
    python: str
    imports: tuple[str, ...]
    """What a parent imports beside the harness, once a task of its kind has."""
    idle_s: float
    """How long a parent stays without work."""
    folder: Path
    """Where parents run, and complain."""


@dataclass(slots=True)
class Parent:
    process: subprocess.Popen[bytes]
    control: socket.socket = field(repr=False)
    imports: tuple[str, ...]
    ready: bool = False
    used_at_s: float = field(default_factory=time.monotonic)


class WarmParents:
    def __init__(self, settings: WarmSettings) -> None:
        self._settings = settings
        self._parents: OrderedDict[Key, Parent] = OrderedDict()
        """Least recently used first."""
        self._unfit: set[Key] = set()

    def fork(self, launch: Launch, folder: Path, lock: int, grace_s: float) -> bool:
        """Whether a parent was asked to start the task. The parent may still fail: then no process holds the lock, and
        the folder has none of the files that a shim writes."""
        key = self._key(launch)
        parent = self._parents.get(key) if key is not None else None
        if key is None or parent is None or not parent.ready:
            return False
        order = {"folder": str(folder), "grace_s": grace_s, "complaints": str(folder / "shim.err")}
        what = _fork_request(launch, folder, lock, grace_s)
        try:
            socket.send_fds(parent.control, [json.dumps(order).encode()], [lock, what])
        except OSError:
            return False
        finally:
            os.close(what)
        parent.used_at_s = time.monotonic()
        self._parents.move_to_end(key)
        return True

    def ended(self, launch: Launch, imported: Path) -> None:
        """A task has ended, and there may be more of its kind: from now on they find a parent, if there is room.

        `imported`: the file in which the task has left the names of its modules; it may not have.
        """
        key = self._key(launch)
        if key is None or key in self._unfit:
            return
        used = _names_in(imported)
        before = self._parents[key].imports if key in self._parents else ()
        imports = tuple(name for name in self._settings.imports if name in used or name in before)
        if key in self._parents and imports == before:
            return
        if self._makes_room(key):
            try:
                self._begin(key, launch, imports)
            except OSError as error:
                log_.warning("no warm parent", why=str(error))

    def _makes_room(self, key: Key) -> bool:
        if key in self._parents:
            self._let_go(key)
        elif len(self._parents) >= PARENTS_MAX:
            oldest, parent = next(iter(self._parents.items()))
            if time.monotonic() - parent.used_at_s < IN_USE_S:
                return False
            self._let_go(oldest)
        return True

    def give_up(self, launch: Launch) -> None:
        """Ends the parent of this task, which has not answered for long; the tasks that it forked go on."""
        key = self._key(launch)
        if key is not None and key in self._parents:
            log_.warning("a warm parent does not answer", pid=self._parents[key].process.pid)
            self._let_go(key)

    def ready(self) -> list[int]:
        """The process ids of the parents that can fork."""
        return [parent.process.pid for parent in self._parents.values() if parent.ready]

    def close(self) -> None:
        """Ends the parents; the tasks that they forked go on."""
        for key in list(self._parents):
            self._let_go(key)

    def _key(self, launch: Launch) -> Key | None:
        """What tasks of one parent have in common; None for a task that cannot be forked."""
        if launch.command != (self._settings.python, *BOOTSTRAP):
            return None
        if any(place and not os.path.isabs(place) for place in launch.environment.get("PYTHONPATH", "").split(":")):
            return None  # a relative path, which depends on the task's working directory
        account = account_of(launch)
        owner = "" if account is None else str(account.uid)
        return (("", owner), *sorted(_shared(launch.environment).items()))

    def _begin(self, key: Key, launch: Launch, imports: tuple[str, ...]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        settings = self._settings
        words = [str(theirs.fileno()), shim.__file__, str(settings.idle_s), *ALWAYS, *imports, ROOM]
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with theirs, (settings.folder / "warm.err").open("wb") as complaints:
            process = subprocess.Popen(
                [*AS_TASKS_DO, settings.python, "-m", "determined.exec.warm", *words],
                env=_parents_own(launch.environment),
                cwd=_working_directory(settings.folder, account_of(launch)),
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                **as_user(account_of(launch)),
            )
        self._parents[key] = Parent(process, ours, imports)
        asyncio.get_running_loop().add_reader(ours, self._heard, key)

    def _heard(self, key: Key) -> None:
        parent = self._parents[key]
        try:
            said = parent.control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said == b"ready":
            parent.ready = True
            log_.info("a warm parent is ready", pid=parent.process.pid, imports=parent.imports)
            return
        if said:
            self._unfit.add(key)
            log_.warning("no warm parent", why=said.decode(errors="replace"))
        self._let_go(key)

    def _let_go(self, key: Key) -> None:
        """Nothing depends on it: what it has forked goes on, and what it was about to fork is started afresh."""
        parent = self._parents.pop(key)
        loop = asyncio.get_running_loop()
        loop.remove_reader(parent.control)
        parent.control.close()
        parent.process.kill()
        loop.run_in_executor(None, parent.process.wait)


def _working_directory(folder: Path, account: Account | None) -> Path:
    """An empty directory that the parent may enter."""
    if account is None:
        return folder
    own = folder / str(account.uid)
    own.mkdir(exist_ok=True)
    return own


def _names_in(file: Path) -> set[str]:
    try:
        with open_to_read(file) as names:
            return set(names.read(NAMES_BYTES_MAX).decode(errors="replace").split("\n"))
    except OSError:
        return set()


def _shared(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name not in OWN_NAMES and not name.startswith(OWN_PREFIX)
    }  # fmt: skip


def _parents_own(environment: Mapping[str, str]) -> dict[str, str]:
    """What tasks share, by what name their cluster finds its processes, and no GPU."""
    found = {name: environment[name] for name in ("DET_CLUSTER_ID", "DET_AGENT_ID") if name in environment}
    return {**_shared(environment), **found, "CUDA_VISIBLE_DEVICES": "", "DET_WARM_ROOM": ROOM}


def _fork_request(launch: Launch, folder: Path, lock: int, grace_s: float) -> int:
    """The request to fork a task, as an open file that only the forked process reads."""
    what = {
        "workdir": str(folder / "run" / "workdir"),
        "environment": dict(launch.environment),
        "command": launch.command,
        "shown_as": [*shim.program(), str(folder), str(lock), str(grace_s), *launch.command],
    }
    fd = os.memfd_create("task")
    os.write(fd, json.dumps(what).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
