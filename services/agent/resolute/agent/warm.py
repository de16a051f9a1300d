"""Warm parents: processes that have imported what tasks need, and fork tasks, which saves starting an interpreter.

See docs/decisions/0023. There is one parent for each environment that tasks share. It is started when a task with that
environment has ended, and imports what that task has imported: so the first task does not share the processors with a
parent, and an idle host has no parents. A task that cannot be forked is started afresh.
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
"""A parent that has forked a task within this time is not ended to make room for another."""
ROOM = "." * 4096
"""Padding of a parent's command line and environment: a forked task overwrites them with its own, for `ps`."""

ALWAYS = ("determined.core", "determined.exec.harness", "encodings.idna", "gzip")
NAMES_BYTES_MAX = 256 * 1024
_DIE_WITH_ITS_PARENT = f"ctypes.CDLL(None).prctl(1, {signal.SIGKILL:d}, 0, 0, 0)"
_BEGIN = f"import ctypes, os, sys; {_DIE_WITH_ITS_PARENT}; os.execv(sys.argv[1], sys.argv[1:])"
AS_TASKS_DO = (sys.executable, "-I", "-S", "-c", _BEGIN)
"""A parent is started by an interpreter, as a task is started by its shim: the first interpreter may change the locale
variables that the second one inherits. Unlike a task, a parent is killed when its agent dies; the processes that it
forks are not (PR_SET_PDEATHSIG is cleared by fork(2))."""

_PORTS = ("DTRAIN_SSH_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2", "C10D_PORT")
OWN_NAMES = frozenset(("TRACEPARENT", "CUDA_VISIBLE_DEVICES", *_PORTS))
OWN_PREFIX = "DET_"
"""The variables that may differ between a parent and a task that it forks, because no library reads them while it is
imported. All others have to be equal: then the imported libraries are as they would be after a fresh start."""

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WarmSettings:
    python: str
    imports: tuple[str, ...]
    """The modules that a parent imports besides the harness, of those that a task of its environment has imported."""
    idle_s: float
    """How long a parent is kept without a task to fork."""
    folder: Path
    """The working directory of parents, and the file of their stderr."""


@dataclass(slots=True)
class Parent:
    """A warm parent, from its start to its end. It can fork once it is `ready`."""

    process: subprocess.Popen[bytes]
    control: socket.socket = field(repr=False)
    imports: tuple[str, ...]
    ready: bool = False
    used_at_s: float = field(default_factory=time.monotonic)


class WarmParents:
    """The warm parents of one agent: at most PARENTS_MAX. Not safe for several threads."""

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
        """Called when a task has ended. Starts a parent for further tasks with its environment, if there is room.

        `imported`: the file in which the task has left the names of its modules, if it got that far.
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
            self._end(key)
        elif len(self._parents) >= PARENTS_MAX:
            oldest, parent = next(iter(self._parents.items()))
            if time.monotonic() - parent.used_at_s < IN_USE_S:
                return False
            self._end(oldest)
        return True

    def give_up(self, launch: Launch) -> None:
        """Ends the parent for this task, because it has not forked the task in time. The tasks that it forked go on."""
        key = self._key(launch)
        if key is not None and key in self._parents:
            log_.warning("a warm parent does not answer", pid=self._parents[key].process.pid)
            self._end(key)

    def ready(self) -> list[int]:
        """The process ids of the parents that can fork."""
        return [parent.process.pid for parent in self._parents.values() if parent.ready]

    def close(self) -> None:
        """Ends the parents; the tasks that they forked go on."""
        for key in list(self._parents):
            self._end(key)

    def _key(self, launch: Launch) -> Key | None:
        """What all tasks of one parent have in common: the user and the shared variables. None for a task that cannot
        be forked."""
        if launch.command != (self._settings.python, *BOOTSTRAP):
            return None
        if any(place and not os.path.isabs(place) for place in launch.environment.get("PYTHONPATH", "").split(":")):
            return None  # a relative path, which depends on the task's working directory
        account = account_of(launch)
        owner = "" if account is None else str(account.uid)
        return (("", owner), *sorted(_shared(launch.environment).items()))

    def _begin(self, key: Key, launch: Launch, imports: tuple[str, ...]) -> None:
        control, parents_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.setblocking(False)
        try:
            process = self._spawn(launch, imports, parents_end)
        except BaseException:
            control.close()
            raise
        finally:
            parents_end.close()
        self._parents[key] = Parent(process, control, imports)
        asyncio.get_running_loop().add_reader(control, self._on_message, key)

    def _spawn(self, launch: Launch, imports: tuple[str, ...], control: socket.socket) -> subprocess.Popen[bytes]:
        settings = self._settings
        words = [str(control.fileno()), shim.__file__, str(settings.idle_s), *ALWAYS, *imports, ROOM]
        settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (settings.folder / "warm.err").open("wb") as complaints:
            return subprocess.Popen(
                [*AS_TASKS_DO, settings.python, "-m", "determined.exec.warm", *words],
                env=_parents_own(launch.environment),
                cwd=_working_directory(settings.folder, account_of(launch)),
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[control.fileno()],
                start_new_session=True,
                **as_user(account_of(launch)),
            )

    def _on_message(self, key: Key) -> None:
        """Reads what a parent says: that it is ready, or why it cannot fork. An end of the connection ends the
        parent."""
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
        self._end(key)

    def _end(self, key: Key) -> None:
        """Ends a parent. Tasks that it has forked go on, and one that it was about to fork is started afresh."""
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
    """The variables of a parent: the shared ones, those by which a cluster finds its processes, and no GPU."""
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
