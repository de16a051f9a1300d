"""What can be asked about the event log: its events, a page at a time, and what services set aside.

The port is the log itself, `resolute.eventlog.EventLog`, which has an implementation in memory and a contract suite.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from resolute.api.kernel.paging import Listed, Window, cut
from resolute.eventlog import Aside, EventLog, Sought
from resolute.eventlog.chain import Row
from resolute.proto.errors import Unavailable

PAGE = 200
BYTES_MOST = 4 * 1024 * 1024
"""A page ends before its events' data would be larger; it has one event at least."""
SEARCH_S = 20.0
"""How long a look into the log may take: one by fields walks all of it."""


@dataclass(frozen=True, slots=True)
class EventPage:
    rows: Sequence[Row]
    more: bool
    """Whether the log has more of them already."""
    head: int
    """The position of the newest event when the log was searched."""


async def events(log: EventLog, sought: Sought, limit: int, timeout_s: float) -> EventPage:
    """In the order of the log. Where there is none yet, it waits up to `timeout_s` for one. Raises Unavailable."""
    head = await log.head()
    rows = await _found(log, sought, limit)
    if not rows and timeout_s and await log.wait_beyond(head, timeout_s):
        head = await log.head()
        rows = await _found(log, sought, limit)
    page = _within_bounds(rows)
    return EventPage(page, len(page) < len(rows) or len(rows) == limit, head)


async def _found(log: EventLog, sought: Sought, limit: int) -> list[Row]:
    try:
        async with asyncio.timeout(SEARCH_S):
            return await log.find(sought, limit)
    except TimeoutError:
        raise Unavailable(
            f"the search in the log took longer than {SEARCH_S:g} s: name a stream, or a later position in after"
        ) from None


def _within_bounds(rows: Sequence[Row]) -> Sequence[Row]:
    sizes = accumulate(len(row.data) for row in rows)
    return [row for place, (row, size) in enumerate(zip(rows, sizes, strict=True)) if place == 0 or size <= BYTES_MOST]


async def asides(log: EventLog, window: Window) -> Listed[Aside]:
    """The oldest first."""
    return cut(await log.asides(), window)
