"""What the reports of trials come to, kept as they come in: the same as if all reports were read again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

import asyncpg
import pytest

from resolute.api.measures import summaries
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.api.measures.summaries import count_new, remake_one

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
async def pool(postgres_dsn: str) -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(postgres_dsn, min_size=1, max_size=8) as pool:
        yield pool


def report(
    steps: int, metrics: Mapping[str, Any], *, run: int = 1, trial: int = 1, group: str = "validation"
) -> MetricRow:
    return MetricRow(trial, run, group, steps, dict(metrics), None, AT)


async def kept(
    pool: asyncpg.Pool, name: str = "loss", trial: int = 1, group: str = "validation"
) -> dict[str, Any] | None:
    row = await pool.fetchrow(
        "SELECT count, sum, min, max, mean, last, last_text FROM measures.summaries"
        " WHERE trial_id = $1 AND kind = $2 AND name = $3",
        trial,
        group,
        name,
    )
    return None if row is None else dict(row)


async def counted(pool: asyncpg.Pool) -> int:
    count = 0
    while await count_new(pool):
        count += 1
    return count


async def remade(pool: asyncpg.Pool) -> int:
    count = 0
    while await remake_one(pool):
        count += 1
    return count


async def test_reports_are_added_up_in_whatever_order_they_come_and_however_often(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    reports = [report(steps, {"loss": value}) for steps, value in ((300, 0.25), (100, 1.0), (200, 4.0))]
    for one in reports:
        await store.add([one])
    await store.add(reports)
    assert await kept(pool) == {
        "count": 3, "sum": 5.25, "min": 0.25, "max": 4.0, "mean": 1.75, "last": 0.25, "last_text": None,
    }  # fmt: skip
    assert await remade(pool) == 0


async def test_reports_of_training_are_counted_a_moment_later_and_once(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    reports = [
        report(steps, {"loss": float(steps)}, trial=trial, group="training") for steps in (1, 2) for trial in (1, 2)
    ]
    await store.add(reports)
    await store.add([*reports, report(3, {"loss": 3.0}, group="training")])
    assert await kept(pool, group="training") is None
    await asyncio.gather(*(counted(pool) for _ in range(3)))
    assert await kept(pool, group="training") == {
        "count": 3, "sum": 6.0, "min": 1.0, "max": 3.0, "mean": 2.0, "last": 3.0, "last_text": None,
    }  # fmt: skip
    other = await kept(pool, trial=2, group="training")
    assert other is not None
    assert other["count"] == 2
    assert await counted(pool) == 0


async def test_a_backlog_is_counted_a_part_at_a_time(pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "COUNTED", 2)
    store = MetricStore(pool)
    for steps in range(5):
        await store.add([report(steps, {"loss": 1.0}, group="training")])
    assert await counted(pool) == 3
    summary = await kept(pool, group="training")
    assert summary is not None
    assert summary["count"] == 5


async def test_reports_that_no_summary_counts_yet_are_not_counted_twice_by_a_summary_made_again(
    pool: asyncpg.Pool,
) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"loss": 1.0}, group="training")])
    await store.add([report(100, {"loss": 2.0}, run=2, group="training"), report(200, {"loss": 4.0}, group="training")])
    assert await remade(pool) == 1
    assert await counted(pool) == 0
    summary = await kept(pool, group="training")
    assert summary is not None
    assert (summary["count"], summary["sum"], summary["last"]) == (2, 6.0, 4.0)


async def test_reports_that_are_counted_while_a_summary_is_made_again_put_it_off(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"loss": 1.0}, group="training"), report(100, {"loss": 2.0}, run=2, group="training")])
    async with pool.acquire() as beside, beside.transaction():
        await beside.execute("LOCK TABLE measures.metrics IN ACCESS EXCLUSIVE MODE")
        making = asyncio.create_task(remake_one(pool))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND starts_with($1, query)"
        async with asyncio.timeout(30):
            while not await pool.fetchval(waiting, summaries.COMPUTE):  # noqa: ASYNC110 (it is known to Postgres alone)
                await asyncio.sleep(0.01)
        # The snapshot of what makes the summary is taken: what this counts, it does not see as counted.
        ids = [row["id"] for row in await beside.fetch("SELECT id FROM measures.uncounted_reports")]
        await beside.execute("SELECT measures.count_reports($1::bigint[])", ids)
    assert await making
    assert await pool.fetchval("SELECT not_before > now() FROM measures.outdated_summaries")
    await pool.execute("UPDATE measures.outdated_summaries SET not_before = '-infinity'")
    assert await remade(pool) == 1
    summary = await kept(pool, group="training")
    assert summary is not None
    assert (summary["count"], summary["sum"]) == (1, 2.0)


async def test_what_is_no_number_is_kept_as_text_and_nan_is_not_counted(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"note": "fine", "loss": float("nan"), "deep": {"a": 1}, "none": None})])
    await store.add([report(200, {"note": 7, "n" * 2000: 1.0})])
    note = await kept(pool, "note")
    assert note is not None
    assert (note["count"], note["last"], note["last_text"]) == (1, 7.0, "fine")
    assert [await kept(pool, name) for name in ("loss", "deep", "none", "n" * 2000)] == [None] * 4


async def test_numbers_near_the_largest_one_can_be_added_up(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    for steps in (100, 200, 300):
        await store.add([report(steps, {"loss": 1.7e308})])
    summary = await kept(pool)
    assert summary is not None
    assert (summary["count"], summary["max"]) == (3, 1.7e308)


async def test_of_a_step_that_a_later_run_repeats_only_its_report_counts(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"loss": 9.0}), report(200, {"loss": 1.0, "gone": 5})])
    await store.add([report(200, {"loss": 2.0}, run=2), report(300, {"loss": 4.0}, run=2)])
    assert await remade(pool) == 1
    summary = await kept(pool)
    assert summary is not None
    assert (summary["count"], summary["min"], summary["sum"], summary["last"]) == (3, 2.0, 15.0, 4.0)
    assert await kept(pool, "gone") is None


async def test_reports_that_come_while_a_summary_is_made_again_are_counted_once(pool: asyncpg.Pool) -> None:
    store, chance = MetricStore(pool), Random(3)

    async def reports(trial: int, group: str) -> None:
        for steps in range(100):
            await store.add([report(steps, {"loss": float(steps)}, trial=trial, group=group)])
            if chance.random() < 0.2:
                await store.add([report(steps, {"loss": -1.0}, run=2, trial=trial, group=group)])

    async def remakes() -> None:
        while not done.is_set():
            await remake_one(pool)
            await count_new(pool)
            await asyncio.sleep(0)

    done = asyncio.Event()
    making = [asyncio.create_task(remakes()) for _ in range(2)]
    wanted = [(trial, group) for trial in (1, 2, 3) for group in ("training", "validation")]
    await asyncio.gather(*(reports(trial, group) for trial, group in wanted))
    done.set()
    await asyncio.gather(*making)
    await counted(pool)
    while await pool.fetchval("SELECT count(*) FROM measures.outdated_summaries"):
        await pool.execute("UPDATE measures.outdated_summaries SET not_before = '-infinity'")
        await remade(pool)
    for trial, group in wanted:
        shown = {"training": "avg_metrics", "validation": "validation_metrics"}[group]
        summary, columns = await kept(pool, trial=trial, group=group), (await store.columns(trial))[shown]["loss"]
        assert summary is not None
        assert {name: summary[name] for name in ("count", "sum", "min", "max", "last")} == {
            name: columns[name] for name in ("count", "sum", "min", "max", "last")
        }


async def test_a_sum_too_small_for_a_mean_refuses_no_report_and_stops_no_gateway(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([report(steps, {"loss": value}) for steps, value in ((1, 1.0), (2, 0.0), (3, 5e-324))])
    await store.add([report(1, {"loss": 0.0}, run=2)])
    assert await remade(pool) == 1
    summary = await kept(pool)
    assert summary is not None
    assert (summary["count"], summary["max"], summary["mean"]) == (3, 5e-324, 0.0)


async def test_a_group_that_cannot_be_summarised_keeps_no_other_waiting(
    pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MetricStore(pool)
    for trial in (1, 2):
        await store.add([report(100, {"loss": 1.0}, trial=trial), report(100, {"loss": 2.0}, run=2, trial=trial)])
    remake = summaries._remake

    async def failing(pool: asyncpg.Pool, group: summaries.Group) -> None:
        if group.trial_id == 1:
            raise ValueError("no summary of this one")
        await remake(pool, group)

    monkeypatch.setattr(summaries, "_remake", failing)
    assert await remade(pool) == 2
    waiting = await pool.fetch("SELECT trial_id FROM measures.outdated_summaries WHERE not_before > now()")
    assert [row["trial_id"] for row in waiting] == [1]
    other = await kept(pool, trial=2)
    assert other is not None
    assert (other["count"], other["last"]) == (1, 2.0)


async def test_a_report_that_comes_while_a_summary_is_computed_is_not_lost(
    pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"loss": 1.0}), report(100, {"loss": 2.0}, run=2)])
    write = summaries._write
    begun: list[asyncio.Task[None]] = []

    async def beside_a_report(*args: Any) -> None:
        begun.append(asyncio.create_task(store.add([report(200, {"loss": 7.0, "new": 1.0}, run=2)])))
        await write(*args)

    monkeypatch.setattr(summaries, "_write", beside_a_report)
    assert await remake_one(pool)
    await begun[0]
    await pool.execute("UPDATE measures.outdated_summaries SET not_before = '-infinity'")
    await remade(pool)
    summary, new = await kept(pool), await kept(pool, "new")
    assert summary is not None
    assert new is not None
    assert (summary["count"], summary["sum"], summary["last"], new["count"]) == (2, 9.0, 7.0, 1)


async def test_reports_that_were_there_before_are_summarised_page_by_page(
    pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MetricStore(pool)
    for trial in range(1, 8):
        await store.add([report(100, {"loss": float(trial)}, trial=trial)])
    await pool.execute("DELETE FROM measures.summaries")
    monkeypatch.setattr(summaries, "PAGE", 3)
    pages = 0
    while await summaries.note_earlier(pool):
        pages += 1
    assert pages == 3
    assert await remade(pool) == 7
    found = [await kept(pool, trial=trial) for trial in range(1, 8)]
    assert [one and one["last"] for one in found] == [float(trial) for trial in range(1, 8)]
    assert not await summaries.note_earlier(pool)


async def test_summaries_go_with_the_reports_of_a_deleted_trial(pool: asyncpg.Pool) -> None:
    store = MetricStore(pool)
    await store.add([report(100, {"loss": 1.0})])
    await store.add([report(200, {"loss": 1.0}, group="training")])
    await store.delete_some(1, 100)
    assert await kept(pool) is None
    assert await counted(pool) == 0
