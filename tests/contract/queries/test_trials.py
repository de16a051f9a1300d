"""What can be asked about trials: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.measures.metrics import MetricRow, MetricStore
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.memory import MemoryTrials
from resolute.api.trials.messages import SortTrialsBy
from resolute.api.trials.queries import CheckpointRow, OutsideRow, PostgresTrials, TrialQueries, TrialRow
from resolute.api.trials.tables import RUNS, TRIALS, VALIDATIONS, Validation
from resolute.api.workspaces.projection import PROJECTS, Project
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT, experiment
from tests.contract.queries.rows_of_trials import allocation, at, run, trial


def checkpoint(uuid: str, trial_id: int, steps: int, state: str = "COMPLETED") -> Checkpoint:
    return Checkpoint(
        uuid=uuid,
        experiment_id=1,
        trial_id=trial_id,
        task_id=f"t-{trial_id}",
        allocation_id=f"t-{trial_id}.1",
        run_id=1,
        steps_completed=steps,
        state=state,
        storage={},
        resources={"model.pt": 2**33},
        size_bytes=2**33,
        metadata={"of": uuid},
        reported_at=at(steps),
    )


def validation(trial_id: int, steps: int, metric: float | None) -> Validation:
    return Validation(trial_id, steps, 1, 1, metric, at(steps))


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    PROJECTS: (Project(1, 7, "digits", "", 1, immutable=False), Project(2, 8, "letters", "", 1, immutable=False)),
    EXPERIMENTS: (
        experiment(1, "job-1", log_retention_days=30),
        experiment(2, "job-2", state="PAUSED", project_id=2, smaller_is_better=False, searcher_metric="accuracy"),
        experiment(3, "job-3", state="STOPPING_KILLED"),
        experiment(4, "job-4"),
        experiment(5, "job-5", unmanaged=True, external_id="mine"),
        experiment(6, "job-6", unmanaged=True, state="PAUSED", external_id="ours", project_id=2),
    ),
    TRIALS: (
        trial(1, 1, state="COMPLETED", ended_at=at(90), run_id=2, best_metric=0.25, latest_metric=0.5, restarts=1),
        trial(2, 1, log_retention_days=-1, latest_metric=0.75, best_metric=0.75),
        trial(3, 1, metadata={"note": "ä"}),
        trial(4, 1, log_policy_matched="out of memory"),
        trial(5, 1, target=10, target_reached=True),
        trial(6, 1, run_id=0),
        trial(7, 2, warm_start="some-checkpoint"),
        trial(8, 3),
        trial(10, 5),
        trial(11, 5, run_id=2),
        trial(12, 5, run_id=0),
        trial(13, 5),
        trial(14, 6),
        trial(9, 1, state="ERROR", reason="no space left", ended_at=at(10), logs_removed_at=at(99)),
    ),
    RUNS: (
        run(10, 1, started_at=at(3)),
        run(11, 1, started_at=at(0), ended_at=at(1)),
        run(11, 2, started_at=at(4)),
        run(13, 1, started_at=at(0), ended_at=at(1)),
        run(14, 1, started_at=at(0)),
        run(1, 1, started_at=at(0), ended_at=at(10)),
        run(1, 2, started_at=at(20), ended_at=at(50)),
        run(2, started_at=at(0)),
        run(3),
        run(4),
        run(5, started_at=at(0), ended_at=at(1)),
        run(7),
        run(8),
        run(9, ended_at=at(10)),
    ),
    ALLOCATIONS: (
        allocation(1, 2, state="RUNNING"),
        allocation(2, state="RUNNING"),
        allocation(3, state="ASSIGNED"),
        allocation(4, state="TERMINATING"),
        allocation(5, state="RUNNING", ended_at=at(1)),
        allocation(7, state="RUNNING"),
        allocation(8, state="RUNNING"),
    ),
    CHECKPOINTS: (
        checkpoint("a", 1, 10),
        checkpoint("b", 1, 20),
        checkpoint("c", 1, 30, "DELETED"),
        checkpoint("d", 1, 40, "PARTIALLY_DELETED"),
        checkpoint("e", 1, 50),
        checkpoint("f", 2, 10),
        checkpoint("g", 2, 20),
        checkpoint("h", 3, 10, "ACTIVE"),
        checkpoint("i", 7, 10),
        checkpoint("j", 7, 20),
    ),
    VALIDATIONS: (
        validation(1, 10, 0.5),
        validation(1, 20, 0.25),
        validation(1, 30, 0.125),
        validation(1, 50, None),
        validation(7, 10, 0.5),
        validation(7, 20, 0.25),
    ),
}

BATCHES = {1: 50, 3: 400, 5: 10}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[TrialQueries]:
    if database is None:
        yield MemoryTrials(in_memory(ROWS), BATCHES)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        reports = [MetricRow(id_, 1, "training", steps, {"loss": 1.0}, None, AT) for id_, steps in BATCHES.items()]
        await MetricStore(pool).add(reports)
        yield PostgresTrials(await in_postgres(pool, ROWS))


async def one(queries: TrialQueries, trial_id: int) -> TrialRow:
    found = await queries.trial(trial_id)
    assert found is not None
    return found


async def ids(queries: TrialQueries, by: SortTrialsBy = SortTrialsBy.UNSPECIFIED, **asked: Any) -> list[int]:
    phases, descending = asked.pop("phases", ()), asked.pop("descending", False)
    found = await queries.trials(UNLIMITED, 1, phases, by, descending=descending, window=Window(**asked))
    return [row.id for row in found.rows]


async def test_a_trial_is_shown_with_its_runs_and_its_checkpoints(queries: TrialQueries) -> None:
    assert await one(queries, 1) == TrialRow(
        id=1,
        experiment_id=1,
        task_id="t-1",
        phase="COMPLETED",
        reason="",
        started_at=at(1),
        ended_at=at(90),
        restarts=1,
        hparams={"lr": 1},
        warm_start="",
        searcher_metric="loss",
        smaller_is_better=True,
        best_metric=0.25,
        best_checkpoint=CheckpointRow("b", 20, {"model.pt": 2**33}, {"of": "b"}, at(20)),
        checkpoints=4,
        checkpoint_bytes=4 * 2**33,
        wall_s=2400.0,
        log_retention_days=30,
        logs_removed_at=None,
        log_policy_matched=None,
        metadata=None,
    )
    assert await queries.trial(99) is None


@pytest.mark.parametrize(
    ("trial_id", "phase"),
    [
        (2, "RUNNING"),
        (3, "STARTING"),
        (4, "STOPPING_CANCELED"),
        (5, "PAUSED"),  # it waits for the search
        (6, "QUEUED"),
        (7, "PAUSED"),  # with its experiment
        (8, "STOPPING_KILLED"),
        (9, "ERROR"),
    ],
)
async def test_an_active_trial_is_shown_by_how_far_its_allocation_has_come(
    queries: TrialQueries, trial_id: int, phase: str
) -> None:
    assert (await one(queries, trial_id)).phase == phase


@pytest.mark.parametrize(
    ("trial_id", "uuid"),
    [
        (2, "g"),  # without validations the last one
        (3, None),  # it is not complete
        (6, None),
        (7, "i"),  # the greatest metric is the best
    ],
)
async def test_the_best_checkpoint_is_complete_and_has_the_best_validation(
    queries: TrialQueries, trial_id: int, uuid: str | None
) -> None:
    best = (await one(queries, trial_id)).best_checkpoint
    assert (None if best is None else best.uuid) == uuid


async def test_a_trial_says_what_happened_to_it_and_to_its_logs(queries: TrialQueries) -> None:
    failed = await one(queries, 9)
    assert (failed.reason, failed.logs_removed_at, failed.wall_s, failed.checkpoints) == (
        "no space left",
        at(99),
        0.0,
        0,
    )
    assert [(await one(queries, id_)).log_retention_days for id_ in (2, 3, 8)] == [-1, 30, None]
    assert (await one(queries, 4)).log_policy_matched == "out of memory"
    assert (await one(queries, 7)).warm_start == "some-checkpoint"


async def test_the_metadata_and_the_experiment_of_a_trial_are_found(queries: TrialQueries) -> None:
    assert (await one(queries, 3)).metadata == {"note": "ä"}
    assert [await queries.metadata(id_) for id_ in (3, 1, 99)] == [{"note": "ä"}, None, None]
    assert [await queries.experiment_of(id_) for id_ in (3, 7, 99)] == [1, 2, None]


@pytest.mark.parametrize(
    ("by", "ascending", "descending"),
    [
        (SortTrialsBy.ID, [1, 2, 3, 4, 5, 6, 9], [9, 6, 5, 4, 3, 2, 1]),
        (SortTrialsBy.START_TIME, [1, 2, 3, 4, 5, 6, 9], [9, 6, 5, 4, 3, 2, 1]),
        (SortTrialsBy.END_TIME, [9, 1, 2, 3, 4, 5, 6], [1, 9, 6, 5, 4, 3, 2]),
        (SortTrialsBy.BEST_VALIDATION_METRIC, [1, 2, 3, 4, 5, 6, 9], [2, 1, 9, 6, 5, 4, 3]),
        (SortTrialsBy.LATEST_VALIDATION_METRIC, [1, 2, 3, 4, 5, 6, 9], [2, 1, 9, 6, 5, 4, 3]),
        (SortTrialsBy.BATCHES_PROCESSED, [5, 1, 3, 2, 4, 6, 9], [3, 1, 5, 9, 6, 4, 2]),
        (SortTrialsBy.DURATION, [9, 1, 2, 3, 4, 5, 6], [1, 9, 6, 5, 4, 3, 2]),
        (SortTrialsBy.RESTARTS, [2, 3, 4, 5, 6, 9, 1], [1, 9, 6, 5, 4, 3, 2]),
        (SortTrialsBy.CHECKPOINT_SIZE, [3, 4, 5, 6, 9, 2, 1], [1, 2, 9, 6, 5, 4, 3]),
        (SortTrialsBy.LOG_RETENTION_DAYS, [2, 1, 3, 4, 5, 6, 9], [9, 6, 5, 4, 3, 1, 2]),
        (SortTrialsBy.STATE, [1, 9, 5, 6, 2, 3, 4], [4, 3, 2, 6, 5, 9, 1]),
    ],
)
async def test_trials_are_listed_in_the_order_that_is_asked_for(
    queries: TrialQueries, by: SortTrialsBy, ascending: list[int], descending: list[int]
) -> None:
    assert await ids(queries, by) == ascending
    assert await ids(queries, by, descending=True) == descending


async def test_trials_are_listed_by_their_states_in_pages(queries: TrialQueries) -> None:
    assert await ids(queries, phases={"QUEUED", "ERROR"}) == [6, 9]
    assert await ids(queries, phases={"DELETED"}) == []
    found = await queries.trials(
        UNLIMITED, 1, {"RUNNING", "QUEUED", "ERROR"}, SortTrialsBy.ID, descending=True, window=Window(1, 1)
    )
    assert ([row.id for row in found.rows], found.page.start, found.page.end, found.page.total) == ([6], 1, 2, 3)


async def test_trials_outside_of_the_scope_are_neither_listed_nor_counted(queries: TrialQueries) -> None:
    for workspace_id, experiment_id, found_ids in ((7, 1, [1, 2, 3, 4, 5, 6, 9]), (7, 2, []), (8, 2, [7])):
        found = await queries.trials(
            Scope(frozenset({workspace_id})), experiment_id, (), SortTrialsBy.ID, descending=False, window=Window()
        )
        assert ([row.id for row in found.rows], found.page.total) == (found_ids, len(found_ids))


async def test_a_trial_outside_of_the_cluster_runs_from_the_start_of_its_run_to_the_end(queries: TrialQueries) -> None:
    phases = [(await one(queries, trial_id)).phase for trial_id in (10, 11, 12, 13, 14)]
    assert phases == ["RUNNING", "RUNNING", "PAUSED", "PAUSED", "PAUSED"]
    first, second = OutsideRow(10, 5, 1, at(3)), OutsideRow(11, 5, 2, at(4))
    assert list(await queries.running_outside(0, 10)) == [first, second]
    assert list(await queries.running_outside(0, 1)) == [first]
    assert list(await queries.running_outside(10, 10)) == [second]


async def test_a_trial_from_outside_is_found_by_the_ids_of_its_creator(queries: TrialQueries) -> None:
    assert await queries.trial_outside(UNLIMITED, "mine", "r-10") == 10
    assert await queries.trial_outside(UNLIMITED, "ours", "r-14") == 14
    assert await queries.trial_outside(UNLIMITED, "ours", "r-10") is None
    assert await queries.trial_outside(UNLIMITED, "", "r-1") is None
    assert await queries.trial_outside(Scope(frozenset({7})), "mine", "r-10") == 10
    assert await queries.trial_outside(Scope(frozenset({7})), "ours", "r-14") is None
