"""Tasks in containers. The first process of each is a shim, which writes the task's output and exit code to its stdout.

The stdout of a container is copied to `root/<resources_id>/log` (`docker_follow.py`). Apart from that, the agent reads
only the last state of the container, so an outage of the daemon loses nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import signal
from collections.abc import Collection, Mapping
from pathlib import Path

import structlog

from resolute.agent import spool
from resolute.agent.container_spec import LABEL, RUN_DIR, ContainerLaunch
from resolute.agent.docker_engine import Away, Engine, Refusal, State
from resolute.agent.docker_follow import LOOK_AGAIN_S, follow, patiently
from resolute.agent.docker_messages import ending, shim_problem
from resolute.agent.docker_start import Start
from resolute.agent.runtime import CannotStart, Chunk, Exit, Launch
from resolute.agent.threads import in_thread

log_ = structlog.get_logger()


class DockerRuntime:
    """The `TaskRuntime` of containers. Owns the folders below `root`, and the containers with the labels `owner`.

    `grace_s`: how long a task that is asked to end may take. `keep`: whether containers that have ended are kept, so
    that people can look into them.
    """

    def __init__(
        self, root: Path, engine: Engine, owner: Mapping[str, str], grace_s: float = 15.0, keep: bool = False
    ) -> None:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._root, self._engine, self._owner = root, engine, owner
        self._cluster = hashlib.sha256(owner[f"{LABEL}cluster"].encode()).hexdigest()[:8]
        self._grace_s, self._keep = grace_s, keep
        self._starts: dict[str, Start] = {}
        self._followers: dict[str, asyncio.Task[State | None]] = {}
        self._asked: set[str] = set()
        self._signalling: set[asyncio.Task[None]] = set()

    def folder(self, resources_id: str) -> str:
        return RUN_DIR

    async def start(self, launch: Launch) -> None:
        assert isinstance(launch, ContainerLaunch), "a task of this runtime has a container"
        folder = self._path(launch.resources_id)
        if launch.resources_id in self._starts or spool.is_up(self._log(launch.resources_id)):
            raise CannotStart(f"{launch.resources_id} was started before")
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            name = self._name(launch.resources_id)
            start = Start(self._engine, name, launch, launch.container, self._grace_s, folder / "notes")
            self._starts[launch.resources_id] = start
            await in_thread(start.run)
        except OSError as error:
            raise CannotStart(f"cannot keep the output of a task in {folder}: {error}") from error
        finally:
            self._starts.pop(launch.resources_id, None)
        if not await self._came_up(launch.resources_id):
            raise await self._stillborn(launch.resources_id)

    async def attach(self, resources_id: str) -> bool:
        state = await self._found(resources_id)
        if state is None:
            return spool.is_up(self._log(resources_id))
        if not state.begun:
            return False
        return await self._came_up(resources_id)

    async def address(self, resources_id: str) -> str:
        state = await self._found(resources_id)
        return next(iter(state.addresses.values()), "") if state is not None else ""

    async def signal(self, resources_id: str, number: int) -> None:
        if (start := self._starts.get(resources_id)) is not None:
            start.give_up.set()
            return
        if not self._path(resources_id).is_dir():
            return
        if number in (signal.SIGTERM, signal.SIGKILL):
            self._note_asked(resources_id)
        sent = signal.SIGABRT if number == signal.SIGKILL else signal.Signals(number)

        def kill() -> None:
            if (state := self._find(resources_id)) is not None:
                self._engine.kill(state.id, sent.name)

        try:
            await in_thread(kill)
        except Away:
            # In the background: the caller has other tasks to watch.
            later = asyncio.create_task(in_thread(lambda: patiently(kill)))
            self._signalling.add(later)
            later.add_done_callback(self._signalling.discard)

    def _note_asked(self, resources_id: str) -> None:
        """Notes that this agent asked the task to end, for the report of how it ended."""
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
        """The agent's lines from before the container ran, then the container's output; a mark counts the bytes of
        both."""
        notes = self._path(resources_id) / "notes"
        before = notes.stat().st_size if notes.exists() else 0
        if mark < before:
            return spool.read(notes, mark, limit)
        chunk = spool.read(self._log(resources_id), mark - before, limit)
        return Chunk(chunk.lines, chunk.mark + before)

    async def forget(self, resources_id: str) -> None:
        self._followers.pop(resources_id, None)
        self._asked.discard(resources_id)

        def remove() -> None:
            if (state := self._find(resources_id)) is not None:
                self._engine.remove(state.id)

        try:
            await in_thread(lambda: patiently(remove))
        except Refusal as refusal:  # `tidy` tries again once the task is not owned any more
            log_.warning("a container cannot be removed", resources_id=resources_id, why=refusal.words)
        await asyncio.to_thread(shutil.rmtree, self._path(resources_id), ignore_errors=True)

    async def tidy(self, owned: Collection[str]) -> None:
        try:
            await in_thread(lambda: self._remove_but(owned))
        except (Away, Refusal) as problem:
            log_.warning("not tidied", why=str(problem))

    def _remove_but(self, owned: Collection[str]) -> None:
        # `owned` must be read after the containers were listed, and not copied before: listing may take long, and a
        # task that begins meanwhile is in `owned` before it has a container.
        for container_id, labels in self._engine.owned(self._owner):
            resources_id = labels.get(f"{LABEL}resources", "")
            state = self._engine.state(container_id)
            if resources_id in owned or state is None or (self._keep and state.ended):
                continue
            log_.warning("removing a container that no task owns", container=container_id, resources_id=resources_id)
            try:
                self._engine.remove(container_id)
            except Refusal as refusal:
                log_.warning("a container cannot be removed", container=container_id, why=refusal.words)

    # ------------------------------------------------------------ the container

    def _name(self, resources_id: str) -> str:
        """The name has the cluster's id, because clusters that share an engine may have the same resources ids."""
        return f"resolute-{self._cluster}-{resources_id}"

    def _find(self, resources_id: str) -> State | None:
        """The task's container, running or not. A container of that name without this agent's labels is ignored."""
        for name in (self._name(resources_id), f"resolute-{resources_id}"):  # named so by earlier agents
            state = self._engine.state(name)
            if state is not None and state.is_of(self._owner):
                return state
        return None

    async def _found(self, resources_id: str) -> State | None:
        return await in_thread(lambda: patiently(lambda: self._find(resources_id)))

    # ------------------------------------------------------------ the output

    def _follow(self, resources_id: str) -> asyncio.Task[State | None]:
        """Ends when the container has ended and all of its output is copied; returns its last state, None if it is
        gone."""
        found = self._followers.get(resources_id)
        if found is None:
            log = self._log(resources_id)
            log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

            def to_the_end() -> State | None:
                state = patiently(lambda: self._find(resources_id))
                return follow(self._engine, state.id, log) if state is not None else None

            found = asyncio.create_task(in_thread(to_the_end))
            self._followers[resources_id] = found
        return found

    async def _came_up(self, resources_id: str) -> bool:
        """Waits for the shim's first record; False where the shim ended before it wrote one."""
        following = self._follow(resources_id)
        while not spool.is_up(self._log(resources_id)):
            if following.done():
                return spool.is_up(self._log(resources_id))
            await asyncio.sleep(LOOK_AGAIN_S)
        return True

    async def _stillborn(self, resources_id: str) -> CannotStart:
        def complaints() -> list[str]:
            state = self._find(resources_id)
            return self._engine.complaints(state.id) if state is not None else []

        try:
            words = await in_thread(lambda: patiently(complaints))
        except Refusal as refusal:
            words = [refusal.words]
        found = shim_problem(words)
        return CannotStart(found.words, found.hopeless)

    def _path(self, resources_id: str) -> Path:
        assert Path(resources_id).name == resources_id, f"{resources_id!r} is no name for a directory"
        return self._root / resources_id

    def _log(self, resources_id: str) -> Path:
        return self._path(resources_id) / "log"
