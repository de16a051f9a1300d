"""Events of requests, and the events that gave the things concerned their values. The port is the log itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from resolute.eventlog import EventLog, Sought
from resolute.eventlog.undoing import LISTED, TYPES, streams_of
from resolute.eventlog.why import Fact
from resolute.proto.errors import Unavailable

LOOKED_THROUGH = 50_000
"""How many of the newest events the list of requests is made of."""
EVENTS_MOST = 10_000
"""How many events of one request, and of one stream, are read."""
SEARCH_S = 20.0


async def newest_changes(log: EventLog) -> Sequence[Fact]:
    """Of the newest events of the log those that the list of requests is made of. Raises Unavailable."""
    after = max(0, await log.head() - LOOKED_THROUGH)
    return await _within_limits(_found(log, Sought(after=after, types=tuple(LISTED))))


async def events_of(log: EventLog, request_id: str) -> Sequence[Fact]:
    """What followed from a request, in the order of the log. Raises Unavailable."""
    return await _within_limits(_found(log, Sought(correlation_id=request_id)))


async def history_of(log: EventLog, request: Iterable[Fact]) -> Sequence[Fact]:
    """The events that give values to properties, of every stream that a request wrote to. Raises Unavailable."""

    async def all_streams() -> list[Fact]:
        return [
            fact
            for stream in streams_of(request)
            for fact in await _found(log, Sought(stream=stream, types=tuple(TYPES)))
        ]

    return await _within_limits(all_streams())


async def _found(log: EventLog, sought: Sought) -> list[Fact]:
    rows = await log.find(sought, EVENTS_MOST)
    return await asyncio.to_thread(lambda: [Fact.of(row) for row in rows])


async def _within_limits(search: Coroutine[Any, Any, list[Fact]]) -> list[Fact]:
    try:
        async with asyncio.timeout(SEARCH_S):
            return await search
    except TimeoutError:
        raise Unavailable(f"the search in the log took longer than {SEARCH_S:g} s") from None
