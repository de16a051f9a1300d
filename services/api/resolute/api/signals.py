"""News of allocations for those who wait on one: a long-poll is woken by the fact it waits for, and by nothing else."""

from __future__ import annotations

import asyncio

from resolute.proto.message import Recorded
from resolute.proto.pool import AllocationExited, AllocationStarted, PreemptionRequested

WORTH_WAKING = (PreemptionRequested, AllocationStarted, AllocationExited)


class Signals:
    """Wakes waiters; holds no state that would be missed after a restart: who wakes reads the read model."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self.position = 0
        """Of the newest fact that woke somebody: a read model that has reached it shows why."""

    def deliver(self, recorded: Recorded) -> None:
        """For the bus to call with every fact."""
        event = recorded.event
        if isinstance(event, WORTH_WAKING):
            self.position = max(self.position, recorded.position)
            self.wake(event.allocation_id)

    def wake(self, allocation_id: str) -> None:
        if (waiting := self._events.pop(allocation_id, None)) is not None:
            waiting.set()

    async def wait(self, allocation_id: str, timeout_s: float) -> bool:
        """Wait for news of the allocation; False when `timeout_s` passes without."""
        event = self._events.setdefault(allocation_id, asyncio.Event())
        try:
            await asyncio.wait_for(event.wait(), timeout_s)
        except TimeoutError:
            return False
        return True
