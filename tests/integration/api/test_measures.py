"""Metrics and logs in a real Postgres: stored once however often they are sent, read in order, filtered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

import resolute.api.measures
from resolute.api.measures.logs import PAGE_BYTES, LogFilter, LogStore, follow, sequence_of
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MIGRATIONS = sorted((Path(resolute.api.measures.__file__).parent / "migrations").glob("*.sql"))


@pytest.fixture
def postgres_dsn(empty_database: str) -> str:
    """These tests make the tables of the measures themselves."""
    return empty_database


@pytest.fixture
async def pool(postgres_dsn: str) -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(postgres_dsn, min_size=1, max_size=4) as pool:
        for migration in MIGRATIONS:
            await pool.execute(migration.read_text())
        yield pool


def validation(trial: int, steps: int, loss: float, run: int = 1) -> MetricRow:
    return MetricRow(trial, run, "validation", steps, {"loss": loss}, None, AT + timedelta(seconds=steps))


def line(sequence: int, text: str, level: str = "INFO", rank: int = 0) -> LogLine:
    return LogLine("7.task", "7.task.1", rank, sequence, AT, level, "stdout", text, "agent-0", "c0")


async def test_a_report_sent_twice_is_stored_once(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await asyncio.gather(*(store.add([validation(1, 100, 0.5)]) for _ in range(20)))
    assert await pool.fetchval("SELECT count(*) FROM measures.metrics") == 1


async def test_a_summary_knows_the_best_and_the_latest_and_survives_nan(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([validation(1, 100, 0.2), validation(1, 200, float("nan")), validation(1, 300, 0.4)])
    await store.note(1, progress=0.5)
    await store.note(1, runner_state="validating")
    summary = (await store.summaries([1, 2], "loss", smaller_is_better=True))[1]
    assert (summary.total_batches, summary.progress, summary.runner_state) == (300, 0.5, "validating")
    assert summary.best is not None
    assert summary.best.steps == 100
    assert summary.latest is not None
    assert summary.latest.steps == 300
    columns = await store.columns(1)
    assert columns["validation_metrics"]["loss"]["count"] == 2


async def test_lines_sent_twice_are_stored_once_and_in_order(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    lines = [line(n, f"line {n}") for n in range(50)]
    await asyncio.gather(store.add(lines), store.add(lines))
    assert [s.line.text for s in await store.read(["7.task"], LogFilter())] == [f"line {n}" for n in range(50)]


async def test_a_line_that_waits_for_its_turn_gets_its_id_after_those_of_the_turn_before(pool: asyncpg.Pool) -> None:
    """Otherwise a reader that goes on from the last id it saw would miss the line."""
    store, waiters = LogStore(pool), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(7_201_100)")
        waiting = asyncio.create_task(store.add([line(1, "second")]))
        async with asyncio.timeout(60):
            while not await connection.fetchval(waiters):
                pass
        await connection.execute(
            "INSERT INTO measures.task_logs (task_id, allocation_id, container_id, rank, sequence, at, level, stdtype, "
            "source, agent_id, text) VALUES ('7.task', '', '', 0, 0, now(), 'INFO', '', '', '', 'first')"
        )
    await waiting
    assert [s.line.text for s in await store.read(["7.task"], LogFilter())] == ["first", "second"]


async def test_a_page_of_long_lines_ends_early_and_the_next_goes_on(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    await store.add([line(n, f"{n} " + "x" * (PAGE_BYTES // 4)) for n in range(10)])
    await store.add([line(10, "y" * (2 * PAGE_BYTES))])
    for newest_first in (False, True):
        found: list[int] = []
        beyond = 0
        while page := await store.read(["7.task"], LogFilter(), beyond=beyond, newest_first=newest_first):
            assert sum(len(stored.line.text) for stored in page[:-1]) <= PAGE_BYTES
            found += [stored.line.sequence for stored in page]
            beyond = page[-1].id
        assert found == sorted(range(11), reverse=newest_first)


async def test_whoever_waits_in_vain_leaves_nothing_behind(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    await asyncio.gather(*(store.grown(f"{n}.task", timeout_s=0.01) for n in range(3)))
    assert not store._grown


async def test_lines_are_found_by_level_rank_and_text(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    await store.add([line(1, "all is well"), line(2, "loss is nan", "ERROR", rank=1), line(3, "done\x00")])
    for wanted in (
        LogFilter(levels=("ERROR",)),
        LogFilter(ranks=(1,)),
        LogFilter(text="nan"),
        LogFilter(text="^loss.*nan$", regex=True),
    ):
        assert [s.line.sequence for s in await store.read(["7.task"], wanted)] == [2]
    with pytest.raises(InvalidConfig, match="searchText"):
        await store.read(["7.task"], LogFilter(text="(", regex=True))


async def test_a_line_with_a_nul_comes_back_as_it_was_printed_and_is_found(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    texts = ["a\0b", "a\ufffdb", "ab", "\U0010ffff", "\0"]
    await store.add([line(number, text) for number, text in enumerate(texts)])
    assert [s.line.text for s in await store.read(["7.task"], LogFilter())] == texts
    for text, found in (("a\0", ["a\0b"]), ("\0", ["a\0b", "\0"]), ("\U0010ffff", ["\U0010ffff"])):
        assert [s.line.text for s in await store.read(["7.task"], LogFilter(text=text))] == found
    for pattern in (r"a\x00b", "^a[^x]b$", "a\0b"):
        found = [s.line.text for s in await store.read(["7.task"], LogFilter(text=pattern, regex=True))]
        assert "a\0b" in found


async def test_a_follower_sees_every_line_and_ends_with_the_task(pool: asyncpg.Pool) -> None:
    store = LogStore(pool)
    written = asyncio.Event()

    async def over() -> bool:
        return written.is_set()

    async def news(timeout_s: float) -> None:
        await asyncio.wait_for(written.wait(), 20 * timeout_s)

    async def write() -> None:
        for n in range(30):
            await store.add([line(n, str(n))])
        written.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        seen = [s.line.text async for batch in follow(store, ["7.task"], LogFilter(), over, news) for s in batch]
    assert seen == [str(n) for n in range(30)]


def test_a_line_without_a_number_goes_by_its_request_and_its_place_there() -> None:
    assert sequence_of("req-1", 0) == sequence_of("req-1", 0)
    assert len({sequence_of("req-1", 0), sequence_of("req-1", 1), sequence_of("req-2", 0)}) == 3


async def test_a_summary_follows_the_latest_run_of_each_step(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([validation(1, 100, 0.5), validation(1, 200, 0.4)])
    for _ in range(2):
        assert (await store.columns(1))["validation_metrics"]["loss"]["last"] == 0.4
    await store.add([validation(1, 100, 0.25, run=2)])
    summary = (await store.columns(1))["validation_metrics"]["loss"]
    assert (summary["count"], summary["min"], summary["last"]) == (2, 0.25, 0.4)
