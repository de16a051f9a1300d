"""Follows the log and publishes each event on the bus once, in order, through outages of either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from resolute.bus import Bus, Subscription
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Recorded
from resolute.service import Patience

log_ = structlog.get_logger()

BATCH = 500
RECENT = 2_000
"""How much of the log an empty bus is given."""
LOOK_EVERY_S = 10.0
SPARE_S = 0.1
"""How long a spare leaves an event to the relay in front."""


def beginning(last: int, head: int, carried: int | None) -> int:
    """The position after which to publish.

    `last`: of the newest fact the bus holds, 0 for none; `head`: of the log; `carried`: up to where this relay
    has brought the log, None when it has only just started.
    """
    if last == 0:
        return max(0, head - RECENT)
    if last > head:
        return head  # the bus remembers another log
    return last if carried is None else min(last, carried)


class Relay:
    """One of any number. Who finds that another publishes everything before it steps back and becomes a spare: it
    listens, and publishes only what has not come for a while; then it is in front."""

    def __init__(self, log: EventLog, bus: Bus, on_ready: Callable[[], None] = lambda: None) -> None:
        self._log, self._bus, self._on_ready = log, bus, on_ready
        self.carried: int | None = None
        """Up to where every event is on the bus."""
        self._listening: Subscription | None = None
        """Of a spare."""

    @property
    def spare(self) -> bool:
        return self._listening is not None

    async def run(self) -> None:
        patience = Patience()
        try:
            while True:
                try:
                    await self._begin()
                    self._on_ready()
                    patience = Patience()
                    while True:
                        await self._carry_on()
                except Unavailable as error:
                    await patience.wait("relay", error)
        finally:
            await self._step_forward()

    async def _begin(self) -> None:
        last, head = await self._bus.last_fact(), await self._log.head()
        if last > head:
            log_.warning("relay: the bus holds facts of another log", newest_fact=last, head=head)
        self.carried = beginning(last, head, self.carried)
        log_.info("relay: begins", after=self.carried, head=head)

    async def _carry_on(self) -> None:
        assert self.carried is not None
        if not await self._log.wait_beyond(self.carried, LOOK_EVERY_S):
            return
        if self.spare and await self._another_carries_to(await self._log.head()):
            return
        batch = await self._log.read_next(self.carried, BATCH)
        if await self._publish(batch):
            await self._step_forward()
        elif not self.spare:
            self._listening = await self._bus.facts(self._hear)
            log_.info("relay: another is in front, this one is a spare", position=self.carried)

    async def _another_carries_to(self, head: int) -> bool:
        """Whether another relay has published everything up to `head` after a wait of SPARE_S."""
        await asyncio.sleep(SPARE_S)
        assert self.carried is not None
        return self.carried >= head

    def _hear(self, recorded: Recorded) -> None:
        if self.carried is not None and recorded.position == self.carried + 1:
            self.carried += 1

    async def _step_forward(self) -> None:
        if self._listening is not None:
            log_.info("relay: in front", position=self.carried)
            await self._listening.close()
            self._listening = None

    async def _publish(self, batch: list[Recorded]) -> bool:
        """All at once, acknowledged one by one; whether any was new to the bus. Raises Unavailable at the first that
        was not acknowledged."""
        outcomes = await asyncio.gather(*map(self._bus.publish_fact, batch), return_exceptions=True)
        for recorded, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, Unavailable):
                # Nothing that trying again, or starting again, would change: its followers find it in the log.
                log_.error("relay: a fact stays off the bus", event_id=recorded.id, why=repr(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            self.carried = max(self.carried or 0, recorded.position)
        return any(outcome is not False for outcome in outcomes)
