"""What can be asked to chart a search: Postgres and the twin in memory answer alike."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
import pytest

from resolute.api.charts.memory import MemoryCharts
from resolute.api.charts.queries import (
    ChartedExperiment,
    ChartedTrial,
    ChartQueries,
    Metric,
    NamedMetrics,
    PostgresCharts,
    Stretch,
)
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.rows import Table
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.api.metrics import thinning
from resolute.api.trials.tables import TRIALS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import experiment
from tests.contract.queries.rows_of_trials import trial
from tests.contract.queries.test_metrics import _stored, report

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    EXPERIMENTS: (
        experiment(1, "job-1", searcher_type="adaptive_asha", searcher_metric="loss", state="ACTIVE"),
        experiment(2, "job-2", searcher_type="random", searcher_metric="accuracy", smaller_is_better=False),
    ),
    TRIALS: (
        trial(1, 1, run_id=2, best_metric=0.3, latest_steps=200),
        trial(2, 1),
        trial(3, 2, hparams={"lr": [1, {"deep": None}]}),
    ),
}
REPORTS = (
    report(1, "validation", 100, loss=0.5),
    report(1, "validation", 200, loss=0.4),
    report(1, "validation", 200, run=2, loss=0.3, accuracy=0.9),
    report(1, "validation", 300, run=2, loss="NaN"),
    report(1, "training", 100, loss=0.7),
    report(1, "training", 150, lr=0.1),
    report(1, "system", -7, cpu=1),
    report(2, "validation", 150, loss=1, text="spoken", flag=True),
    report(2, "validation", 250, loss=2),
    report(3, "own", 5, score=-1.5),
)
VALIDATION = Metric("validation", "loss")

Opened: TypeAlias = Callable[[Sequence[MetricRow]], Any]


@pytest.fixture
def opened(database: str | None) -> Opened:
    """Opens queries about these reports."""

    @asynccontextmanager
    async def filled(reports: Sequence[MetricRow]) -> AsyncIterator[ChartQueries]:
        if database is None:
            yield MemoryCharts(in_memory(ROWS), [_stored(place, row) for place, row in enumerate(reports, 1)])
            return
        async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
            await MetricStore(pool).add(reports)
            yield PostgresCharts(await in_postgres(pool, ROWS))

    return filled


@pytest.fixture
async def queries(opened: Opened) -> AsyncIterator[ChartQueries]:
    async with opened(REPORTS) as found:
        yield found


async def curve(queries: ChartQueries, trial_id: int, metric: Metric, **wanted: int) -> list[tuple[int, float]]:
    return [(one.steps, one.value) for one in await queries.points(trial_id, metric, Stretch(**wanted))]


async def test_experiments_are_found_by_number_and_unknown_ones_left_out(queries: ChartQueries) -> None:
    found = await queries.experiments([2, 99, 1])
    assert found[0] == ChartedExperiment(1, "ACTIVE", "adaptive_asha", "loss", True)
    assert [one.id for one in found] == [1, 2]
    assert list(await queries.experiments([])) == []


async def test_the_trials_of_several_experiments_come_by_number(queries: ChartQueries) -> None:
    found = await queries.trials([2, 1])
    assert found[0] == ChartedTrial(1, 1, 2, {"lr": 1}, 0.3, 200)
    assert [(one.id, one.best_metric, one.steps) for one in found[1:]] == [(2, None, 0), (3, None, 0)]
    assert found[2].hparams == {"lr": [1, {"deep": None}]}


async def test_names_are_found_by_trial_and_group(queries: ChartQueries) -> None:
    assert list(await queries.names([3, 1], {})) == [
        NamedMetrics(1, "system", ("cpu",), -7),
        NamedMetrics(1, "training", ("loss", "lr"), 150),
        NamedMetrics(1, "validation", ("accuracy", "loss"), 300),
        NamedMetrics(3, "own", ("score",), 5),
    ]
    assert list(await queries.names([99], {})) == []


async def test_names_are_asked_for_from_a_step_on(queries: ChartQueries) -> None:
    after = {(1, "system"): -7, (1, "training"): 100, (1, "validation"): 300, (3, "other"): 1000}
    assert list(await queries.names([1, 3], after)) == [
        NamedMetrics(1, "training", ("lr",), 150),
        NamedMetrics(3, "own", ("score",), 5),
    ]


async def test_batches_are_those_at_which_the_metric_was_reported(queries: ChartQueries) -> None:
    everything = {1: -(2**31), 2: -(2**31), 3: -(2**31)}
    found = await queries.batches(VALIDATION, everything, 100)
    assert list(found) == [(1, 100), (1, 200), (1, 300), (2, 150), (2, 250)]
    assert list(await queries.batches(VALIDATION, everything, 2)) == [(1, 100), (1, 200)]
    assert list(await queries.batches(VALIDATION, {1: 200, 2: 250}, 100)) == [(1, 300)]
    assert list(await queries.batches(Metric("training", "none"), everything, 100)) == []


async def test_a_curve_has_the_latest_run_of_each_step_and_numbers_alone(queries: ChartQueries) -> None:
    assert await curve(queries, 1, VALIDATION) == [(100, 0.5), (200, 0.3)]
    assert await curve(queries, 2, Metric("validation", "flag")) == []
    assert await curve(queries, 1, Metric("system", "cpu")) == [(-7, 1.0)]


async def test_a_curve_is_cut_to_the_steps_that_are_wanted(queries: ChartQueries) -> None:
    assert await curve(queries, 2, VALIDATION, after=150) == [(250, 2.0)]
    assert await curve(queries, 2, VALIDATION, first=151) == [(250, 2.0)]
    assert await curve(queries, 2, VALIDATION, last=249) == [(150, 1.0)]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 17, 100, 299, 300])
async def test_a_long_curve_keeps_its_extremes(opened: Opened, most: int) -> None:
    drawn = random.Random(7)
    values = [float(drawn.randrange(20)) for _ in range(300)]
    rows = [report(1, "training", steps, loss=value) for steps, value in enumerate(values, 1)]
    async with opened(rows) as queries:
        found = await curve(queries, 1, Metric("training", "loss"), most=most)
        assert found == [(place + 1, values[place]) for place in thinning.kept(values, most)]


async def test_the_nearest_report_counts_within_a_margin(queries: ChartQueries) -> None:
    async def nearest(steps: int, margin: int, metric: Metric = VALIDATION) -> dict[int, tuple[int, float]]:
        found = await queries.nearest([1, 2, 3], metric, steps, margin)
        return {trial: (point.steps, point.value) for trial, point in found.items()}

    assert await nearest(200, 0) == {1: (200, 0.3)}
    assert await nearest(200, 50) == {1: (200, 0.3), 2: (150, 1.0)}  # of two as near the earlier
    assert await nearest(300, 99) == {2: (250, 2.0)}  # the report at 300 is no number
    assert await nearest(200, 1000, Metric("validation", "none")) == {}
