"""Following the log: every event, once and in order as far as effects go, through any outage of the bus.

Facts come over the bus for speed and are counted by position, which has no gaps: whatever is missing is read from
the log. So the bus may lose, repeat and reorder as it likes, or be wiped, and nothing is missed.
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
    """What follows: a read model, or a set of reactions."""

    async def position(self) -> int:
        """Up to where the log has been handled."""
        ...

    async def handle(self, batch: Sequence[Recorded]) -> None:
        """Handle the next events, in order. A batch may come again after a crash: its effects must not."""
        ...


@runtime_checkable
class Retrying(Protocol):
    """A consumer that may be asked to handle once more what it had set aside."""

    async def again(self) -> None:
        """Handle what a person asked for once more. Called when nothing else has come for a while."""
        ...


class Patience:
    """Growing pauses while something is away: 50 ms unless `first_s` says otherwise, doubling, up to `most_s`."""

    def __init__(self, first_s: float = 0.05, most_s: float = 2.0) -> None:
        self._pause_s, self._most_s = first_s, most_s

    async def wait(self, who: str, error: Exception) -> None:
        log_.warning("waiting", who=who, why=str(error), pause_s=self._pause_s)
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, self._most_s)


class Follower:
    """Feeds one consumer from the bus and the log, until cancelled."""

    def __init__(
        self, consumer: Consumer, log: EventLog, bus: Bus, *, batch: int = 500, check_every_s: float = 1.0
    ) -> None:
        """`check_every_s`: how often a quiet follower asks the log whether the bus kept something from it."""
        self._consumer, self._log, self._bus = consumer, log, bus
        self._batch, self._check_every_s = batch, check_every_s
        self._arrived: asyncio.Queue[Recorded] = asyncio.Queue(maxsize=10_000)
        self._position = 0
        self._missing = False
        """An event further on has arrived: what lies between is in the log."""

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
        if not self._arrived.full():  # what does not fit is found again as a gap
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
        """The next events in order; empty when all were old; None when some are missing or all is quiet."""
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
