"""Long curves are kept in stretches: their charts show what charts of all reports would, without reading them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import asyncpg
import pytest

from resolute.api.measures.curves import LONG, STRETCH, extend_one, note_long
from resolute.api.measures.metrics import MetricStore
from resolute.api.measures.summaries import count_new, remake_one
from resolute.api.metrics.queries import Point, PostgresMetrics, Series
from tests.contract.queries.filled import in_postgres

REPORTS = """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
SELECT 1, $1, 'training', steps, jsonb_build_object('loss', 10.0 - steps / 10000.0, 'words', 'said'), now()
FROM generate_series($2::int, $3::int) steps"""

SPIKE = """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
VALUES (1, $1, 'training', $2, jsonb_build_object('loss', $3::float8), now())"""

COUNT = LONG + 50


@pytest.fixture
async def pool(postgres_dsn: str) -> AsyncIterator[asyncpg.Pool]:
    async with asyncpg.create_pool(postgres_dsn, min_size=1, max_size=2) as pool:
        yield pool


@pytest.fixture
async def queries(pool: asyncpg.Pool) -> PostgresMetrics:
    """With a curve of so many reports, of which those of the last steps are in no stretch."""
    found = PostgresMetrics(await in_postgres(pool, {}))
    await filled(pool)
    await kept(pool)
    return found


async def filled(pool: asyncpg.Pool) -> None:
    """Many reports at once, whose summary is made from all of them instead of statement by statement."""
    await pool.execute("ALTER TABLE measures.metrics DISABLE TRIGGER summarise")
    await pool.execute(REPORTS, 1, 1, COUNT)
    await pool.execute("ALTER TABLE measures.metrics ENABLE TRIGGER summarise")
    await pool.execute("ANALYZE measures.metrics")
    await pool.execute("INSERT INTO measures.outdated_summaries (trial_id, kind) VALUES (1, 'training')")
    assert await remake_one(pool)
    async with pool.acquire() as connection:
        await note_long(connection, [(1, "training"), (1, "own")])


async def kept(pool: asyncpg.Pool) -> None:
    while await count_new(pool):
        pass
    while await extend_one(pool, rested=timedelta()):
        pass


async def stretches(pool: asyncpg.Pool) -> int:
    found: int = await pool.fetchval("SELECT count(*) FROM measures.stretches")
    return found


async def chart(queries: PostgresMetrics, most: int = 50, **wanted: int) -> Sequence[Point]:
    found = await queries.series(1, "training", Series(names=("loss",), most=most, **wanted))
    steps = [point.steps for point in found]
    assert steps == sorted(set(steps))
    assert len(steps) <= most
    return found


def at(points: Sequence[Point], steps: int) -> object:
    return {point.steps: point.metrics["loss"] for point in points}.get(steps)


async def test_a_long_curve_is_kept_and_its_extremes_and_ends_are_shown(
    pool: asyncpg.Pool, queries: PostgresMetrics
) -> None:
    assert await stretches(pool) == COUNT // STRETCH
    points = await chart(queries)
    assert (points[0].steps, points[-1].steps) == (1, COUNT)
    assert len(points) >= 40
    for steps, value in ((7, 99.0), (STRETCH * 50, -99.0), (COUNT + 1, 77.0)):
        await pool.execute("DELETE FROM measures.metrics WHERE steps = $1", steps)
        await pool.execute(SPIKE, 1, steps, value)
    for _ in range(2):  # before and after they are in stretches
        points = await chart(queries)
        assert [at(points, steps) for steps in (7, STRETCH * 50, COUNT + 1)] == [99.0, -99.0, 77.0]
        await kept(pool)


async def test_of_a_repeated_step_the_latest_run_is_shown_at_once(pool: asyncpg.Pool, queries: PostgresMetrics) -> None:
    await pool.execute(SPIKE, 2, 15_000, 50.0)
    assert await stretches(pool) == 149, "those from that step on are gone"
    assert at(await chart(queries), 15_000) == 50.0
    await kept(pool)
    assert await stretches(pool) == COUNT // STRETCH
    assert at(await chart(queries), 15_000) == 50.0
    await pool.execute(SPIKE, 3, 15_000, 8.5)
    await kept(pool)
    assert at(await chart(queries), 15_000) in (None, 8.5)


async def test_a_part_of_a_curve_has_the_points_of_that_part(pool: asyncpg.Pool, queries: PostgresMetrics) -> None:
    await pool.execute(SPIKE, 2, 5_555, 50.0)
    await kept(pool)
    points = await chart(queries, first=5_050, last=9_949)
    assert (points[0].steps, points[-1].steps) == (5_050, 9_949)
    assert at(points, 5_555) == 50.0
    assert len(await chart(queries, first=5_050, last=5_060)) == 11


async def test_a_metric_without_numbers_is_read_from_the_reports(pool: asyncpg.Pool, queries: PostgresMetrics) -> None:
    found = await queries.series(1, "training", Series(names=("words",), most=4))
    assert [point.steps for point in found] == [1, COUNT]


async def test_the_summary_of_a_long_group_is_the_one_that_was_added_up(
    pool: asyncpg.Pool, queries: PostgresMetrics
) -> None:
    store = MetricStore(pool)
    added_up = (await store.columns(1))["avg_metrics"]
    await pool.execute("INSERT INTO measures.outdated_summaries VALUES (1, 'training')")
    read = (await store.columns(1))["avg_metrics"]
    assert added_up["loss"].pop("mean") == pytest.approx(read["loss"].pop("mean"))
    assert added_up["loss"].pop("sum") == pytest.approx(read["loss"].pop("sum"))
    assert (added_up, added_up["loss"]["count"]) == (read, COUNT)


async def test_a_curve_that_is_not_long_is_not_kept(pool: asyncpg.Pool, queries: PostgresMetrics) -> None:
    await pool.execute(SPIKE.replace("'training'", "'own'"), 1, 1, 1.0)
    await kept(pool)
    assert await pool.fetchval("SELECT count(*) FROM measures.curves") == 1


async def test_a_number_that_is_too_large_leaves_the_curve_to_its_reports(
    pool: asyncpg.Pool, queries: PostgresMetrics
) -> None:
    huge = SPIKE.replace("$3::float8", "('1e400')::numeric + $3::float8::numeric")
    for steps in range(COUNT + 1, COUNT + STRETCH):
        await pool.execute(huge, 1, steps, 1.0)
    await kept(pool)
    assert await stretches(pool) == COUNT // STRETCH


async def test_the_stretches_of_a_deleted_trial_are_deleted(pool: asyncpg.Pool, queries: PostgresMetrics) -> None:
    store = MetricStore(pool)
    while await store.delete_some(1, 10_000):
        pass
    assert await stretches(pool) == 0
    assert await pool.fetchval("SELECT count(*) FROM measures.curves") == 0
