"""Streams folded into states that are kept in memory: the shell around every `decide` and `evolve`.

An `Aggregates` object owns its states. `evolve` may change a state in place, so that an event costs the same however
long the stream is; `decide` only reads the state.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from resolute.eventlog import Appended, EventLog
from resolute.eventlog.steps import STEP, in_steps
from resolute.proto.errors import ResoluteError, WrongVersion
from resolute.proto.message import Cause, Event, Recorded
from resolute.service.snapshots import Snapshots

S = TypeVar("S")

PAGE = 2_000
"""Events in one read: a stream of millions of events is never in memory as a whole."""


@dataclass(slots=True)
class Folded(Generic[S]):
    """A stream in memory: the state after `version` events. Only the holder of `lock` changes it."""

    state: S
    version: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Aggregates(Generic[S]):
    """The aggregates of one category, by stream name. Methods raise Unavailable while the log is away."""

    def __init__(
        self,
        log: EventLog,
        initial: Callable[[], S],
        evolve: Callable[[S, Event], S],
        *,
        snapshots: Snapshots[S] | None = None,
        keep: int = 1000,
    ) -> None:
        """`keep`: how many states stay in memory; the least recently used is dropped first."""
        self._log, self._initial, self._evolve, self._keep = log, initial, evolve, keep
        self._snapshots = snapshots
        self._folded: OrderedDict[str, Folded[S]] = OrderedDict()

    async def state(self, stream: str, at_least: int | None = None) -> S:
        """The newest state, for reading only. With `at_least`, a state of that version or later, which is often in
        memory and then needs no query."""
        folded = self._get(stream)
        if at_least is not None and folded.version >= at_least:
            return folded.state
        async with folded.lock:
            await self._catch_up(stream, folded)
            return folded.state

    async def execute(self, stream: str, decide: Callable[[S], Sequence[Event]], cause: Cause) -> Appended:
        """Decide on the current state, append what was decided, and return what was written.

        When another process wrote to the stream first, this reads the new events and decides again. A refusal, and a
        decision without events, are returned only when they were made on the newest state. For a cause that was written
        before, this returns what was written the first time.
        """
        folded = self._get(stream)
        async with folded.lock:
            while True:
                outcome = await self._attempt(stream, folded, decide, cause)
                if outcome is not None:
                    return outcome

    async def _attempt(
        self, stream: str, folded: Folded[S], decide: Callable[[S], Sequence[Event]], cause: Cause
    ) -> Appended | None:
        refusal: ResoluteError | None = None
        events: Sequence[Event] = ()
        try:
            events = decide(folded.state)
        except ResoluteError as error:
            refusal = error
        if not events:
            return await self._nothing_to_write(stream, folded, refusal, cause)
        if len(events) > STEP:
            await asyncio.sleep(0)  # deciding on so many events held the loop for a while, and encoding will again
        try:
            outcome = await self._log.append(stream, events, expected_version=folded.version, cause=cause)
        except WrongVersion:
            await self._catch_up(stream, folded)
            return None
        if outcome.repeated:
            await self._catch_up(stream, folded)
        else:
            await self._absorb(stream, folded, outcome.events)
        return outcome

    async def _nothing_to_write(
        self, stream: str, folded: Folded[S], refusal: ResoluteError | None, cause: Cause
    ) -> Appended | None:
        if await self._catch_up(stream, folded):
            return None
        before = await self._log.append(stream, (), expected_version=folded.version, cause=cause)
        if refusal is not None and not before.repeated:
            raise refusal
        return before

    async def _catch_up(self, stream: str, folded: Folded[S]) -> bool:
        """Reads and folds the new events of the stream. Returns whether there were any."""
        before = folded.version
        if before == 0 and self._snapshots is not None and (found := await self._snapshots.load(stream)) is not None:
            folded.state, folded.version = found
        while events := await self._log.read_stream(stream, folded.version, PAGE):
            await self._absorb(stream, folded, events)
            if len(events) < PAGE:
                break
        return folded.version > before

    async def _absorb(self, stream: str, folded: Folded[S], events: Sequence[Recorded]) -> None:
        before = folded.version
        async for part in in_steps(events):
            self._fold(stream, folded, part)
        if self._snapshots is not None:
            await self._snapshots.keep(stream, folded.state, before, folded.version)

    def _fold(self, stream: str, folded: Folded[S], events: Sequence[Recorded]) -> None:
        try:
            for recorded in events:
                assert recorded.version == folded.version + 1, f"{stream}: a gap before {recorded.version}"
                folded.state = self._evolve(folded.state, recorded.event)
                folded.version = recorded.version
        except BaseException:
            # A fold that stopped half-way may have changed the state in place, so the state must not be used again.
            folded.state, folded.version = self._initial(), 0
            raise

    def _get(self, stream: str) -> Folded[S]:
        folded = self._folded.get(stream)
        if folded is None:
            folded = self._folded[stream] = Folded(self._initial())
            while len(self._folded) > self._keep and self._forget_one(but=stream):
                pass
        self._folded.move_to_end(stream)
        return folded

    def _forget_one(self, but: str) -> bool:
        for stream, folded in self._folded.items():
            if stream != but and not folded.lock.locked():
                del self._folded[stream]
                return True
        return False
