"""Tasks as processes of this host. Each has a session and a directory of its own, and a shim that watches it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from resolute.agent import shim, spool, task_files
from resolute.agent.accounts import as_user, give, make_home
from resolute.agent.process_launch import account_of
from resolute.agent.runtime import CannotStart, Chunk, Exit, Launch
from resolute.agent.task_files import open_to_write
from resolute.agent.warm import WarmParents
from resolute.service.locks import is_held

LOOK_AGAIN_S = 0.002
COMPLAINT_BYTES_MAX = 64 * 1024
FORK_S = 10.0
"""How long a warm parent may take to fork."""


class ProcessRuntime:
    """The `TaskRuntime` of processes. Owns the folders `root/<resources_id>`, which have everything about a task: an
    agent that is started later finds there the tasks of the earlier one.

    `grace_s`: how long a task that is asked to end may take. `warm`: the warm parents, which fork tasks that can be
    forked.
    """

    def __init__(self, root: Path, grace_s: float = 15.0, warm: WarmParents | None = None) -> None:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root, self._grace_s, self._warm = root, grace_s, warm
        self._shims: dict[str, subprocess.Popen[bytes]] = {}
        self._launched: dict[str, Launch] = {}
        """The launches of tasks that run, kept only for the warm parents."""

    def folder(self, resources_id: str) -> str:
        return str(self._path(resources_id) / "run")

    async def start(self, launch: Launch) -> None:
        folder = self._path(launch.resources_id)
        if await self.attach(launch.resources_id):
            raise CannotStart(f"{launch.resources_id} was started before")
        try:
            _make_folders(folder, launch)
            if not await self._fork(launch, folder):
                self._spawn(launch, folder)
                if not await self._came_up(folder):
                    raise CannotStart(f"the supervisor of {launch.command[0]} ended at once: {_complaint(folder)}")
        except (OSError, ValueError) as error:  # ValueError: a variable that no process can have
            raise CannotStart(f"cannot start {launch.command[0]} in {folder}: {error}") from error
        if self._warm is not None:
            self._launched[launch.resources_id] = launch

    async def _fork(self, launch: Launch, folder: Path) -> bool:
        """Whether a warm parent has forked the task, and its shim runs."""
        if self._warm is None:
            return False
        with _new_lock(folder) as lock:
            if not self._warm.fork(launch, folder, lock, self._grace_s):
                return False
        try:
            async with asyncio.timeout(FORK_S):
                return await self._came_up(folder)
        except TimeoutError:
            self._warm.give_up(launch)
        return await self._came_up(folder)  # the parent is dead: the lock is free, unless a shim holds it

    def _spawn(self, launch: Launch, folder: Path) -> None:
        if (folder / "log").exists():
            return  # a forked shim began and ended at once; it may have started the task, which must not run twice
        with _new_lock(folder) as lock, open_to_write(folder / "shim.err") as complaints:
            self._shims[launch.resources_id] = subprocess.Popen(
                [*shim.program(), folder, str(lock), str(self._grace_s), *launch.command],
                env=dict(launch.environment),
                cwd=folder / "run" / "workdir",
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                pass_fds=[lock],
                start_new_session=True,
                **as_user(account_of(launch)),
            )

    async def _came_up(self, folder: Path) -> bool:
        """Waits for the file that the shim writes when it has started the task. False when the shim ended before."""
        while not (folder / "pid").exists():
            if not is_held(folder / "lock"):
                return (folder / "pid").exists()  # the shim may have written the file, and ended, since the last check
            await asyncio.sleep(LOOK_AGAIN_S)
        return True

    async def address(self, resources_id: str) -> str:
        return ""

    async def attach(self, resources_id: str) -> bool:
        folder = self._path(resources_id)
        # An agent may have died after it had started the shim, and before the shim wrote the file.
        while is_held(folder / "lock") and not (folder / "pid").exists():  # noqa: ASYNC110  (another process makes it)
            await asyncio.sleep(LOOK_AGAIN_S)
        return (folder / "pid").exists()

    async def signal(self, resources_id: str, number: int) -> None:
        pidfd = self._open_shim(resources_id)
        if pidfd is not None:
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGABRT if number == signal.SIGKILL else number)
            except ProcessLookupError:
                return  # it ended just now
            finally:
                os.close(pidfd)

    async def exit(self, resources_id: str) -> Exit:
        folder = self._path(resources_id)
        while (pidfd := self._open_shim(resources_id)) is not None:
            try:
                await _readable(pidfd)
            finally:
                os.close(pidfd)
        self._reap(resources_id)
        launch = self._launched.pop(resources_id, None)
        if self._warm is not None and launch is not None:
            self._warm.ended(launch, folder / "run" / "imported")
        try:
            code, _, *lost = (float(word) for word in task_files.read(folder / "exit").split())
        except FileNotFoundError:
            await _end_strays(resources_id)
            return Exit(None, "the process that supervised it was killed")
        except ValueError:  # the host lost power after the file was renamed, and before its text was on the disk
            return Exit(None, "how it ended was not kept")
        if not 0 <= code <= spool.EXIT_CODE_MAX:
            return Exit(None, "how it ended was not kept")
        return Exit(int(code), lost=shim.lost_lines(int(lost[0]), *lost[1:]) if len(lost) == 3 else "")

    def _open_shim(self, resources_id: str) -> int | None:
        """A pidfd of the task's shim; None when the shim has ended.

        The lock is checked after the pidfd is open: while the shim holds it, the process id cannot belong to another
        process. The user is checked because the task can write to the file: it could name a process of another user,
        which the agent must not signal.
        """
        folder = self._path(resources_id)
        try:
            pid = int(task_files.read(folder / "pid").split()[0])
            pidfd = os.pidfd_open(pid)
        except (OSError, ValueError, IndexError, OverflowError):
            return None
        if is_held(folder / "lock") and os.stat(folder).st_uid == _owner_of(pid):
            return pidfd
        os.close(pidfd)
        return None

    def _reap(self, resources_id: str) -> None:
        process = self._shims.pop(resources_id, None)
        if process is not None:
            process.wait()

    async def logs(self, resources_id: str, mark: int, limit: int) -> Chunk:
        return spool.read(self._path(resources_id) / "log", mark, limit)

    async def forget(self, resources_id: str) -> None:
        await asyncio.to_thread(shutil.rmtree, self._path(resources_id), ignore_errors=True)

    async def tidy(self, owned: Collection[str]) -> None:
        for folder in self._root.iterdir():
            if folder.name not in owned and is_held(folder / "lock"):
                await self.signal(folder.name, signal.SIGKILL)

    def _path(self, resources_id: str) -> Path:
        assert Path(resources_id).name == resources_id, f"{resources_id!r} is no name for a directory"
        return self._root / resources_id


@contextmanager
def _new_lock(folder: Path) -> Iterator[int]:
    """Takes the lock for a shim that is about to start and inherits it: from now on the lock shows that the task
    exists."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)


async def _readable(pidfd: int) -> None:
    """Wait until the process has ended."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(pidfd)


def _make_folders(folder: Path, launch: Launch) -> None:
    """Makes the task's folders, and the files of its launch."""
    folders = (folder, folder / "run", folder / "run" / "workdir")
    for one in folders:
        one.mkdir(mode=0o700, exist_ok=True)
    files = [folder / "run" / name for name in launch.files]
    for path, content in zip(files, launch.files.values(), strict=True):
        path.write_text(content)
    make_home(account_of(launch))
    give((*files, *reversed(folders)), account_of(launch))


def _owner_of(pid: int) -> int | None:
    try:
        return psutil.Process(pid).uids().real
    except psutil.Error:
        return None


def _complaint(folder: Path) -> str:
    lines = task_files.read(folder / "shim.err", COMPLAINT_BYTES_MAX).decode(errors="replace").splitlines()
    return lines[-1] if lines else "it printed nothing"


async def _end_strays(resources_id: str) -> None:
    """Kills the processes of a task whose shim was killed: those with the task's resources id in their environment."""
    while strays := await asyncio.to_thread(_carrying, resources_id):
        for process in strays:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        await asyncio.sleep(LOOK_AGAIN_S)


def _carrying(resources_id: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("DET_RESOURCES_ID") == resources_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found
