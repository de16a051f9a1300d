"""How far a trial shall train: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import CONFIGS, ExperimentConfig
from resolute.api.kernel.rows import Table
from resolute.api.searches.memory import MemorySearches
from resolute.api.searches.queries import PostgresSearches, SearchQueries, TrialTarget
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.trials.tables import RUNS, TRIALS, Run, Trial
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def config(experiment_id: int, searcher: Mapping[str, Any]) -> ExperimentConfig:
    return ExperimentConfig(experiment_id, {"searcher": searcher}, "")


def trial(id_: int, experiment_id: int, run_id: int, **columns: Any) -> Trial:
    return Trial(id_, experiment_id, "request", f"{id_}.task", {}, 7, None, "ACTIVE", AT, run_id=run_id, **columns)


def run(trial_id: int, run_id: int, **columns: Any) -> Run:
    return Run(trial_id, run_id, 1, f"{trial_id}.task.{run_id}", None, 0, AT, **columns)


def allocation(trial_id: int, run_id: int, **columns: Any) -> Allocation:
    return Allocation(
        allocation_id=f"{trial_id}.task.{run_id}",
        pool="main",
        task_id=f"{trial_id}.task",
        task_type="TRIAL",
        job_id="job",
        live_job_id="job",
        name="digits",
        owner="ann",
        slots=1,
        priority=42,
        weight=1.0,
        max_slots=None,
        experiment_id=1,
        trial_id=trial_id,
        state="RUNNING",
        requested_at=AT,
        **columns,
    )


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    CONFIGS: (
        config(1, {"name": "single", "max_length": {"batches": 100}}),
        config(2, {"name": "custom"}),
        config(3, {"name": "single", "max_length": {"epochs": "3"}}),
    ),
    TRIALS: (
        trial(1, 1, 0),
        trial(2, 1, 2, target=50, target_reached=True),
        trial(3, 1, 1, target=100, target_reached=True),
        trial(4, 1, 1, target=100),
        trial(5, 2, 1, target=7, target_reached=True),
        trial(6, 3, 1, target=3, target_reached=True),
        trial(7, 1, 1, target=50, ended_at=AT),
        trial(8, 1, 1, target=50),
    ),
    RUNS: (
        run(2, 1, ended_at=AT, stop_asked=True),
        run(2, 2),
        run(3, 1),
        run(4, 1, stop_asked=True),
        run(5, 1),
        run(6, 1),
        run(7, 1),
        run(8, 1, ended_at=AT),
    ),
    ALLOCATIONS: (
        allocation(2, 1, preemption_deadline_at=AT),
        allocation(2, 2),
        allocation(4, 1, preemption_deadline_at=AT),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[SearchQueries]:
    if database is None:
        yield MemorySearches(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresSearches(await in_postgres(pool, ROWS))


async def target(queries: SearchQueries, trial_id: int) -> TrialTarget:
    found = await queries.target(trial_id)
    assert found is not None
    return found


async def test_a_trial_before_its_first_run_has_no_target_and_no_allocation(queries: SearchQueries) -> None:
    assert await target(queries, 1) == TrialTarget(None, False, False, False, False, "")
    assert await queries.target(99) is None


async def test_the_latest_run_of_a_trial_counts(queries: SearchQueries) -> None:
    assert await target(queries, 2) == TrialTarget(50, True, False, False, False, "2.task.2")


async def test_a_run_that_is_asked_to_stop_gives_its_slots_back(queries: SearchQueries) -> None:
    asked = await target(queries, 4)
    assert asked == TrialTarget(100, False, False, True, True, "4.task.1")
    assert not asked.beyond(0)


@pytest.mark.parametrize(
    ("trial_id", "finished"),
    [
        (2, False),  # the search may set a further target
        (3, True),  # the length of the whole search is reached
        (4, False),
        (5, False),  # a search without a length may always set a further one
        (6, True),  # lengths in epochs count alike
        (7, True),  # the trial has ended
        (8, True),  # its run has ended
    ],
)
async def test_there_is_nothing_more_to_train_for_a_trial_that_is_done(
    queries: SearchQueries, trial_id: int, finished: bool
) -> None:
    assert (await target(queries, trial_id)).finished is finished
