"""What can be asked about checkpoints: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import pytest

from resolute.api.checkpoints.memory import MemoryCheckpoints, Report
from resolute.api.checkpoints.messages import SortCheckpointsBy
from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.checkpoints.queries import CheckpointQueries, Order, PostgresCheckpoints, StoredRow, Wanted
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment, ExperimentConfig
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.trials.tables import TRIALS, VALIDATIONS, Trial, Validation
from resolute.api.workspaces.projection import PROJECTS, Project
from resolute.proto.states import CheckpointState
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def experiment(id_: int, project_id: int, *, smaller_is_better: bool = True) -> Experiment:
    return Experiment(
        id=id_,
        job_id="job",
        name="digits",
        description="",
        labels=(),
        owner_id=1,
        owner="ann",
        project_id=project_id,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=smaller_is_better,
        resource_pool="main",
        state="ACTIVE",
        started_at=AT,
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=None,
        log_retention_days=None,
    )


def trial(id_: int, experiment_id: int, **hparams: float) -> Trial:
    return Trial(id_, experiment_id, "request", f"trial-{id_}", hparams, 0, None, "ACTIVE", AT)


def checkpoint(
    uuid: str, trial_id: int, steps: int, *, of: int = 1, state: str = "COMPLETED", minutes: int = 0
) -> Checkpoint:
    return Checkpoint(
        uuid=uuid,
        experiment_id=of,
        trial_id=trial_id,
        task_id=f"trial-{trial_id}",
        allocation_id=f"trial-{trial_id}.1",
        run_id=1,
        steps_completed=steps,
        state=state,
        storage={"type": "shared_fs", "host_path": "/c"},
        resources={"state/a": 2**40, "b": 1},
        size_bytes=2**40 + 1,
        metadata={"kept": [1, None]},
        reported_at=AT + timedelta(minutes=minutes),
    )


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    PROJECTS: (Project(1, 1, "digits", "", 1, immutable=False), Project(2, 2, "letters", "", 1, immutable=False)),
    EXPERIMENTS: (experiment(1, 1), experiment(2, 2, smaller_is_better=False)),
    CONFIGS: (ExperimentConfig(1, {"name": "digits", "hyperparameters": {"lr": 0.1}}, "name: digits"),),
    TRIALS: (trial(1, 1, lr=0.1), trial(2, 1, lr=0.2), trial(3, 2)),
    VALIDATIONS: (
        Validation(1, 100, 1, 1, 0.5, AT),
        Validation(1, 200, 1, 1, 0.25, AT),
        Validation(2, 100, 1, 1, None, AT),
        Validation(3, 100, 1, 2, 0.5, AT),
        Validation(3, 200, 1, 2, 0.75, AT),
    ),
    CHECKPOINTS: (
        checkpoint("d", 1, 100, minutes=3),
        checkpoint("c", 1, 200, minutes=2, state="DELETED"),
        checkpoint("b", 2, 100, minutes=4, state="PARTIALLY_DELETED"),
        checkpoint("a", 2, 0, minutes=1, state="ACTIVE"),
        checkpoint("y", 3, 100, of=2),
        checkpoint("z", 3, 200, of=2),
        checkpoint("lost", 9, 100, of=9),
    ),
}

REPORTS = (
    Report(1, 1, "validation", 100, {"accuracy": 0.5, "loss": 9}),
    Report(1, 2, "validation", 100, {"accuracy": 0.75}),
    Report(1, 1, "training", 100, {"loss": 3}),
    Report(1, 1, "inference", 100, {"loss": 4}),
    Report(1, 1, "validation", 200, {"accuracy": 0.625, "it's": 1}),
    Report(2, 1, "validation", 100, {"accuracy": 0.875}),
    Report(2, 2, "validation", 100, {"accuracy": "NaN", "it's": 0}),
)
"""Metrics are no rows of a slice: reports are kept beside the log."""


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[CheckpointQueries]:
    if database is None:
        yield MemoryCheckpoints(in_memory(ROWS), REPORTS)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        for one in REPORTS:
            await pool.execute(
                """INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, reported_at)
                VALUES ($1, $2, $3, $4, $5, now())""",
                one.trial_id,
                one.run_id,
                one.kind,
                one.steps,
                orjson.dumps(one.metrics).decode(),
            )
        yield PostgresCheckpoints(await in_postgres(pool, ROWS))


async def uuids(queries: CheckpointQueries, wanted: Wanted, order: Order = Order(), **window: int) -> str:  # noqa: B008
    found = await queries.checkpoints(UNLIMITED, wanted, order, Window(**window))
    return " ".join(row.uuid for row in found.rows)


async def test_a_checkpoint_comes_with_its_trial_its_configuration_and_the_latest_metrics(
    queries: CheckpointQueries,
) -> None:
    [found] = await queries.several(["d"])
    assert (found.experiment_id, found.trial_id, found.task_id, found.allocation_id) == (1, 1, "trial-1", "trial-1.1")
    assert (found.steps_completed, found.state, found.reported_at) == (100, "COMPLETED", AT + timedelta(minutes=3))
    assert found.resources == {"state/a": 2**40, "b": 1}
    assert (found.storage, found.metadata) == ({"type": "shared_fs", "host_path": "/c"}, {"kept": [1, None]})
    assert (found.hparams, found.metric) == ({"lr": 0.1}, 0.5)
    assert orjson.loads(found.config or "") == {"name": "digits", "hyperparameters": {"lr": 0.1}}
    assert (found.training, found.validation) == ({"loss": 3}, {"accuracy": 0.75})
    assert await queries.checkpoint("d") == found
    assert await queries.checkpoint("nothing") is None


async def test_a_checkpoint_whose_trial_and_experiment_are_unknown_comes_without_them(
    queries: CheckpointQueries,
) -> None:
    [found] = await queries.several(["lost"])
    assert (found.hparams, found.config, found.metric, found.training, found.validation) == (None,) * 5


async def test_several_come_by_trial_and_then_by_how_much_was_trained(queries: CheckpointQueries) -> None:
    found = await queries.several(["y", "b", "a", "nothing", "c", "d"])
    assert [row.uuid for row in found] == ["d", "c", "a", "b", "y"]
    assert list(await queries.several([])) == []


async def test_checkpoints_are_found_by_experiment_by_trial_and_by_state(queries: CheckpointQueries) -> None:
    assert await uuids(queries, Wanted(experiment_id=1)) == "c d a b"
    assert await uuids(queries, Wanted(trial_id=2)) == "a b"
    some = (CheckpointState.DELETED, CheckpointState.ACTIVE)
    assert await uuids(queries, Wanted(experiment_id=1, states=some)) == "c a"
    assert await uuids(queries, Wanted(experiment_id=1, states=(CheckpointState.ERROR,))) == ""


@pytest.mark.parametrize(
    ("by", "ascending", "descending"),
    [
        (SortCheckpointsBy.UNSPECIFIED, "c d a b", "b a d c"),
        (SortCheckpointsBy.UUID, "a b c d", "d c b a"),
        (SortCheckpointsBy.TRIAL_ID, "c d a b", "b a d c"),
        (SortCheckpointsBy.BATCH_NUMBER, "a b d c", "c d b a"),
        (SortCheckpointsBy.END_TIME, "a c d b", "b d c a"),
        (SortCheckpointsBy.STATE, "a d c b", "b c d a"),
        (SortCheckpointsBy.SEARCHER_METRIC, "c d a b", "d c b a"),
    ],
)
async def test_checkpoints_are_listed_in_the_order_that_is_asked_for(
    queries: CheckpointQueries, by: SortCheckpointsBy, ascending: str, descending: str
) -> None:
    assert await uuids(queries, Wanted(experiment_id=1), Order(by)) == ascending
    assert await uuids(queries, Wanted(experiment_id=1), Order(by, descending=True)) == descending


async def test_the_best_comes_first_also_where_larger_is_better(queries: CheckpointQueries) -> None:
    assert await uuids(queries, Wanted(trial_id=3), Order(SortCheckpointsBy.SEARCHER_METRIC)) == "z y"


async def test_a_validation_metric_orders_by_the_latest_run_that_reported_a_number(queries: CheckpointQueries) -> None:
    wanted = Wanted(experiment_id=1)
    assert await uuids(queries, wanted, Order(metric="accuracy")) == "c d b a"
    assert await uuids(queries, wanted, Order(metric="accuracy", descending=True)) == "b d c a"
    assert await uuids(queries, wanted, Order(metric="it's")) == "b c a d"
    assert await uuids(queries, wanted, Order(SortCheckpointsBy.UUID, metric="accuracy")) == "a b c d"


async def test_a_page_of_checkpoints_says_what_it_is_a_page_of(queries: CheckpointQueries) -> None:
    found = await queries.checkpoints(UNLIMITED, Wanted(experiment_id=1), Order(), Window(1, 2))
    assert ([row.uuid for row in found.rows], found.page.total) == (["d", "a"], 4)
    assert await uuids(queries, Wanted(experiment_id=1), offset=9) == ""


async def test_checkpoints_outside_of_the_scope_are_neither_listed_nor_counted(queries: CheckpointQueries) -> None:
    found = await queries.checkpoints(Scope(frozenset({2})), Wanted(), Order(SortCheckpointsBy.UUID), Window())
    assert ([row.uuid for row in found.rows], found.page.total) == (["y", "z"], 2)


async def test_what_a_download_needs_and_what_exists_is_known(queries: CheckpointQueries) -> None:
    place = {"type": "shared_fs", "host_path": "/c"}
    assert await queries.stored("b") == StoredRow(CheckpointState.PARTIALLY_DELETED, place)
    assert await queries.stored("nothing") is None
    assert [await queries.has_experiment(1), await queries.has_experiment(9)] == [True, False]
    assert [await queries.has_trial(3), await queries.has_trial(9)] == [True, False]
