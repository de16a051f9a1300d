"""What slices and access ask about one trial and about one checkpoint: Postgres and the twins answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from resolute.api.checkpoints.lookup_memory import MemoryCheckpointLookups
from resolute.api.checkpoints.lookup_queries import CheckpointLookups, PostgresCheckpointLookups
from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, ExperimentConfig
from resolute.api.kernel.rows import Table
from resolute.api.trials.lookup_memory import MemoryTrialLookups
from resolute.api.trials.lookup_queries import PostgresTrialLookups, TrialLookups, TrialRef
from resolute.api.trials.tables import TRIALS, Trial
from resolute.proto.states import CheckpointState
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import experiment

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
STORAGE = {"type": "shared_fs", "host_path": "/tmp/z"}
BY_TIME = {"checkpoint_storage": STORAGE, "searcher": {"name": "adaptive_asha", "time_metric": "epochs"}}


def trial(id_: int, experiment_id: int, warm_start: str | None = None) -> Trial:
    return Trial(id_, experiment_id, "r", f"{experiment_id}.{id_}", {}, 0, warm_start, "ACTIVE", AT)


def checkpoint(uuid: str, experiment_id: int, trial_id: int) -> Checkpoint:
    task_id = f"{experiment_id}.{trial_id}"
    return Checkpoint(
        uuid=uuid,
        experiment_id=experiment_id,
        trial_id=trial_id,
        task_id=task_id,
        allocation_id=f"{task_id}.1",
        run_id=1,
        steps_completed=1,
        state=CheckpointState.COMPLETED,
        storage=STORAGE,
        resources={},
        size_bytes=0,
        metadata={},
        reported_at=AT,
    )


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    EXPERIMENTS: tuple(experiment(id_, 1, "ACTIVE", AT) for id_ in (1, 2)),
    CONFIGS: (ExperimentConfig(1, BY_TIME, "{}"), ExperimentConfig(2, {}, "{}")),
    TRIALS: (trial(1, 1), trial(2, 2, "a"), trial(3, 2, "a"), trial(4, 1, "a"), trial(5, 1, "b")),
    CHECKPOINTS: (checkpoint("a", 1, 1), checkpoint("b", 2, 2)),
}


@dataclass(frozen=True)
class Lookups:
    trials: TrialLookups
    checkpoints: CheckpointLookups


@pytest.fixture
async def lookups(database: str | None) -> AsyncIterator[Lookups]:
    if database is None:
        rows = in_memory(ROWS)
        yield Lookups(MemoryTrialLookups(rows), MemoryCheckpointLookups(rows))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        tables = await in_postgres(pool, ROWS)
        yield Lookups(PostgresTrialLookups(tables), PostgresCheckpointLookups(tables))


async def test_a_trial_is_found_with_what_its_search_goes_by(lookups: Lookups) -> None:
    found = await lookups.trials.trial(1)
    assert found == await lookups.trials.trial_of_task("1.1")
    assert found == TrialRef(
        trial_id=1,
        experiment_id=1,
        task_id="1.1",
        metric="loss",
        smaller_is_better=True,
        storage=STORAGE,
        searcher="single",
        time_metric="epochs",
    )


async def test_a_configuration_may_leave_out_the_storage_and_the_time(lookups: Lookups) -> None:
    found = await lookups.trials.trial(2)
    assert found is not None
    assert (found.experiment_id, found.storage, found.time_metric) == (2, {}, None)


async def test_a_trial_that_does_not_exist_is_not_found(lookups: Lookups) -> None:
    assert (await lookups.trials.trial(9), await lookups.trials.trial_of_task("1.9")) == (None, None)
    assert (await lookups.trials.exists(1), await lookups.trials.exists(9)) == (True, False)


async def test_a_checkpoint_is_of_one_experiment_and_trials_of_several_may_begin_from_it(lookups: Lookups) -> None:
    checkpoints = lookups.checkpoints
    assert [await checkpoints.experiment_of(uuid) for uuid in ("a", "b", "c")] == [1, 2, None]
    assert [await checkpoints.begun_from(uuid) for uuid in ("a", "b", "c")] == [{1, 2}, {1}, frozenset()]
