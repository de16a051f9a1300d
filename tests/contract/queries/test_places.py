"""Whose things are, and all ids that requests can name: Postgres and the twins in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.interactive.projection import TASKS as INTERACTIVE
from resolute.api.interactive.projection import Task
from resolute.api.kernel.idents import IdentQueries, MemoryIdents, PostgresIdents
from resolute.api.kernel.rows import Place, Table
from resolute.api.kernel.whereabouts import MemoryPlaces, PlaceQueries, PostgresPlaces
from resolute.api.models.projection import MODELS
from resolute.api.slices import PROJECTIONS
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.templates.projection import TEMPLATES, Template
from resolute.api.trials.tables import TRIALS
from resolute.api.webhooks.projection import WEBHOOKS, Webhook
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from tests.contract.queries import test_models
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_tasks import allocation, notebook, trial
from tests.contract.queries.test_workspaces import AT, experiment

COMMAND = Task("c", "COMMAND", "c.1", "hello", 5, "ann", 2, "default", {}, None, AT)
(MODEL, *_) = test_models.ROWS[MODELS]
(CHECKPOINT,) = test_models.ROWS[CHECKPOINTS]

ROWS: Mapping[Table[Any], Sequence[Any]] = {table: () for one in PROJECTIONS for table in one.tables} | {
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(2, "vision", 7, False)),
    PROJECTS: (Project(1, 1, "Uncategorized", "", 1, True), Project(12, 2, "first", "", 8, False)),
    EXPERIMENTS: (
        replace(experiment(1, 12, "ACTIVE", AT), owner_id=3),
        replace(experiment(10, 99, "ACTIVE", AT), job_id="job-10"),
    ),
    TRIALS: (trial(2, 1, "2.b"), trial(10, 10, "10.c")),
    ALLOCATIONS: (allocation("2.b.1", "2.b", 1), notebook("n.1", "n", 1)),
    INTERACTIVE: (
        COMMAND,
        replace(COMMAND, task_id="o", kind="NOTEBOOK", allocation_id="o.1"),
        replace(COMMAND, task_id="s", kind="SHELL", allocation_id="s.1"),
    ),
    CHECKPOINTS: (CHECKPOINT,),
    WEBHOOKS: (
        Webhook(6, "ours", "", "DEFAULT", "WORKSPACE", {}, owner_id=4, workspace_id=2),
        Webhook(7, "everybody's", "", "DEFAULT", "WORKSPACE", {}, owner_id=4, workspace_id=None),
    ),
    TEMPLATES: (Template(5, "small", 2, 4, {}),),
    MODELS: (replace(MODEL, id=31, name="digits", owner_id=4, workspace_id=2),),
}
THINGS = {kind: thing for one in PROJECTIONS for kind, thing in one.things.items()}


@dataclass
class Asked:
    places: PlaceQueries
    idents: IdentQueries


@pytest.fixture
async def asked(database: str | None) -> AsyncIterator[Asked]:
    if database is None:
        rows = in_memory(ROWS)
        yield Asked(MemoryPlaces(rows, THINGS), MemoryIdents(rows, PROJECTIONS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        read = await in_postgres(pool, ROWS)
        yield Asked(PostgresPlaces(read, read.things), PostgresIdents(read, PROJECTIONS))


PLACES: Mapping[tuple[str, int | str], Place] = {
    ("workspace", 2): Place(7, 2),
    ("project", 12): Place(8, 2),
    ("experiment", 1): Place(3, 2),
    ("experiment", 10): Place(1, None),
    ("job", "job-10"): Place(1, None),
    ("command", "c"): Place(5, 2),
    ("notebook", "o"): Place(5, 2),
    ("shell", "s"): Place(5, 2),
    ("task", "c"): Place(5, 2),
    ("job", "c"): Place(5, 2),
    ("trial", 2): Place(3, 2),
    ("task", "2.b"): Place(3, 2),
    ("allocation", "2.b.1"): Place(3, 2),
    ("checkpoint", "uuid-a"): Place(3, 2),
    ("readable checkpoint", "uuid-a"): Place(3, 2),
    ("model", "digits"): Place(4, 2),
    ("template", "small"): Place(4, 2),
    ("webhook", 6): Place(7, 2),
    ("webhook", 7): Place(0, None),
    ("model", "31"): Place(4, 2),
    ("model", "0031"): Place(4, 2),
}


async def test_a_thing_has_an_owner_and_a_workspace(asked: Asked) -> None:
    assert {key: await asked.places.place(*key) for key in PLACES} == PLACES


async def test_what_does_not_exist_or_is_of_no_experiment_has_no_place(asked: Asked) -> None:
    for kind, thing in THINGS.items():
        assert await asked.places.place(kind, 404 if thing.numbered else "404") is None, kind
    assert await asked.places.place("allocation", "n.1") is None, "a notebook is of no experiment"


def test_every_kind_of_thing_has_a_twin_and_is_asked_about_here() -> None:
    assert [kind for kind, thing in THINGS.items() if thing.twin is None] == []


async def test_ids_come_once_each_and_in_order(asked: Asked) -> None:
    found = await asked.idents.idents()
    assert found["experimentId"] == ["1", "10"]
    assert found["runId"] == found["trialId"] == ["2", "10"]
    assert found["taskId"] == ["2.b", "n"]
    assert (found["workspaceId"], found["projectId"]) == (["1", "2"], ["1", "12"])
    assert (found["modelName"], found["checkpointUuid"]) == (["digits"], ["uuid-a"])
    assert (found["templateName"], found["commandId"]) == (["small"], ["c", "o", "s"])
    assert found["agentId"] == []
