"""How far a trial shall train: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import CONFIGS, ExperimentConfig
from resolute.api.kernel.rows import Table
from resolute.api.searches.memory import MemorySearches
from resolute.api.searches.queries import PostgresSearches, SearchQueries, TrialTarget
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.tables import RUNS, TRIALS
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT
from tests.contract.queries.rows_of_trials import allocation, run, trial


def config(experiment_id: int, searcher: Mapping[str, Any]) -> ExperimentConfig:
    return ExperimentConfig(experiment_id, {"searcher": searcher}, "")


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    CONFIGS: (
        config(1, {"name": "single", "max_length": {"batches": 100}}),
        config(2, {"name": "custom"}),
        config(3, {"name": "single", "max_length": {"epochs": "3"}}),
    ),
    TRIALS: (
        trial(1, 1, run_id=0),
        trial(2, 1, run_id=2, target=50, target_reached=True),
        trial(3, 1, target=100, target_reached=True),
        trial(4, 1, target=100),
        trial(5, 2, target=7, target_reached=True),
        trial(6, 3, target=3, target_reached=True),
        trial(7, 1, target=50, ended_at=AT),
        trial(8, 1, target=50),
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
    assert await target(queries, 2) == TrialTarget(50, True, False, False, False, "t-2.2")


async def test_a_run_that_is_asked_to_stop_gives_its_slots_back(queries: SearchQueries) -> None:
    asked = await target(queries, 4)
    assert asked == TrialTarget(100, False, False, True, True, "t-4.1")
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
