"""News of allocations for those who wait on one: a long-poll is woken by the fact it waits for, and by nothing else."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from resolute.proto.message import Recorded
from resolute.proto.pool import AllocationExited, AllocationStarted, PreemptionRequested

WORTH_WAKING = (PreemptionRequested, AllocationStarted, AllocationExited)

REMEMBERED = 10_000


class Signals:
    """Wakes waiters; holds no state that would be missed after a restart: who wakes reads the read model."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self._heard: OrderedDict[str, int] = OrderedDict()

    def deliver(self, recorded: Recorded) -> None:
        """For the bus to call with every fact."""
        event = recorded.event
        if isinstance(event, WORTH_WAKING):
            self._heard[event.allocation_id] = max(self.heard(event.allocation_id), recorded.position)
            self._heard.move_to_end(event.allocation_id)
            if len(self._heard) > REMEMBERED:
                self._heard.popitem(last=False)
            self.wake(event.allocation_id)

    def heard(self, allocation_id: str) -> int:
        """The position of the newest fact about the allocation: a read model that has reached it shows it. Who looks
        and then waits compares this before and after: news that came while he looked wakes nobody any more."""
        return self._heard.get(allocation_id, 0)

    def wake(self, allocation_id: str) -> None:
        if (waiting := self._events.pop(allocation_id, None)) is not None:
            waiting.set()

    async def wait(self, allocation_id: str, timeout_s: float) -> bool:
        """Wait for news of the allocation; False when `timeout_s` passes without."""
        event = self._events.setdefault(allocation_id, asyncio.Event())
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return False
        return True
