"""Looking for something that the tables of this gateway may not show yet, although the log has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

Found = TypeVar("Found")


class CatchesUp(Protocol):
    async def catch_up(self) -> None:
        """Bring the tables to the newest event of the log."""


async def looked_for(read: CatchesUp, look: Callable[[], Awaitable[Found | None]]) -> Found | None:
    """What `look` finds. When it finds None it looks once more, in tables that show everything."""
    found = await look()
    if found is None:
        await read.catch_up()
        found = await look()
    return found
