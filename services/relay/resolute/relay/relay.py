"""Following the log and repeating it on the bus: each event once, in order, through outages of either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from resolute.bus import Bus
from resolute.eventlog import EventLog
from resolute.proto.errors import ResoluteError, Unavailable
from resolute.proto.message import Recorded
from resolute.service import Patience

log_ = structlog.get_logger()

BATCH = 500
RECENT = 2_000
"""How much of the log an empty bus is given."""
LOOK_EVERY_S = 10.0


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
    def __init__(self, log: EventLog, bus: Bus, on_ready: Callable[[], None] = lambda: None) -> None:
        self._log, self._bus, self._on_ready = log, bus, on_ready
        self.carried: int | None = None
        """Up to where every event is on the bus."""

    async def run(self) -> None:
        patience = Patience()
        while True:
            try:
                await self._begin()
                self._on_ready()
                patience = Patience()
                while True:
                    await self._carry_on()
            except Unavailable as error:
                await patience.wait("relay", error)

    async def _begin(self) -> None:
        last, head = await self._bus.last_fact(), await self._log.head()
        if last > head:
            log_.warning("relay: the bus holds facts of another log", newest_fact=last, head=head)
        self.carried = beginning(last, head, self.carried)
        log_.info("relay: begins", after=self.carried, head=head)

    async def _carry_on(self) -> None:
        assert self.carried is not None
        if await self._log.wait_beyond(self.carried, LOOK_EVERY_S):
            await self._publish(await self._log.read_all(self.carried, BATCH))

    async def _publish(self, batch: list[Recorded]) -> None:
        """All at once, acknowledged one by one. Raises Unavailable at the first that was not."""
        outcomes = await asyncio.gather(*map(self._bus.publish_fact, batch), return_exceptions=True)
        for recorded, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, ResoluteError) and not isinstance(outcome, Unavailable):
                # Nothing that trying again would change: its followers find it in the log.
                log_.error("relay: a fact stays off the bus", event_id=recorded.id, why=outcome.message)
            elif outcome is not None:
                raise outcome
            self.carried = recorded.position
