"""Follows the log and publishes each event on the bus, in order, at least once. Outages of either are waited out."""

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
"""How many of the newest events are published on an empty bus, for tools that want some history."""
LOOK_EVERY_S = 10.0
SPARE_S = 0.1
"""How long a spare waits for another relay to publish an event."""


def beginning(last: int, head: int, position: int | None) -> int:
    """The position after which to publish.

    `last`: the position of the newest fact on the bus, 0 for none. `head`: the position of the newest event of the log.
    `position`: up to where this relay has published the log, None when it has only just started.
    """
    if last == 0:
        return max(0, head - RECENT)
    if last > head:
        return head  # the bus has facts of another log
    return last if position is None else min(last, position)


class Relay:
    """Publishes the log. Any number of relays may run.

    A relay whose facts were all on the bus already becomes a *spare*: it subscribes to the facts, and publishes an
    event only when no other relay has published it within SPARE_S. After that it is in front again, and the other relay
    becomes the spare when it finds its facts on the bus.
    """

    def __init__(self, log: EventLog, bus: Bus, on_ready: Callable[[], None] = lambda: None) -> None:
        self._log, self._bus, self._on_ready = log, bus, on_ready
        self.position: int | None = None
        """All events up to here are on the bus."""
        self._subscription: Subscription | None = None
        """The facts that other relays publish; only a spare subscribes to them."""

    @property
    def spare(self) -> bool:
        return self._subscription is not None

    async def run(self) -> None:
        patience = Patience()
        try:
            while True:
                try:
                    await self._begin()
                    self._on_ready()
                    patience = Patience()
                    while True:
                        await self._publish_next()
                except Unavailable as error:
                    await patience.wait("relay", error)
        finally:
            await self._end_subscription()

    async def _begin(self) -> None:
        last, head = await self._bus.last_fact(), await self._log.head()
        if last > head:
            log_.warning("relay: the bus holds facts of another log", newest_fact=last, head=head)
        self.position = beginning(last, head, self.position)
        log_.info("relay: begins", after=self.position, head=head)

    async def _publish_next(self) -> None:
        assert self.position is not None
        if not await self._log.wait_beyond(self.position, LOOK_EVERY_S):
            return
        if self.spare and await self._another_publishes_up_to(await self._log.head()):
            return
        batch = await self._log.read_next(self.position, BATCH)
        if await self._publish(batch):
            await self._end_subscription()
        elif not self.spare:
            self._subscription = await self._bus.facts(self._on_fact)
            log_.info("relay: another is in front, this one is a spare", position=self.position)

    async def _another_publishes_up_to(self, head: int) -> bool:
        """Whether another relay has published everything up to `head` after a wait of SPARE_S."""
        await asyncio.sleep(SPARE_S)
        assert self.position is not None
        return self.position >= head

    def _on_fact(self, recorded: Recorded) -> None:
        if self.position is not None and recorded.position == self.position + 1:
            self.position += 1

    async def _end_subscription(self) -> None:
        if self._subscription is not None:
            log_.info("relay: in front", position=self.position)
            await self._subscription.close()
            self._subscription = None

    async def _publish(self, batch: list[Recorded]) -> bool:
        """Publishes all events without waiting between them. Returns whether any was new to the bus. Raises Unavailable
        for the first that was not acknowledged; `position` is then before it."""
        outcomes = await asyncio.gather(*map(self._bus.publish_fact, batch), return_exceptions=True)
        for recorded, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, Unavailable):
                # Publishing again would fail in the same way. Followers notice the gap and read the log.
                log_.error("relay: a fact stays off the bus", event_id=recorded.id, why=repr(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            self.position = max(self.position or 0, recorded.position)
        return any(outcome is not False for outcome in outcomes)
