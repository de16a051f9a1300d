"""One query to the database for all callers that need its answer at the same moment.

Every follower of the log reads once a second whether it missed an event. The followers of one process do so at about
the same time, and would each take a connection, which is a process of Postgres.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedQuery(Generic[T]):
    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._asking: asyncio.Future[T] | None = None

    async def answer(self) -> T:
        """The answer to the query that is already under way, or else to one that is sent now. The answer may be as old
        as one round trip. A caller that is cancelled does not cancel the query of the others."""
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask())
            self._asking.add_done_callback(self._answered)
        return await asyncio.shield(self._asking)

    def close(self) -> None:
        """Callers that still wait are cancelled."""
        if self._asking is not None:
            self._asking.cancel()

    def _answered(self, asked: asyncio.Future[T]) -> None:
        self._asking = None
        if not asked.cancelled():
            # Marks the exception as retrieved: when all callers were cancelled, asyncio would report it as lost.
            asked.exception()
