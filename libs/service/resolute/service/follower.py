"""Follows the log: a consumer gets every event, in order.

Facts come over the bus within a millisecond, but the bus may lose, repeat and reorder them, or be wiped. The positions
of events have no gaps, so the follower notices a missing event, and reads it from the log
(docs/decisions/0004-followers-count-positions.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import structlog

from resolute.bus import Bus
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Recorded

log_ = structlog.get_logger()


class Consumer(Protocol):
    """Handles the events of the log in order: a read model, or a set of reactions."""

    async def position(self) -> int:
        """The position up to which the log has been handled."""
        ...

    async def handle(self, batch: Sequence[Recorded]) -> None:
        """Handle the next events, in order. After a crash some events come again; handling them again must have no
        further effect."""
        ...


@runtime_checkable
class Retrying(Protocol):
    """A consumer that can handle once more the events that it set aside."""

    async def again(self) -> None:
        """Handle the events that a person asked for once more. Called when no event has come for a while."""
        ...


class Patience:
    """Pauses between attempts (exponential back-off): the first lasts `first_s`, each next one twice as long, up to
    `most_s`."""

    def __init__(self, first_s: float = 0.05, most_s: float = 2.0) -> None:
        self._pause_s, self._most_s = first_s, most_s

    async def wait(self, who: str, error: Exception) -> None:
        """`who`: what waits, for the log."""
        log_.warning("waiting", who=who, why=str(error), pause_s=self._pause_s)
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, self._most_s)


class Follower:
    """Gives one consumer the events of the log, until cancelled. Waits out outages of the log and the bus."""

    def __init__(
        self, consumer: Consumer, log: EventLog, bus: Bus, *, batch: int = 500, check_every_s: float = 1.0
    ) -> None:
        """`check_every_s`: how often a follower without new facts asks the log whether the bus lost one."""
        self._consumer, self._log, self._bus = consumer, log, bus
        self._batch, self._check_every_s = batch, check_every_s
        self._arrived: asyncio.Queue[Recorded] = asyncio.Queue(maxsize=10_000)
        self._position = 0
        self._missing = False
        """Whether an event after the next one has arrived: those before it have to be read from the log."""

    async def run(self) -> None:
        patience = Patience()
        while True:
            began = self._position
            try:
                subscription = await self._bus.facts(self._deliver)
                try:
                    await self._follow()
                finally:
                    await subscription.close()
            except Unavailable as error:
                if self._position > began:
                    patience = Patience()
                await patience.wait("follower", error)

    def _deliver(self, recorded: Recorded) -> None:
        if not self._arrived.full():  # an event that does not fit is missing later, and is then read from the log
            self._arrived.put_nowait(recorded)

    async def _follow(self) -> None:
        self._position = await self._consumer.position()
        await self._catch_up()
        while True:
            batch = await self._next()
            if batch is None:
                if self._missing or await self._log.wait_beyond(self._position, 0):
                    await self._catch_up()
                if isinstance(self._consumer, Retrying):
                    await self._consumer.again()
            elif batch:
                await self._handle(batch)

    async def _next(self) -> list[Recorded] | None:
        """The next events in order; an empty list when only repeats came; None when none came in time, or when the
        events that follow have to be read from the log."""
        if self._missing:
            return None
        try:
            # Not wait_for: before Python 3.12 it may swallow a cancellation that comes together with an event.
            async with asyncio.timeout(self._check_every_s):
                first = await self._arrived.get()
        except TimeoutError:
            return None
        batch: list[Recorded] = []
        expected = self._position + 1
        while True:
            if first.position > expected:
                self._missing = True
                return batch
            if first.position == expected:
                batch.append(first)
                expected += 1
            if self._arrived.empty() or len(batch) >= self._batch:
                return batch
            first = self._arrived.get_nowait()

    async def _catch_up(self) -> None:
        self._missing = False
        while events := await self._log.read_next(self._position, self._batch):
            await self._handle(events)

    async def _handle(self, batch: list[Recorded]) -> None:
        await self._consumer.handle(batch)
        self._position = batch[-1].position
