"""The gateway, as far as tasks need one: it passes their calls on, and knows who has been asked to give way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Command, Recorded, Reply
from resolute.proto.pool import PreemptionRequested
from resolute.service import Context, Follower

TRY_AGAIN_S = 0.5


class Gateway:
    """One incarnation. What it knows of preemptions it reads from the log, from the beginning."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._position = 0
        self.preempting: set[str] = set()

    async def run(self) -> None:
        self._context.on_ready("gateway")
        await Follower(self, self._context.log, self._context.bus).run()

    async def position(self) -> int:
        return self._position

    async def handle(self, batch: Sequence[Recorded]) -> None:
        for recorded in batch:
            if isinstance(recorded.event, PreemptionRequested):
                self.preempting.add(recorded.event.allocation_id)
        self._position = batch[-1].position

    async def call(self, command: Command, cause: Cause) -> Reply:
        return await self._context.bus.request(command, cause, 3.0)


class Doorway:
    """Where tasks find the gateway of the day; one who calls while there is none calls again."""

    def __init__(self) -> None:
        self.gateway: Gateway | None = None
        self._calls = 0

    def preempting(self, allocation_id: str) -> bool:
        return self.gateway is not None and allocation_id in self.gateway.preempting

    async def call(self, command: Command) -> Reply:
        """Patiently. Every attempt is a call of its own, as a task's repeated HTTP request is."""
        while True:
            self._calls += 1
            try:
                if self.gateway is not None:
                    return await self.gateway.call(command, Cause(f"call/{self._calls}", actor="task"))
            except Unavailable:
                pass  # the outcome is unknown: asking again is safe
            await asyncio.sleep(TRY_AGAIN_S)
