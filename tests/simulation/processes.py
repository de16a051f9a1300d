"""Processes that die: a service with a log and a bus of its own, both of which it loses at the moment of its death.

A killed process does nothing more: what it was about to write stays unwritten, what it had written stays, and
whoever waits for its answer waits in vain. So death may come between writing and knowing that it was written.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar
from unittest import mock

from resolute.bus import CommandHandler, MemoryBus, Subscription
from resolute.eventlog import Appended, Aside, MemoryEventLog, Snapshot, Sought
from resolute.eventlog.chain import Break, Row
from resolute.proto.errors import ResoluteError, Unavailable
from resolute.proto.message import Cause, Command, Event, Recorded, Reply
from resolute.proto.streams import Service
from resolute.service import Aggregates, Context
from resolute.service.run import serve_patiently
from tests.simulation import clock

T = TypeVar("T")


class OpenLog(MemoryEventLog):
    """The durable log, with its pages open for whoever checks promises."""

    def __init__(self) -> None:
        super().__init__(clock.now)
        self.story: list[Recorded] = []
        self.streams: dict[str, list[Recorded]] = defaultdict(list)

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        appended = await super().append(stream, events, expected_version=expected_version, cause=cause)
        if not appended.repeated:
            self.story.extend(appended.events)
            self.streams[stream].extend(appended.events)
        return appended

    def lose_snapshots(self) -> None:
        self._snapshots.clear()

    def spoil_snapshots(self) -> None:
        """A bit of each is another one: none carries its seal any more."""
        for key, kept in self._snapshots.items():
            spoilt = bytes([kept.state[0] ^ 1]) + kept.state[1:]
            self._snapshots[key] = Snapshot(kept.stream, kept.version, kept.schema, spoilt)


@dataclass
class Machinery:
    """What all processes share: the durable log, the bus, the seed's chance, and the outages of either."""

    log: OpenLog
    bus: MemoryBus
    rng: Random
    unknown: float = 0.0
    """The share of appends and publications whose outcome their author is not told."""
    log_down: bool = False
    bus_down: bool = False

    def outcome_is_known(self) -> bool:
        return not self.unknown or self.rng.random() >= self.unknown


@dataclass
class Process:
    """One incarnation of a service; a restart is another one."""

    name: str
    machinery: Machinery
    serve: Callable[[Context], Awaitable[None]]
    on_bug: Callable[[str, BaseException], None]
    clock_ahead_s: float = 0.0
    """By how much its host's wall clock is wrong."""
    dead: bool = False
    died: asyncio.Event = field(default_factory=asyncio.Event)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    handlers: set[asyncio.Task[Any]] = field(default_factory=set)
    aggregates: list[Aggregates[Any]] = field(default_factory=list)
    """What it remembers of the log."""
    steps: int = 0
    """How often it has dealt with the log or the bus."""
    last_step: int | None = None
    """It dies at that one."""
    frozen_until_s: float = 0.0

    def start(self) -> None:
        context = Context(ProcessLog(self), ProcessBus(self), now=self.now, on_ready=lambda name: self.ready.set())
        kind = self.name.rpartition("-")[0]  # `searcher` of `searcher-0`
        service = Service.API if kind == "gateway" else kind
        self._main = asyncio.create_task(self._run(context.of(service)), name=self.name)

    def now(self) -> datetime:
        return clock.now() + timedelta(seconds=self.clock_ahead_s)

    async def _run(self, context: Context) -> None:
        _ALIVE.set(self)
        try:
            await serve_patiently(self.name, self.serve, context)
        except Exception as error:  # noqa: BLE001  (told to the story, which fails with it)
            if not self.dead:
                self.on_bug(self.name, error)

    def kill(self) -> None:
        """As `kill -9`."""
        self.dead = True
        self.died.set()
        for task in (self._main, *self.handlers):
            task.cancel()

    async def step(self) -> None:
        """Before each dealing with the log or the bus, and after a writing one: here death and long pauses come."""
        self.steps += 1
        if self.steps == self.last_step and not self.dead:
            self.kill()
        if (pause_s := self.frozen_until_s - clock.elapsed_s()) > 0:
            await asyncio.sleep(pause_s)
        self.check_alive()

    async def handle(self, work: Awaitable[T]) -> T:
        """Let `work` be done by this process: if it dies first, no answer ever comes. What comes when it is dead is not
        done at all."""
        if self.dead:
            if isinstance(work, Coroutine):
                work.close()
            await asyncio.Future()  # until whoever asked gives up
        task = self.begin(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            asker = asyncio.current_task()
            if self.dead and not (asker and asker.cancelling()):
                await asyncio.Future()  # until whoever asked gives up
            raise

    def begin(self, work: Awaitable[T]) -> asyncio.Task[T]:
        """Work that ends when this process does."""

        async def done() -> T:
            return await work

        task = asyncio.create_task(done())
        self.handlers.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        """An answer that is none (`ResoluteError`) is for who asked; anything else is a bug, whoever asked."""
        self.handlers.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ResoluteError) and not self.dead:
            self.on_bug(self.name, error)

    def check_alive(self) -> None:
        if self.dead:
            raise Unavailable(f"{self.name} is dead")


_ALIVE: ContextVar[Process] = ContextVar("alive")
"""The process whose code is running."""


def alive() -> Process:
    """The process that asks."""
    return _ALIVE.get()


@contextmanager
def witnessed() -> Iterator[None]:
    """Every process's folded states are known to it, so that they can be held against the log in the end."""
    build = Aggregates.__init__

    def built(self: Aggregates[Any], *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        if (process := _ALIVE.get(None)) is not None:
            process.aggregates.append(self)

    with mock.patch.object(Aggregates, "__init__", built):
        yield


@dataclass(frozen=True)
class ProcessLog:
    """The log as seen over a connection of `process`: it takes a moment, and sometimes it is away."""

    process: Process

    async def _moment(self) -> MemoryEventLog:
        machinery = self.process.machinery
        await asyncio.sleep(machinery.rng.uniform(0.0002, 0.003))
        await self.process.step()
        if machinery.log_down:
            raise Unavailable("the database is away")
        return machinery.log

    async def _answered(self) -> None:
        """What was written stands; whether the writer learns of it is another matter."""
        await self._moment()
        if not self.process.machinery.outcome_is_known():
            raise Unavailable("the connection broke before the answer came")

    async def append(self, stream: str, events: Sequence[Event], *, expected_version: int, cause: Cause) -> Appended:
        log = await self._moment()
        appended = await log.append(stream, events, expected_version=expected_version, cause=cause)
        await self._answered()
        return appended

    async def read_stream(self, stream: str, after_version: int = 0, limit: int | None = None) -> list[Recorded]:
        return await (await self._moment()).read_stream(stream, after_version, limit)

    async def stream_names(self, category: str) -> list[str]:
        return await (await self._moment()).stream_names(category)

    async def read_all(self, after: int, limit: int = 1000) -> list[Recorded]:
        return await (await self._moment()).read_all(after, limit)

    async def read_next(self, after: int, limit: int = 1000) -> list[Recorded]:
        return await (await self._moment()).read_next(after, limit)

    async def find(self, sought: Sought, limit: int) -> list[Row]:
        return await (await self._moment()).find(sought, limit)

    async def head(self) -> int:
        return await (await self._moment()).head()

    async def wait_beyond(self, position: int, timeout_s: float) -> bool:
        return await (await self._moment()).wait_beyond(position, timeout_s)

    async def reserve(self, sequence: str, count: int = 1) -> range:
        reserved = await (await self._moment()).reserve(sequence, count)
        await self._answered()
        return reserved

    async def load_snapshot(self, stream: str, schema: str) -> Snapshot | None:
        return await (await self._moment()).load_snapshot(stream, schema)

    async def save_snapshot(self, snapshot: Snapshot) -> None:
        await (await self._moment()).save_snapshot(snapshot)
        await self._answered()

    async def load_position(self, consumer: str) -> int:
        return await (await self._moment()).load_position(consumer)

    async def save_position(self, consumer: str, position: int) -> None:
        await (await self._moment()).save_position(consumer, position)

    async def set_aside(self, consumer: str, position: int, error: str) -> None:
        await (await self._moment()).set_aside(consumer, position, error)

    async def asides(self) -> list[Aside]:
        return await (await self._moment()).asides()

    async def ask_again(self, consumer: str, position: int) -> bool:
        return await (await self._moment()).ask_again(consumer, position)

    async def asked_again(self, consumer: str) -> list[int]:
        return await self.process.machinery.log.asked_again(consumer)  # every quiet second: it takes no time here

    async def settle(self, consumer: str, position: int) -> None:
        await (await self._moment()).settle(consumer, position)

    async def begin_attempt(self, consumer: str, position: int, run: str) -> int:
        return await (await self._moment()).begin_attempt(consumer, position, run)

    async def forget_attempts(self, consumer: str, position: int, run: str | None = None) -> None:
        await (await self._moment()).forget_attempts(consumer, position, run)

    async def forget_attempts_of(self, prefix: str, *, but: str) -> None:
        await (await self._moment()).forget_attempts_of(prefix, but=but)

    async def verify(self) -> Break | None:
        return await (await self._moment()).verify()

    async def close(self) -> None:
        """The log outlives its readers."""


@dataclass(frozen=True)
class ProcessBus:
    """The bus as seen over a connection of `process`, which dies with it."""

    process: Process

    async def _bus(self) -> MemoryBus:
        await self.process.step()
        if self.process.machinery.bus_down:
            raise Unavailable("the bus is away")
        return self.process.machinery.bus

    async def request(self, command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
        reply = await (await self._bus()).request(command, cause, timeout_s)
        await self.process.step()
        return reply

    async def serve(self, service: str, handle: CommandHandler) -> Subscription:
        async def handled(command: Command, cause: Cause) -> Reply:
            return await self.process.handle(handle(command, cause))

        return self._owned(await (await self._bus()).serve(service, handled))

    async def publish_fact(self, recorded: Recorded) -> bool:
        fresh = await (await self._bus()).publish_fact(recorded)
        await self.process.step()
        if not self.process.machinery.outcome_is_known():
            raise Unavailable("no acknowledgement came")
        return fresh

    async def last_fact(self) -> int:
        return await (await self._bus()).last_fact()

    async def facts(self, deliver: Callable[[Recorded], None]) -> Subscription:
        def delivered(recorded: Recorded) -> None:
            if not self.process.dead and not self.process.machinery.bus_down:
                deliver(recorded)

        return self._owned(await (await self._bus()).facts(delivered))

    async def publish(self, subject: str, message: Any) -> None:
        await (await self._bus()).publish(subject, message)

    async def ask(self, subject: str, message: Any, answer: type[T], timeout_s: float = 5.0) -> T:
        return await (await self._bus()).ask(subject, message, answer, timeout_s)

    async def listen(
        self, subject: str, kind: type[T], handle: Callable[[T], Awaitable[Any]], *, queue: str = ""
    ) -> Subscription:
        async def handled(message: T) -> Any:
            return await self.process.handle(handle(message))

        return self._owned(await (await self._bus()).listen(subject, kind, handled, queue=queue))

    async def close(self) -> None:
        """The bus outlives its users."""

    def _owned(self, subscription: Subscription) -> Subscription:
        asyncio.create_task(self._close_at_death(subscription))  # noqa: RUF006
        return subscription

    async def _close_at_death(self, subscription: Subscription) -> None:
        await asyncio.wait({self.process._main})
        await subscription.close()
