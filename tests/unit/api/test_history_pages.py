"""Pages of the event log as administrators read them."""

from __future__ import annotations

import asyncio

import pytest

from resolute.api.history import queries
from resolute.api.kernel.paging import Window
from resolute.eventlog import MemoryEventLog, Sought
from resolute.eventlog.chain import Row
from resolute.proto.errors import Unavailable
from resolute.proto.identity import PasswordChanged
from resolute.proto.message import Cause

STREAM = "user-directory"


async def log_of(count: int) -> MemoryEventLog:
    log = MemoryEventLog()
    for version in range(count):
        await append(log, version)
    return log


async def append(log: MemoryEventLog, version: int) -> None:
    event = PasswordChanged(version + 1, False)
    await log.append(STREAM, [event], expected_version=version, cause=Cause(f"c{version}", "a test"))


def positions(page: queries.EventPage) -> list[int]:
    return [row.position for row in page.rows]


async def test_a_page_says_whether_there_is_more_and_where_the_log_ends() -> None:
    log = await log_of(5)
    first = await queries.events(log, Sought(), 3, 0)
    assert (positions(first), first.more, first.head) == ([1, 2, 3], True, 5)
    last = await queries.events(log, Sought(after=3), 3, 0)
    assert (positions(last), last.more) == ([4, 5], False)


async def test_a_page_ends_before_its_data_grows_too_large_and_has_one_event_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = await log_of(3)
    [row, *_] = log.rows
    monkeypatch.setattr(queries, "BYTES_MOST", 2 * len(row.data))
    two = await queries.events(log, Sought(), 10, 0)
    assert (positions(two), two.more) == ([1, 2], True)
    monkeypatch.setattr(queries, "BYTES_MOST", 1)
    assert positions(await queries.events(log, Sought(after=2), 10, 0)) == [3]


async def test_a_reader_at_the_end_of_the_log_waits_for_what_comes_next() -> None:
    log = await log_of(1)
    reading = asyncio.create_task(queries.events(log, Sought(after=1), 10, 30))
    await asyncio.sleep(0)
    await append(log, 1)
    page = await reading
    assert (positions(page), page.head) == ([2], 2)


async def test_a_search_that_takes_too_long_says_what_would_make_it_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(MemoryEventLog):
        async def find(self, sought: Sought, limit: int) -> list[Row]:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(queries, "SEARCH_S", 0.01)
    with pytest.raises(Unavailable, match="name a stream, or a later position in after"):
        await queries.events(Slow(), Sought(), 10, 0)


async def test_what_was_set_aside_is_listed_in_pages() -> None:
    log = await log_of(3)
    for position in (1, 2, 3):
        await log.set_aside("a service", position, "could not")
    found = await queries.asides(log, Window(1, 1))
    assert ([one.position for one in found.rows], found.page.total) == ([2], 3)
