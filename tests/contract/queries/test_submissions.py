"""What is looked up before a command about an experiment is sent: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import orjson
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment, ExperimentConfig
from resolute.api.experiments.submission_memory import MemorySubmissions
from resolute.api.experiments.submission_queries import PostgresSubmissions, StateRow, SubmissionQueries
from resolute.api.kernel.rows import Table
from resolute.api.pools.projection import AGENTS, SLOTS, Agent, Slot
from resolute.api.trials.tables import TRIALS, Trial
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

STORAGE = {"type": "shared_fs", "host_path": "/z"}
USER = {"agentUid": 7, "agentGid": 8, "agentUser": "u", "agentGroup": "g"}


def experiment(id_: int, state: str, model_definition: str | None = None) -> Experiment:
    return Experiment(
        id=id_,
        job_id="job",
        name="digits",
        description="",
        labels=(),
        owner_id=2,
        owner="bob",
        project_id=3,
        searcher_type="single",
        searcher_metric="loss",
        smaller_is_better=True,
        resource_pool="main",
        state=state,
        started_at=AT,
        parent_id=None,
        unmanaged=model_definition is None,
        external_id=None,
        model_definition=model_definition,
        log_retention_days=None,
    )


def checkpoint(uuid: str, trial_id: int, steps: int, state: str = "COMPLETED", minutes: int = 0) -> Checkpoint:
    return Checkpoint(
        uuid=uuid,
        experiment_id=1,
        trial_id=trial_id,
        task_id="task",
        allocation_id="allocation",
        run_id=1,
        steps_completed=steps,
        state=state,
        storage=STORAGE,
        resources={},
        size_bytes=0,
        metadata={},
        reported_at=AT + timedelta(minutes=minutes),
    )


def trial(id_: int) -> Trial:
    return Trial(
        id=id_,
        experiment_id=1,
        request_id=str(id_),
        task_id=f"task-{id_}",
        hparams={},
        seed=0,
        warm_start=None,
        state="ACTIVE",
        started_at=AT,
    )


def agent(name: str, pool: str, *, alive: bool = True) -> Agent:
    return Agent(name, pool, "host", "1", enabled=True, draining=False, alive=alive, joined_at=AT)


def slot(agent_id: str, pool: str, slot_id: int) -> Slot:
    return Slot(agent_id, pool, slot_id, "cpu", "", "", enabled=True, draining=False)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    WORKSPACES: (
        Workspace(1, "Uncategorized", 1, immutable=True),
        Workspace(
            2, "vision", 2, False, agent_user_group=USER, checkpoint_storage=STORAGE, default_compute_pool="fast"
        ),
        Workspace(3, "past", 2, False, archived=True, default_aux_pool="slow"),
    ),
    PROJECTS: (
        Project(1, 1, "Uncategorized", "", 1, immutable=True),
        Project(3, 2, "digits", "", 2, immutable=False),
        Project(4, 2, "letters", "", 2, immutable=False, archived=True),
        Project(5, 3, "digits", "", 2, immutable=False),
    ),
    EXPERIMENTS: (experiment(1, "ACTIVE", "abc"), experiment(2, "PAUSED")),
    CONFIGS: (
        ExperimentConfig(1, {"resources": {"slots_per_trial": 2}, "name": "digits"}, "name: digits"),
        ExperimentConfig(2, {}, ""),
    ),
    TRIALS: (trial(1), trial(2)),
    CHECKPOINTS: (
        checkpoint("early", 1, 10, minutes=9),
        checkpoint("older", 1, 20),
        checkpoint("newest-b", 1, 20, minutes=5),
        checkpoint("newest-a", 1, 20, minutes=5),
        checkpoint("deleted", 1, 30, "DELETED"),
        checkpoint("partial", 2, 10, "PARTIALLY_DELETED"),
    ),
    AGENTS: (agent("a", "main"), agent("a", "other"), agent("b", "main"), agent("c", "main", alive=False)),
    SLOTS: (
        slot("a", "main", 0),
        slot("a", "main", 1),
        slot("a", "other", 0),
        slot("b", "main", 0),
        slot("c", "main", 0),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[SubmissionQueries]:
    if database is None:
        yield MemorySubmissions(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresSubmissions(await in_postgres(pool, ROWS))


async def test_a_project_comes_with_what_its_workspace_says(queries: SubmissionQueries) -> None:
    digits = await queries.project(3)
    assert digits is not None
    assert (digits.name, digits.workspace_id, digits.workspace, digits.archived) == ("digits", 2, "vision", False)
    assert (digits.agent_user_group, digits.checkpoint_storage) == (USER, STORAGE)
    assert (digits.default_compute_pool, digits.default_aux_pool) == ("fast", "")
    plain = await queries.project(1)
    assert plain is not None
    assert (plain.agent_user_group, plain.checkpoint_storage) == (None, None)
    assert await queries.project(99) is None


async def test_a_project_is_archived_with_its_workspace(queries: SubmissionQueries) -> None:
    found = [await queries.project(one) for one in (3, 4, 5)]
    assert [row.archived for row in found if row is not None] == [False, True, True]


async def test_a_project_is_found_by_its_name_within_its_workspace(queries: SubmissionQueries) -> None:
    found = [await queries.project_named(workspace, "digits") for workspace in ("vision", "past", "Uncategorized")]
    assert [row and row.id for row in found] == [3, 5, None]
    assert await queries.project_named("Vision", "digits") is None


async def test_an_experiment_is_found_as_it_was_submitted(queries: SubmissionQueries) -> None:
    found = await queries.submitted(1)
    assert found is not None
    assert (found.id, found.owner_id, found.project_id) == (1, 2, 3)
    assert (found.unmanaged, found.model_definition) == (False, "abc")
    assert orjson.loads(found.config) == {"resources": {"slots_per_trial": 2}, "name": "digits"}
    assert "digits" not in repr(found), "a configuration may hold secrets, and a traceback may show this"
    assert await queries.submitted(99) is None


async def test_the_state_of_an_experiment_costs_no_configuration(queries: SubmissionQueries) -> None:
    assert await queries.state(1) == StateRow("ACTIVE", "main")
    assert await queries.state(2) == StateRow("PAUSED", "main")
    assert await queries.state(99) is None


async def test_slots_count_where_their_agent_is_connected(queries: SubmissionQueries) -> None:
    assert [await queries.slots(pool) for pool in ("main", "other", "none")] == [3, 1, 0]


async def test_a_checkpoint_says_its_state_and_where_it_lies(queries: SubmissionQueries) -> None:
    found = await queries.checkpoint("deleted")
    assert found is not None
    assert (found.state, found.storage) == ("DELETED", STORAGE)
    assert await queries.checkpoint("none") is None


async def test_the_latest_checkpoint_has_the_most_steps_then_the_latest_report(queries: SubmissionQueries) -> None:
    assert [await queries.latest_checkpoint(one) for one in (1, 2, 99)] == ["newest-a", None, None]
    assert [await queries.has_trial(one) for one in (1, 2, 99)] == [True, True, False]
