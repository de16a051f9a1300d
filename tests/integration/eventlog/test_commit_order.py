"""Position order is commit order, proved on many writers in several processes (docs/decisions/0002)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncpg

from resolute.eventlog.postgres import PostgresEventLog

WRITERS = Path(__file__).with_name("writers.py")
PROCESSES, APPENDS = 4, 60
EVENTS = PROCESSES * 4 * APPENDS * 2  # four writers each, two events an append on average


async def test_a_reader_that_has_seen_a_position_is_never_shown_a_smaller_one(postgres_dsn: str) -> None:
    log = await PostgresEventLog.open(postgres_dsn)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, WRITERS, postgres_dsn, str(i), str(APPENDS))
        for i in range(PROCESSES)
    ]
    async with asyncio.timeout(60):
        looks = await asyncio.gather(*(_watch(postgres_dsn, EVENTS) for _ in range(2)))
        assert [await process.wait() for process in processes] == [0] * PROCESSES
    assert min(looks) > 20, "the reader should have seen the log grow"
    assert await log.head() == EVENTS
    assert await log.verify() is None
    await log.close()


async def _watch(dsn: str, until: int) -> int:
    """Look at the table itself, again and again: each look must show exactly 1 … n, n never shrinking."""
    connection = await asyncpg.connect(dsn)
    seen = looks = 0
    while seen < until:
        rows = await connection.fetch("SELECT position FROM eventlog.events WHERE position > $1 - 50", seen)
        shown = sorted(row[0] for row in rows)
        newest = shown[-1] if shown else 0
        assert newest >= seen, f"position {seen} was there before and is gone"
        assert shown == list(range(max(seen - 49, 1), newest + 1)), f"a position appeared late, or is missing: {shown}"
        looks += newest > seen
        seen = newest
    await connection.close()
    return looks
