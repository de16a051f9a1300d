"""Tasks in containers, each with a shim as its first process, which tells all there is to tell on its stdout.

The Docker daemon keeps that output; a thread for each task copies it to `root/<resources_id>/log`, going on where an
earlier one stopped: the file is always the beginning of what the daemon has, whoever died when. Nothing else is read
of a container but its last state, so the daemon may go away and come back.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TypeVar

import structlog

from resolute.agent import contained, spool
from resolute.agent.containers import LABEL, RUN_DIR
from resolute.agent.docker_engine import Away, Engine, Refusal, State
from resolute.agent.docker_start import Start
from resolute.agent.docker_words import ending
from resolute.agent.runtime import CannotStart, Chunk, Exit, Launch

log_ = structlog.get_logger()

LOOK_AGAIN_S = 0.01
PAUSE_S_MAX = 2.0
"""The longest pause between tries to reach a daemon that is away."""

T = TypeVar("T")


class DockerRuntime:
    """`owner`: the labels that this agent's containers have. `grace_s`: how long a task that is asked to end may take.

    `keep`: whether what has ended stays, for a look inside.
    """

    def __init__(
        self, root: Path, engine: Engine, owner: Mapping[str, str], grace_s: float = 15.0, keep: bool = False
    ) -> None:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root, self._engine, self._owner = root, engine, owner
        self._grace_s, self._keep = grace_s, keep
        self._starts: dict[str, Start] = {}
        self._followers: dict[str, asyncio.Task[State | None]] = {}
        self._asked: set[str] = set()
        self._signalling: set[asyncio.Task[None]] = set()

    def folder(self, resources_id: str) -> str:
        return RUN_DIR

    async def start(self, launch: Launch) -> None:
        assert launch.container is not None, "a task of this runtime has a container"
        folder = self._path(launch.resources_id)
        if launch.resources_id in self._starts or spool.is_up(self._log(launch.resources_id)):
            raise CannotStart(f"{launch.resources_id} was started before")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            start = Start(
                self._engine, _name(launch.resources_id), launch, launch.container, self._grace_s, folder / "notes"
            )
            self._starts[launch.resources_id] = start
            await _aside(start.run)
        except OSError as error:
            raise CannotStart(f"cannot keep the output of a task in {folder}: {error}") from error
        finally:
            self._starts.pop(launch.resources_id, None)
        if not await self._came_up(launch.resources_id):
            raise await self._stillborn(launch.resources_id)

    async def attach(self, resources_id: str) -> bool:
        state = await _aside(lambda: _patiently(lambda: self._engine.state(_name(resources_id))))
        if state is None:
            return spool.is_up(self._log(resources_id))
        if not state.begun:
            return False
        return await self._came_up(resources_id)

    async def address(self, resources_id: str) -> str:
        state = await _aside(lambda: _patiently(lambda: self._engine.state(_name(resources_id))))
        return next(iter(state.addresses.values()), "") if state is not None else ""

    async def signal(self, resources_id: str, number: int) -> None:
        if (start := self._starts.get(resources_id)) is not None:
            start.give_up.set()
            return
        if not self._path(resources_id).is_dir():
            return
        if number in (signal.SIGTERM, signal.SIGKILL):
            self._note_asked(resources_id)
        told = signal.SIGABRT if number == signal.SIGKILL else signal.Signals(number)

        def kill() -> None:
            self._engine.kill(_name(resources_id), told.name)

        try:
            await _aside(kill)
        except Away:
            # Whoever asked has others to look after.
            later = asyncio.create_task(_aside(lambda: _patiently(kill)))
            self._signalling.add(later)
            later.add_done_callback(self._signalling.discard)

    def _note_asked(self, resources_id: str) -> None:
        """That it was we who wanted it to end, for whoever comes to tell how it did."""
        self._asked.add(resources_id)
        try:
            (self._path(resources_id) / "asked").touch()
        except OSError as error:
            log_.warning("the next agent will not know who ended a task", resources_id=resources_id, why=str(error))

    async def exit(self, resources_id: str) -> Exit:
        state = await asyncio.shield(self._follow(resources_id))
        asked = resources_id in self._asked or (self._path(resources_id) / "asked").exists()
        return ending(spool.end(self._log(resources_id)), state, asked)

    async def logs(self, resources_id: str, mark: int, limit: int) -> Chunk:
        """First what was said before the container ran, then what it says; a mark counts the bytes of both."""
        notes = self._path(resources_id) / "notes"
        before = notes.stat().st_size if notes.exists() else 0
        if mark < before:
            return spool.read(notes, mark, limit)
        chunk = spool.read(self._log(resources_id), mark - before, limit)
        return Chunk(chunk.lines, chunk.mark + before)

    async def forget(self, resources_id: str) -> None:
        self._followers.pop(resources_id, None)
        self._asked.discard(resources_id)
        try:
            await _aside(lambda: _patiently(lambda: self._engine.remove(_name(resources_id))))
        except Refusal as refusal:  # it is tried again when it is no longer owned
            log_.warning("a container cannot be removed", resources_id=resources_id, why=refusal.words)
        await asyncio.to_thread(shutil.rmtree, self._path(resources_id), ignore_errors=True)

    async def tidy(self, owned: Collection[str]) -> None:
        try:
            await _aside(lambda: self._remove_but(frozenset(owned)))
        except (Away, Refusal) as problem:
            log_.warning("not tidied", why=str(problem))

    def _remove_but(self, owned: frozenset[str]) -> None:
        for container_id, labels in self._engine.owned(self._owner):
            resources_id = labels.get(f"{LABEL}resources", "")
            state = self._engine.state(container_id)
            if resources_id in owned or state is None or (self._keep and state.ended):
                continue
            log_.warning("removing a container that no task owns", container=container_id, resources_id=resources_id)
            self._engine.remove(container_id)

    # ------------------------------------------------------------ its output

    def _follow(self, resources_id: str) -> asyncio.Task[State | None]:
        """The container's last state, None where it is gone, when it has ended and all of its output is here."""
        found = self._followers.get(resources_id)
        if found is None:
            log, name = self._log(resources_id), _name(resources_id)
            log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = asyncio.create_task(_aside(lambda: follow(self._engine, name, log)))
            self._followers[resources_id] = found
        return found

    async def _came_up(self, resources_id: str) -> bool:
        """Wait for the shim's sign of life; False when it died before it could give one."""
        following = self._follow(resources_id)
        while not spool.is_up(self._log(resources_id)):
            if following.done():
                return spool.is_up(self._log(resources_id))
            await asyncio.sleep(LOOK_AGAIN_S)
        return True

    async def _stillborn(self, resources_id: str) -> CannotStart:
        try:
            words = await _aside(lambda: _patiently(lambda: self._engine.complaints(_name(resources_id))))
        except Refusal as refusal:
            words = [refusal.words]
        why = words[-1] if words else "it said nothing"
        return CannotStart(f"the supervisor of the task ended at once in its container: {why}", hopeless=bool(words))

    def _path(self, resources_id: str) -> Path:
        assert Path(resources_id).name == resources_id, f"{resources_id!r} is no name for a directory"
        return self._root / resources_id

    def _log(self, resources_id: str) -> Path:
        return self._path(resources_id) / "log"


def follow(engine: Engine, name: str, log: Path) -> State | None:
    """Copy what the container prints to `log` until it has ended and all of it is there; its last state, if any."""
    while True:
        state = _patiently(lambda: engine.state(name))
        told = spool.end(log) is not None
        if state is None or not state.begun or (state.ended and told):
            return state
        try:
            if told:
                engine.kill(name, contained.HEARD.name)  # that is what it waits for
            else:
                _copy(engine, name, log, follow=not state.ended)
        except (Away, Refusal, OSError) as problem:  # OSError: a full disk; what does not fit now may fit later
            log_.warning("the output of a container cannot be read", container=name, why=str(problem))
            time.sleep(PAUSE_S_MAX / 2)
            continue
        if state.ended:
            return state
        time.sleep(LOOK_AGAIN_S)


def _copy(engine: Engine, name: str, log: Path, follow: bool) -> None:
    """What is not there yet, up to the end of the task: both are the same from the beginning on."""
    with log.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # of two followers one waits, and finds nothing left to do
        there = file.seek(0, os.SEEK_END)
        may_be_the_end = there > 0  # the file may have half a record
        for piece in engine.output(name, follow):
            new = piece[there:]
            there = max(0, there - len(piece))
            may_be_the_end = may_be_the_end or b" x " in new
            while new:
                new = new[file.write(new) :]
            if there == 0 and may_be_the_end:
                if spool.end(log) is not None:
                    return
                may_be_the_end = False


def _patiently(ask: Callable[[], T]) -> T:
    """Again and again while the daemon is away."""
    pause_s = 0.05
    while True:
        try:
            return ask()
        except Away as away:
            log_.warning("waiting", who="docker", why=str(away), pause_s=pause_s)
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, PAUSE_S_MAX)


async def _aside(work: Callable[[], T]) -> T:
    """In a thread of its own, that no end of this process waits for: some of this work takes as long as a task."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(how: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else how())
        except RuntimeError:
            return  # the loop is closed, and nobody waits any more

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            told = error
            tell(lambda: done.set_exception(told))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True).start()
    return await done


def _name(resources_id: str) -> str:
    return f"resolute-{resources_id}"
