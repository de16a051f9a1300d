"""Following the log: every event, once and in order as far as effects go, through any outage of the bus.

Facts come over the bus for speed and are counted by position, which has no gaps: whatever is missing is read from
the log. So the bus may lose, repeat and reorder as it likes, or be wiped, and nothing is missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import structlog

from resolute.bus import Bus
from resolute.eventlog import EventLog
from resolute.proto.errors import Failed, ResoluteError, Unavailable
from resolute.proto.message import Recorded

log_ = structlog.get_logger()

React = Callable[[Recorded], Awaitable[None]]

Apart = Callable[[Recorded], Hashable | None]
"""What an event's reaction is about: those of different things may run at once, those of one thing follow one another.
None: about everything; all before it come first, and it before all that follow."""


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


SAVE_EVERY_S = 1.0
"""A place in the log is saved no more often: what is handled again after a crash has the same causes, and no effect."""


class Reactions:
    """A consumer that asks things of others: event by event, at least once, each ask with the event's id as cause.

    Of the events that come together, those that are `apart` are handled at once; the place in the log is only saved
    once all of them are (docs/decisions/0022).

    A reaction that fails for want of a service is tried again for as long as it takes. One that fails for another
    reason twice, here or in the service it asked, is set aside for a person to read, so that one bad event does not
    stop the rest.
    """

    def __init__(self, name: str, log: EventLog, react: React, apart: Apart = lambda recorded: None) -> None:
        self._name, self._log, self._react, self._apart = name, log, react, apart
        self._saved_at_s = -SAVE_EVERY_S
        self._unsaved: int | None = None

    async def position(self) -> int:
        return await self._log.load_position(self._name)

    async def handle(self, batch: Sequence[Recorded]) -> None:
        for different_things in _side_by_side(batch, self._apart):
            await self._at_once(different_things)
        self._unsaved = batch[-1].position
        if asyncio.get_running_loop().time() - self._saved_at_s >= SAVE_EVERY_S:
            await self._save()

    async def _save(self) -> None:
        if self._unsaved is not None:
            await self._log.save_position(self._name, self._unsaved)
            self._unsaved, self._saved_at_s = None, asyncio.get_running_loop().time()

    async def again(self) -> None:
        await self._save()  # what a quiet service repeats after a crash need not be days old
        for position in await self._log.asked_again(self._name):
            found = await self._log.read_all(position - 1, 1)
            if found and not await self._once(found[0]):
                continue  # it was set aside anew
            await self._log.settle(self._name, position)

    async def _at_once(self, different_things: Sequence[Sequence[Recorded]]) -> None:
        """Raises only once all are done with, so that none goes on beside what is tried next."""
        if len(different_things) == 1:
            return await self._in_order(different_things[0])
        for outcome in await asyncio.gather(*map(self._in_order, different_things), return_exceptions=True):
            if outcome is not None:
                raise outcome

    async def _in_order(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            await self._once(recorded)

    async def _once(self, recorded: Recorded) -> bool:
        """Whether it was handled, if only by an answer that was not the hoped-for one; else it is set aside."""
        failures = 0
        patience = Patience()
        while True:
            try:
                await self._react(recorded)
                return True
            except Unavailable as error:
                await patience.wait(self._name, error)
            except Exception as error:
                if isinstance(error, ResoluteError) and not isinstance(error, Failed):
                    # An answer, though not the hoped-for one: the world moved on before this reaction came.
                    log_.info("reaction refused", consumer=self._name, event_id=recorded.id, why=error.message)
                    return True
                failures += 1
                log_.exception("reaction failed", consumer=self._name, event_id=recorded.id)
                if failures == 2:
                    await self._log.set_aside(self._name, recorded.position, repr(error))
                    return False


def _side_by_side(batch: Sequence[Recorded], apart: Apart) -> Iterator[list[list[Recorded]]]:
    """Stretches of the batch, one after another; in each, the events by what they are about."""
    stretch: dict[Hashable, list[Recorded]] = {}
    for recorded in batch:
        about = apart(recorded)
        if about is not None:
            stretch.setdefault(about, []).append(recorded)
            continue
        if stretch:
            yield list(stretch.values())
        yield [[recorded]]
        stretch = {}
    if stretch:
        yield list(stretch.values())


class Patience:
    """Growing pauses while something is away: 50 ms, doubling, up to 2 s."""

    def __init__(self) -> None:
        self._pause_s = 0.05

    async def wait(self, who: str, error: Exception) -> None:
        log_.warning("waiting", who=who, why=str(error), pause_s=self._pause_s)
        await asyncio.sleep(self._pause_s)
        self._pause_s = min(self._pause_s * 2, 2.0)


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
        while events := await self._log.read_all(self._position, self._batch):
            await self._handle(events)

    async def _handle(self, batch: list[Recorded]) -> None:
        await self._consumer.handle(batch)
        self._position = batch[-1].position
