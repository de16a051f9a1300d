"""One question to the database for all that ask it at the same moment.

Every follower of the log looks once a second whether it missed something. Those of one process do so at about the same
time, and would each take a connection, which is a process of Postgres.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedLook(Generic[T]):
    def __init__(self, ask: Callable[[], Awaitable[T]]) -> None:
        self._ask = ask
        self._asking: asyncio.Future[T] | None = None

    async def answer(self) -> T:
        """What the database answers to a question that is on its way already, or else to one that is sent now: it may
        be as old as one round trip. A caller that leaves does not disturb the others."""
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
            asked.exception()  # every caller may have left: then no other looks at it
