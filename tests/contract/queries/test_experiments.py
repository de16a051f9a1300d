"""What can be asked about experiments: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.memory import MemoryExperiments
from resolute.api.experiments.messages import SortExperimentsBy
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment, ExperimentConfig
from resolute.api.experiments.queries import ExperimentQueries, IdRange, Outline, PostgresExperiments, Wanted
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.trials.tables import STANDINGS, TRIALS, VALIDATIONS, Standing, Trial, Validation
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def experiment(id_: int, name: str = "digits", **columns: Any) -> Experiment:
    plain: dict[str, Any] = {
        "job_id": f"job-{id_}",
        "description": "",
        "labels": (),
        "owner_id": 1,
        "owner": "ann",
        "project_id": 1,
        "searcher_type": "single",
        "searcher_metric": "loss",
        "smaller_is_better": True,
        "resource_pool": "main",
        "state": "ACTIVE",
        "started_at": AT + timedelta(hours=id_),
        "parent_id": None,
        "unmanaged": False,
        "external_id": None,
        "model_definition": None,
        "log_retention_days": None,
    }
    return Experiment(id=id_, name=name, **{**plain, **columns})


def trial(id_: int, experiment_id: int) -> Trial:
    return Trial(id_, experiment_id, f"r-{id_}", f"t-{id_}", {}, 0, None, "ACTIVE", AT)


def checkpoint(uuid: str, experiment_id: int, state: str, size_bytes: int) -> Checkpoint:
    return Checkpoint(uuid, experiment_id, 1, "t-1", "a-1", 1, 10, state, {}, {}, size_bytes, {}, AT)


def allocation(number: int, experiment_id: int, state: str, ended_at: datetime | None = None) -> Allocation:
    return Allocation(
        allocation_id=f"a-{number}",
        pool="main",
        task_id=f"t-{number}",
        task_type="TRIAL",
        job_id="job",
        live_job_id="job",
        name="",
        owner="ann",
        slots=1,
        priority=42,
        weight=1.0,
        max_slots=None,
        experiment_id=experiment_id,
        trial_id=None,
        state=state,
        requested_at=AT,
        ended_at=ended_at,
    )


def user(id_: int, username: str, display_name: str = "") -> User:
    return User(id_, username, False, True, display_name, False, AT)


CONFIG = {"searcher": {"name": "single", "metric": "loss", "max_trials": 4}, "hyperparameters": {"lr": {"val": 0.1}}}

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "anna", "Ann A."), user(2, "bob")),
    WORKSPACES: (
        Workspace(1, "Uncategorized", 1, immutable=True),
        Workspace(2, "vision", 2, immutable=False, archived=True),
    ),
    PROJECTS: (Project(1, 1, "first", "", 2, immutable=True), Project(2, 2, "second", "", 1, immutable=False)),
    EXPERIMENTS: (
        experiment(1, "digits", labels=("a", "b"), description="Of People", model_definition="sha", external_id="x-1"),
        experiment(2, "a_b%c", labels=("b",), state="PAUSED", owner_id=2, owner="bob", project_id=2, reason="paused"),
        experiment(3, r"back\slash", state="COMPLETED", ended_at=AT + timedelta(days=1), archived=True, parent_id=1),
        experiment(
            4, "Digital", labels=("c", "b", "a"), resource_pool="fast", owner_id=9, owner="gone", unmanaged=True
        ),
        experiment(5, "lost", project_id=77, search_progress=0.25, smaller_is_better=False),
    ),
    CONFIGS: tuple(ExperimentConfig(n, CONFIG if n == 1 else {}, f"number: {n}") for n in range(1, 6)),
    TRIALS: (trial(2, 1), trial(1, 1), trial(3, 3)),
    STANDINGS: (
        Standing(1, 2, True, 2, 0.5),
        Standing(2, 0, True, None, None),
        Standing(3, 1, True, 3, 0.1),
        Standing(4, 0, True, None, None),
        Standing(5, 0, False, None, None),
    ),
    VALIDATIONS: (
        Validation(1, 20, 1, 1, 0.7, AT + timedelta(minutes=2)),
        Validation(2, 10, 1, 1, 0.5, AT + timedelta(minutes=1)),
        Validation(1, 10, 1, 1, 0.9, AT + timedelta(minutes=1)),
        Validation(1, 30, 1, 1, None, AT + timedelta(minutes=3)),
        Validation(3, 10, 1, 3, 0.1, AT),
    ),
    CHECKPOINTS: (
        checkpoint("c-1", 1, "COMPLETED", 2**40),
        checkpoint("c-2", 1, "PARTIALLY_DELETED", 1),
        checkpoint("c-3", 1, "DELETED", 5),
        checkpoint("c-4", 3, "COMPLETED", 7),
    ),
    ALLOCATIONS: (
        allocation(1, 1, "ASSIGNED"),
        allocation(2, 1, "RUNNING", ended_at=AT),
        allocation(3, 1, "QUEUED"),
        allocation(4, 5, "TERMINATING"),
        allocation(5, 2, "RUNNING"),
    ),
}

PROGRESS = {1: 0.5, 2: 0.75}

BLOBS = {"sha": 3}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[ExperimentQueries]:
    if database is None:
        yield MemoryExperiments(in_memory(ROWS), PROGRESS, BLOBS)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        tables = await in_postgres(pool, ROWS)
        notes = "INSERT INTO measures.trial_notes (trial_id, progress) VALUES ($1, $2)"
        await pool.executemany(notes, list(PROGRESS.items()))
        await pool.execute("INSERT INTO api.blobs (sha256, size_bytes, content) VALUES ('sha', 3, 'abc')")
        yield PostgresExperiments(tables)


async def numbers(
    queries: ExperimentQueries,
    wanted: Wanted = Wanted(),  # noqa: B008
    by: SortExperimentsBy = SortExperimentsBy.ID,
    *,
    scope: Scope = UNLIMITED,
    descending: bool = False,
    window: Window = Window(),  # noqa: B008
) -> list[int]:
    found = await queries.experiments(scope, wanted, by, descending=descending, window=window)
    return [row.id for row in found.rows]


async def test_an_experiment_is_shown_with_its_place_its_owner_and_what_it_has(queries: ExperimentQueries) -> None:
    one = await queries.experiment(1)
    assert one is not None
    assert (one.name, one.description, one.labels, one.state) == ("digits", "Of People", ("a", "b"), "ACTIVE")
    assert (one.owner_id, one.owner, one.owner_display_name) == (1, "anna", "Ann A.")
    assert (one.project, one.project_owner_id, one.workspace_id, one.workspace) == ("first", 2, 1, "Uncategorized")
    assert (one.trials, one.trial_ids, one.best_trial_id, one.best_metric) == (2, (1, 2), 2, 0.5)
    assert (one.checkpoints, one.checkpoint_bytes, one.model_definition_bytes) == (2, 2**40 + 1, 3)
    assert (one.reported_progress, one.max_trials, one.external_id) == (1.25, "4", "x-1")
    assert one.hyperparameters is not None
    assert orjson.loads(one.hyperparameters) == CONFIG["hyperparameters"]
    assert (orjson.loads(one.config), one.original_config) == (CONFIG, "number: 1")
    assert await queries.experiment(99) is None


async def test_what_is_not_known_of_an_experiment_is_empty(queries: ExperimentQueries) -> None:
    four, five = await queries.experiment(4), await queries.experiment(5)
    assert four is not None
    assert five is not None
    assert (four.owner, four.owner_display_name, four.unmanaged) == ("gone", "", True)
    assert (four.hyperparameters, four.max_trials, four.reported_progress, four.trial_ids) == (None, None, None, ())
    assert (four.checkpoints, four.checkpoint_bytes, four.model_definition_bytes) == (0, 0, None)
    assert (five.project, five.project_owner_id, five.workspace_id, five.workspace) == ("", 0, 0, "")
    assert (five.search_progress, five.parent_archived) == (0.25, False)


async def test_an_active_experiment_is_as_far_as_the_furthest_of_its_allocations(queries: ExperimentQueries) -> None:
    """The fourth one is unmanaged: it has no allocations, and is active while a trial of it runs."""
    found = await queries.experiments(UNLIMITED, Wanted(), SortExperimentsBy.ID, descending=False, window=Window())
    assert [row.phase for row in found.rows] == ["STARTING", "PAUSED", "COMPLETED", "RUNNING", "RUNNING"]
    assert [row.parent_archived for row in found.rows] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), [1, 2, 3, 4, 5]),
        (Wanted(archived=False), [1, 2, 4, 5]),
        (Wanted(archived=True), [3]),
        (Wanted(name_part="DIGI"), [1, 4]),
        (Wanted(name_part="_"), [2]),
        (Wanted(name_part="%"), [2]),
        (Wanted(name_part="\\"), [3]),
        (Wanted(description_part="people"), [1]),
        (Wanted(labels=("b", "a")), [1, 4]),
        (Wanted(labels=("A",)), []),
        (Wanted(owner_ids=(2, 9)), [2, 4]),
        (Wanted(owners=("anna", "gone")), [1, 3, 4, 5]),
        (Wanted(owners=("ann",)), []),
        (Wanted(project_id=2), [2]),
        (Wanted(states=("ACTIVE", "PAUSED")), [1, 2, 4, 5]),
        (Wanted(ids=(4, 2, 99)), [2, 4]),
        (Wanted(excluded_ids=(1, 5)), [2, 3, 4]),
        (Wanted(id_range=IdRange(above=1, below=5)), [2, 3, 4]),
        (Wanted(id_range=IdRange(least=2, most=4)), [2, 3, 4]),
        (Wanted(id_range=IdRange(most=0)), []),
        (Wanted(name_part="digi", labels=("c",), archived=False), [4]),
    ],
)
async def test_experiments_are_found_by_all_that_is_wanted(
    queries: ExperimentQueries, wanted: Wanted, found: list[int]
) -> None:
    assert await numbers(queries, wanted) == found
    assert list(await queries.experiment_ids(UNLIMITED, wanted)) == found


@pytest.mark.parametrize(
    ("by", "upwards", "downwards"),
    [
        (SortExperimentsBy.UNSPECIFIED, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]),
        (SortExperimentsBy.START_TIME, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]),
        (SortExperimentsBy.END_TIME, [3, 1, 2, 4, 5], [3, 5, 4, 2, 1]),
        (SortExperimentsBy.STATE, [1, 4, 5, 3, 2], [2, 3, 5, 4, 1]),
        (SortExperimentsBy.NUM_TRIALS, [2, 4, 5, 3, 1], [1, 3, 5, 4, 2]),
        (SortExperimentsBy.PROGRESS, [1, 2, 3, 4, 5], [1, 5, 4, 3, 2]),
        (SortExperimentsBy.USER, [1, 3, 5, 2, 4], [4, 2, 5, 3, 1]),
        (SortExperimentsBy.FORKED_FROM, [3, 1, 2, 4, 5], [3, 5, 4, 2, 1]),
        (SortExperimentsBy.RESOURCE_POOL, [4, 1, 2, 3, 5], [5, 3, 2, 1, 4]),
        (SortExperimentsBy.PROJECT_ID, [1, 3, 4, 2, 5], [5, 2, 4, 3, 1]),
        (SortExperimentsBy.CHECKPOINT_SIZE, [3, 1, 2, 4, 5], [1, 3, 5, 4, 2]),
        (SortExperimentsBy.CHECKPOINT_COUNT, [3, 1, 2, 4, 5], [1, 3, 5, 4, 2]),
        (SortExperimentsBy.SEARCHER_METRIC_VAL, [3, 1, 2, 4, 5], [1, 3, 5, 4, 2]),
        (SortExperimentsBy.DESCRIPTION, [2, 3, 4, 5, 1], [1, 5, 4, 3, 2]),
    ],
)
async def test_experiments_are_listed_in_the_order_that_is_asked_for(
    queries: ExperimentQueries, by: SortExperimentsBy, upwards: list[int], downwards: list[int]
) -> None:
    assert await numbers(queries, by=by) == upwards
    assert await numbers(queries, by=by, descending=True) == downwards


async def test_names_are_an_order_too(queries: ExperimentQueries) -> None:
    lower = Wanted(ids=(1, 2, 3, 5))
    assert await numbers(queries, lower, SortExperimentsBy.NAME, descending=True) == [5, 1, 3, 2]


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (Window(limit=2), [1, 2]),
        (Window(offset=3, limit=100), [4, 5]),
        (Window(offset=-2), [4, 5]),
        (Window(offset=-2, limit=1), [4]),
        (Window(offset=9, limit=2), []),
        (Window(limit=-2), []),
        (Window(offset=4, limit=-1), [5]),
    ],
)
async def test_a_page_says_what_it_is_a_page_of(queries: ExperimentQueries, window: Window, found: list[int]) -> None:
    assert await numbers(queries, window=window) == found
    by = SortExperimentsBy.ID
    for wanted, total in ((Wanted(), 5), (Wanted(archived=False), 4)):
        page = (await queries.experiments(UNLIMITED, wanted, by, descending=False, window=window)).page
        assert (page.total, page.offset, page.limit) == (total, window.offset, window.limit)


async def test_lists_hold_what_lies_within_the_scope_and_nothing_else(queries: ExperimentQueries) -> None:
    second = Scope(frozenset({2}))
    assert await numbers(queries, scope=second) == [2]
    assert list(await queries.experiment_ids(second, Wanted())) == [2]
    assert list(await queries.labels(second)) == ["b"]
    assert await queries.archived(second, (1, 2)) == {2: False}
    assert await numbers(queries, scope=Scope(frozenset())) == []


async def test_the_outline_of_an_experiment_says_whose_it_is_and_what_it_is_measured_by(
    queries: ExperimentQueries,
) -> None:
    assert await queries.outline(1) == Outline(1, "digits", 1, 1, False, False, True, "loss", 0.5)
    assert await queries.outline(5) == Outline(5, "lost", 1, None, False, False, False, "loss", None)
    assert await queries.outline(99) is None


async def test_of_experiments_that_are_named_it_is_known_which_exist_and_are_archived(
    queries: ExperimentQueries,
) -> None:
    assert await queries.archived(UNLIMITED, (3, 1, 99, 5)) == {1: False, 3: True, 5: False}
    assert await queries.archived(UNLIMITED, (1, 2), project_id=2) == {2: False}


async def test_trials_are_found_by_their_experiments(queries: ExperimentQueries) -> None:
    assert await queries.trial_ids((1, 2, 3, 99)) == {1: [1, 2], 3: [3]}


async def test_labels_come_by_how_often_they_are_used(queries: ExperimentQueries) -> None:
    assert list(await queries.labels(UNLIMITED)) == ["b", "a", "c"]
    assert list(await queries.labels(UNLIMITED, project_id=1)) == ["a", "b", "c"]
    assert list(await queries.labels(UNLIMITED, project_id=99)) == []


async def test_validations_come_in_their_order_where_they_have_a_metric(queries: ExperimentQueries) -> None:
    found = [(row.trial_id, row.metric) for row in await queries.validations(1)]
    assert found == [(1, 0.9), (2, 0.5), (1, 0.7)]
    assert list(await queries.validations(2)) == []
