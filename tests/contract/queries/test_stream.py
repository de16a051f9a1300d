"""What live updates read: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import orjson
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS as CHECKPOINT_ROWS
from resolute.api.experiments.projection import EXPERIMENTS as EXPERIMENT_ROWS
from resolute.api.interactive.projection import TASKS as OTHER_TASKS
from resolute.api.interactive.projection import Task
from resolute.api.kernel.rows import Table
from resolute.api.pools.projection import AGENTS as AGENT_ROWS
from resolute.api.pools.projection import SLOTS, Agent, Slot
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.stream.kinds import KINDS
from resolute.api.stream.memory import MemoryStream
from resolute.api.stream.queries import PostgresStream, StreamQueries
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.tables import TRIALS as TRIAL_ROWS
from tests.contract.queries import test_models
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.rows_of_jobs import AT
from tests.contract.queries.rows_of_trials import allocation, trial
from tests.contract.queries.test_workspaces import experiment

CHECKPOINT = test_models.ROWS[CHECKPOINT_ROWS][0]

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    **test_models.ROWS,
    EXPERIMENT_ROWS: (
        experiment(1, 2, "COMPLETED", AT),
        experiment(2, 1, "ACTIVE", AT),
        experiment(3, 9, "ACTIVE", AT),
    ),
    TRIAL_ROWS: (trial(1, 1, best_metric=0.5, best_steps=10), trial(2, 2, metadata={"a": 1}), trial(3, 9)),
    CHECKPOINT_ROWS: (CHECKPOINT, replace(CHECKPOINT, uuid="uuid-b", experiment_id=2, trial_id=2)),
    ALLOCATIONS: (
        allocation(1, experiment_id=1),
        allocation(1, 2, experiment_id=1, requested_at=AT + timedelta(minutes=1)),
        allocation(2, experiment_id=2, pool="other"),
        allocation(7),
        allocation(8, task_type="NOTEBOOK"),
    ),
    OTHER_TASKS: (Task("t-8", "NOTEBOOK", "t-8.1", "a", 1, "ann", 2, "main", {}, None, AT, ready=True),),
    AGENT_ROWS: (
        Agent("a", "main", "h", "1", enabled=True, draining=False, alive=True, joined_at=AT),
        Agent("a", "other", "h", "1", enabled=True, draining=False, alive=False, joined_at=AT),
        Agent("b", "main", "h", "1", enabled=False, draining=True, alive=True, joined_at=AT),
    ),
    SLOTS: (
        Slot("a", "main", 0, "cuda", "", "", enabled=True, draining=False),
        Slot("a", "main", 1, "cuda", "", "", enabled=False, draining=False),
    ),
}

FIRST, SECOND = Scope(frozenset({1})), Scope(frozenset({2}))


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[StreamQueries]:
    if database is None:
        yield MemoryStream(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresStream(await in_postgres(pool, ROWS))


@pytest.mark.parametrize(
    ("kind", "everything", "in_second", "wanted", "found"),
    [
        ("projects", [1, 2], [2], {"project_ids": {2, 7}}, [2]),
        ("models", [1, 2, 13], [2, 13], {"workspace_ids": {1}, "user_ids": {2}}, [1, 2]),
        ("modelversions", [1, 2, 4], [2], {"model_ids": {1}}, [1, 4]),
        ("experiments", [1, 2, 3], [1], {"workspace_ids": {2}}, [1]),
        ("trials", [1, 2, 3], [1], {"experiment_ids": {2}, "project_ids": {2}}, [1, 2]),
        ("checkpoints", ["uuid-a", "uuid-b"], ["uuid-a"], {"trial_ids": {2}}, ["uuid-b"]),
        ("tasks", ["t-1", "t-2", "t-7", "t-8"], ["t-1", "t-8"], {"resource_pools": {"other"}}, ["t-2"]),
        ("tasks", ["t-1", "t-2", "t-7", "t-8"], ["t-1", "t-8"], {"task_types": {"NOTEBOOK"}}, ["t-8"]),
        ("agents", ["a", "b"], [], {"agent_ids": {"b", "c"}}, ["b"]),
    ],
)
async def test_a_subscription_finds_what_has_one_of_its_values_within_the_scope(
    queries: StreamQueries, kind: str, everything: list[Any], in_second: list[Any], wanted: Any, found: list[Any]
) -> None:
    assert await queries.ids(KINDS[kind], UNLIMITED, None, 10) == everything
    assert await queries.ids(KINDS[kind], UNLIMITED, None, 1) == everything[:1]
    assert await queries.ids(KINDS[kind], SECOND, None, 10) == in_second
    assert await queries.ids(KINDS[kind], UNLIMITED, wanted, 10) == found
    assert await queries.ids(KINDS[kind], UNLIMITED, {}, 10) == []


@pytest.mark.parametrize(
    ("kind", "by", "values", "found"),
    [
        ("projects", "id", [2, 9], [2]),
        ("modelversions", "numbers", ["1.3", "13.1", "1.2"], [2, 4]),
        ("trials", "project_ids", [1, 2], [1, 2]),
        ("checkpoints", "projects", [2], ["uuid-a"]),
        ("tasks", "projects", [1], ["t-2"]),
        ("tasks", "allocations", ["t-1.1", "t-1.2", "t-2.1"], ["t-1", "t-2"]),
        ("tasks", "id", ["t-7", "'; --"], ["t-7"]),
        ("agents", "id", [], []),
    ],
)
async def test_what_changed_is_looked_up_wherever_it_lies(
    queries: StreamQueries, kind: str, by: str, values: list[Any], found: list[Any]
) -> None:
    assert [row.id for row in await queries.rows(KINDS[kind], by, values)] == found


SHOWN: Mapping[str, Mapping[str, Any]] = {
    "projects": {"created_at": None, "state": "UNSPECIFIED", "notes": [], "user_id": 1, "workspace_id": 1},
    "models": {
        "labels": ["vision", "small"],
        "metadata": {"accuracy": 0.9},
        "last_updated_time": "2026-01-31T15:00:00Z",
    },
    "modelversions": {"version": 1, "checkpoint_uuid": "uuid-a", "workspace_id": "1", "labels": ["best"]},
    "experiments": {"username": "ann", "workspace_id": 2, "state": "COMPLETED", "end_time": None},
    "trials": {"best_metric": 0.5, "hparams": {"lr": 1}, "workspace_id": 2, "metadata": None},
    "checkpoints": {"size_bytes": 0, "state": "COMPLETED", "metadata": {}, "workspace_id": 2},
    "tasks": {"allocation_id": "t-1.2", "state": "QUEUED", "workspace_id": 2, "trial_id": None},
    "agents": {"slots": 2, "slots_enabled": 1, "workspace_id": None, "enabled": True},
}

COLUMNS = 8
"""At least so many values are sent of each object."""


@pytest.mark.parametrize("kind", SHOWN)
async def test_an_object_is_sent_as_the_tables_show_it(queries: StreamQueries, kind: str) -> None:
    first = (await queries.ids(KINDS[kind], UNLIMITED, None, 1))[0]
    (row,) = await queries.rows(KINDS[kind], "id", [first])
    message = orjson.loads(row.message(77))
    (shown,) = message.values()
    assert list(message) == [KINDS[kind].one]
    assert shown.items() >= {"id": first, "seq": 77, **SHOWN[kind]}.items()
    assert not any(name.startswith("_") for name in shown)
    assert set(shown) == {name for name in _columns(kind) if not name.startswith("_")} | {"seq"}
    assert len(shown) > COLUMNS


def _columns(kind: str) -> set[str]:
    """The columns that the twin has: both must show the same."""
    twin = MemoryStream(in_memory(ROWS))
    return set(twin._all(KINDS[kind])[0].columns)
