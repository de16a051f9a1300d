"""What can be asked about system metrics: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.measures.metrics import MetricRow, MetricStore, merged
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.profiler.memory import MemoryProfiler
from resolute.api.profiler.queries import PostgresProfiler, ProfilerQueries
from resolute.api.profiler.series import Series
from resolute.api.trials.tables import TRIALS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_trials import trial

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
ROWS = {TRIALS: (trial(1, 1), trial(2, 1, state="COMPLETED"))}


def report(group: str, second: int, run: int = 1, batches: int | None = None, **metrics: Any) -> MetricRow:
    of_batches = None if batches is None else [{"batches": batches}]
    return MetricRow(1, run, group, second, metrics, of_batches, AT + timedelta(seconds=second))


REPORTS = (
    report("cpu", -100, a={"cpu_util_simple": 10.0}),
    report("cpu", -90, a={"cpu_util_simple": 20.0}, batches=7),
    report("cpu", -90, b={"cpu_util_simple": 21}),
    report("cpu", -90, run=2, a={"cpu_util_simple": 30.0}),
    report("gpu", -80, a={"gpu-1.gpu_util": 1.0, "gpu-2": {"gpu_util": 2.0, "name": "words"}}),
    report("cpu", -70, a={"cpu_util_simple": "NaN", "other": True}, c=5),
    report("cpu", 10, d={"cpu_util_simple": 1.0}),
    report("own", -60, a={"cpu_util_simple": 1.0}),
)

CPU = Series("cpu", "a", ("cpu_util_simple",))


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[ProfilerQueries]:
    if database is None:
        of_machines = [row for row in REPORTS if row.steps == -90]
        others = [row for row in REPORTS if row.steps != -90]
        yield MemoryProfiler(in_memory(ROWS), [*others, *merged(of_machines)])
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        for row in REPORTS:
            await MetricStore(pool).add([row])
        await MetricStore(pool).add(REPORTS)  # once more, which adds nothing
        yield PostgresProfiler(await in_postgres(pool, ROWS))


async def test_the_series_of_a_trial_are_listed(queries: ProfilerQueries) -> None:
    assert list(await queries.series(1)) == [
        CPU,
        Series("cpu", "b", ("cpu_util_simple",)),
        Series("gpu", "a", ("gpu-1.gpu_util",)),
        Series("gpu", "a", ("gpu-2", "gpu_util")),
    ]
    assert [one.group for one in await queries.series(1, after=-90)] == ["gpu", "gpu"]
    assert list(await queries.series(3)) == []


async def test_points_are_in_order_and_of_the_latest_run(queries: ProfilerQueries) -> None:
    found = await queries.points(1, CPU, BEFORE_ALL_STEPS, 10)
    assert [(one.second, one.value, one.batches) for one in found] == [(-100, 10.0, 0), (-90, 30.0, 0)]
    assert found[0].at == AT - timedelta(seconds=100)
    assert [one.second for one in await queries.points(1, CPU, -100, 10)] == [-90]
    assert [one.second for one in await queries.points(1, CPU, BEFORE_ALL_STEPS, 1)] == [-100]


async def test_machines_that_report_in_the_same_second_keep_their_values(queries: ProfilerQueries) -> None:
    (found,) = await queries.points(1, Series("cpu", "b", ("cpu_util_simple",)), BEFORE_ALL_STEPS, 10)
    assert (found.second, found.value, found.batches) == (-90, 21.0, 7)


async def test_a_value_is_found_by_the_gpu_and_by_the_name_behind_it(queries: ProfilerQueries) -> None:
    for path, value in ((("gpu-1.gpu_util",), 1.0), (("gpu-2", "gpu_util"), 2.0)):
        (found,) = await queries.points(1, Series("gpu", "a", path), BEFORE_ALL_STEPS, 10)
        assert found.value == value


async def test_the_newest_second_and_the_end_of_a_trial(queries: ProfilerQueries) -> None:
    assert (await queries.newest(1), await queries.newest(3)) == (-70, BEFORE_ALL_STEPS)
    assert [await queries.is_over(trial_id) for trial_id in (1, 2, 3)] == [False, True, True]
