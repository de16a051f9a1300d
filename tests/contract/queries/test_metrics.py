"""What can be asked about reported metrics: Postgres and the twin in memory answer alike."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import asyncpg
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.kernel.paging import Window
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.api.metrics import thinning
from resolute.api.metrics.memory import MemoryMetrics
from resolute.api.metrics.queries import (
    CheckpointRow,
    MetricQueries,
    Point,
    PostgresMetrics,
    Series,
    Stored,
    Workloads,
)
from resolute.proto.states import CheckpointState
from tests.contract.queries.filled import in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def report(trial: int, group: str, steps: int, run: int = 1, **metrics: Any) -> MetricRow:
    return MetricRow(trial, run, group, steps, metrics, None, AT + timedelta(seconds=steps))


ROWS = (
    report(1, "validation", 100, loss=0.5),
    report(1, "validation", 200, loss=0.4),
    report(1, "training", 200, loss=0.6, deep={"down": [1, "NaN"]}),
    report(1, "training", 100, loss=0.7),
    report(1, "validation", 200, run=2, loss=0.3, accuracy=0.9),
    report(1, "system", -7, cpu=1),
    report(2, "training", 1, loss=9.0),
)

Opened: TypeAlias = Callable[[Sequence[MetricRow]], Any]


@pytest.fixture
def opened(database: str | None) -> Opened:
    """Opens queries about these rows."""

    @asynccontextmanager
    async def filled(rows: Sequence[MetricRow]) -> AsyncIterator[MetricQueries]:
        if database is None:
            yield MemoryMetrics([_stored(place, row) for place, row in enumerate(rows, 1)])
            return
        async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
            await MetricStore(pool).add(rows)
            yield PostgresMetrics(await in_postgres(pool, {}))

    return filled


def _stored(place: int, row: MetricRow) -> Stored:
    return Stored(place, row.trial_id, row.run_id, row.kind, row.steps, row.metrics, row.reported_at)


@pytest.fixture
async def queries(opened: Opened) -> AsyncIterator[MetricQueries]:
    async with opened(ROWS) as found:
        yield found


async def reports(queries: MetricQueries, trial: int, group: str) -> list[Stored]:
    return [row async for page in queries.reports(trial, group) for row in page]


async def test_the_groups_of_a_trial_are_listed_by_name(queries: MetricQueries) -> None:
    assert list(await queries.groups(1)) == ["system", "training", "validation"]
    assert list(await queries.groups(2)) == ["training"]
    assert list(await queries.groups(3)) == []


async def test_of_a_repeated_step_the_latest_run_is_shown(queries: MetricQueries) -> None:
    found = await reports(queries, 1, "validation")
    assert [(row.id, row.steps, row.run_id) for row in found] == [(1, 100, 1), (5, 200, 2)]
    assert found[1].metrics == {"loss": 0.3, "accuracy": 0.9}


async def test_reports_are_read_in_order_of_steps_with_all_that_was_reported(queries: MetricQueries) -> None:
    assert await reports(queries, 1, "training") == [_stored(4, ROWS[3]), _stored(3, ROWS[2])]
    assert [row.steps for row in await reports(queries, 1, "system")] == [-7]
    assert await reports(queries, 3, "training") == []


@pytest.mark.parametrize(("rows", "pages"), [(25, [10, 10, 5]), (20, [10, 10]), (0, [])])
async def test_long_histories_are_read_in_pages(opened: Opened, rows: int, pages: list[int]) -> None:
    async with opened([report(1, "training", steps) for steps in range(rows)]) as queries:
        assert [len(page) async for page in queries.reports(1, "training", page=10)] == pages


@pytest.mark.parametrize(
    ("wanted", "steps"),
    [
        (Series(), [100, 200]),
        (Series(first=101), [200]),
        (Series(last=199), [100]),
        (Series(first=100, last=100), [100]),
        (Series(names=("accuracy", "none")), [200]),
        (Series(names=("none",)), []),
        (Series(most=1), [200]),
    ],
)
async def test_points_are_those_that_are_wanted(queries: MetricQueries, wanted: Series, steps: list[int]) -> None:
    assert [point.steps for point in await queries.series(1, "validation", wanted)] == steps


async def test_a_point_has_all_metrics_of_its_step(queries: MetricQueries) -> None:
    found = await queries.series(1, "validation", Series(names=("accuracy",)))
    assert list(found) == [Point(200, {"loss": 0.3, "accuracy": 0.9}, AT + timedelta(seconds=200))]


async def test_a_chart_has_its_first_and_last_point_and_the_extremes_between(opened: Opened) -> None:
    rows = [report(1, "validation", steps, loss=1 / steps) for steps in range(1, 501)]
    async with opened([*rows, report(1, "validation", 500, run=2, loss=7.0)]) as queries:
        losses = [{"loss": 1 / steps} for steps in range(1, 500)] + [{"loss": 7.0}]
        for most in (2, 3, 4, 7, 200, 499):
            points = await queries.series(1, "validation", Series(most=most))
            assert [point.steps - 1 for point in points] == thinning.kept_together(losses, most)
            assert len(points) <= most
        [last] = await queries.series(1, "validation", Series(most=1))
        assert (last.steps, last.metrics) == (500, {"loss": 7.0})
        assert len(await queries.series(1, "validation", Series(most=500))) == 500


async def test_of_a_chart_of_several_metrics_the_extremes_of_each_are_kept(opened: Opened) -> None:
    drawn = random.Random(3)
    values: list[dict[str, Any]] = [{"loss": float(drawn.randrange(9)), "lr": drawn.random()} for _ in range(90)]
    values[40]["lr"] = 100.0
    values[50] = {"loss": "NaN", "text": "no number", "flag": True}
    rows = [report(1, "training", steps, **metrics) for steps, metrics in enumerate(values)]
    numbers = [{name: value for name, value in one.items() if isinstance(value, float)} for one in values]
    async with opened(rows) as queries:
        for most in (4, 10, 50):
            points = await queries.series(1, "training", Series(most=most))
            assert [point.steps for point in points] == thinning.kept_together(numbers, most)
            assert 40 in [point.steps for point in points]
        only = [{name: value for name, value in one.items() if name == "lr"} for one in numbers]
        wanted = [place for place, one in enumerate(only) if one]
        points = await queries.series(1, "training", Series(names=("lr",), most=10))
        assert [point.steps for point in points] == [
            wanted[place] for place in thinning.kept_together([only[place] for place in wanted], 10)
        ]


ALL = Workloads(("training", "validation"), checkpoints=True)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (ALL, ["training 100", "validation 100", "a 100", "training 200", "validation 200", "b 200"]),
        (replace(ALL, newest_first=True), ["b 200", "validation 200", "training 200", "a 100", "validation 100"]),
        (Workloads((), checkpoints=True), ["a 100", "b 200"]),
        (Workloads(("validation",), checkpoints=False), ["validation 100", "validation 200"]),
    ],
)
async def test_what_a_trial_did_is_listed_in_order_of_steps(
    database: str | None, wanted: Workloads, found: list[str]
) -> None:
    async with _with_checkpoints(database) as queries:
        listed = await queries.workloads(1, wanted, Window(limit=len(found)))
        assert [_name(row) for row in listed.rows] == found
        [first] = (await queries.workloads(1, wanted, Window(offset=1, limit=1))).rows
        assert _name(first) == found[1]
        assert list((await queries.workloads(3, wanted, Window())).rows) == []


def _name(row: Stored | CheckpointRow) -> str:
    return f"{row.uuid if isinstance(row, CheckpointRow) else row.kind} {row.steps}"


CHECKPOINT_ROWS = tuple(
    CheckpointRow(uuid, CheckpointState.COMPLETED, steps, {"a/b": 7}, {"k": 1}, AT)
    for uuid, steps in (("a", 100), ("b", 200))
)


@asynccontextmanager
async def _with_checkpoints(database: str | None) -> AsyncIterator[MetricQueries]:
    if database is None:
        yield MemoryMetrics([_stored(place, row) for place, row in enumerate(ROWS, 1)], {1: CHECKPOINT_ROWS})
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        await MetricStore(pool).add(ROWS)
        yield PostgresMetrics(await in_postgres(pool, {CHECKPOINTS: tuple(map(_checkpoint, CHECKPOINT_ROWS))}))


def _checkpoint(row: CheckpointRow) -> Checkpoint:
    return Checkpoint(
        uuid=row.uuid,
        experiment_id=1,
        trial_id=1,
        task_id="1.t",
        allocation_id="1.t.1",
        run_id=1,
        steps_completed=row.steps,
        state=row.state,
        storage={},
        resources=dict(row.resources),
        size_bytes=7,
        metadata=dict(row.metadata),
        reported_at=row.reported_at,
    )
