"""What can be asked about models: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.identity.projection import USERS
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.models.memory import MemoryModels
from resolute.api.models.messages import SortModelsBy, SortVersionsBy
from resolute.api.models.projection import MODELS, VERSIONS, Model, Version
from resolute.api.models.queries import ModelQueries, PostgresModels, Wanted
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from resolute.proto.states import CheckpointState
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import experiment, user

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

DIGITS = Model(
    id=1,
    name="digits",
    description="Of people",
    notes="kept",
    labels=("vision", "small"),
    metadata={"accuracy": 0.9},
    workspace_id=1,
    owner_id=1,
    archived=False,
    created_at=AT,
    updated_at=AT + timedelta(hours=3),
    versions=2,
)
LETTERS = replace(
    DIGITS, id=2, name="Letters_", description="", labels=("vision",), workspace_id=2, owner_id=2, archived=True,
    created_at=AT + timedelta(hours=1), updated_at=AT + timedelta(hours=1), versions=0,
)  # fmt: skip
WORDS = replace(
    DIGITS, id=13, name="words%", labels=(), workspace_id=2, owner_id=9, created_at=AT + timedelta(hours=2), versions=1
)

FIRST = Version(
    model_id=1,
    version=1,
    id=1,
    checkpoint="uuid-a",
    owner_id=1,
    name="first",
    comment="good",
    notes="",
    labels=("best",),
    metadata={"by": "ann"},
    created_at=AT + timedelta(hours=5),
    updated_at=AT,
)

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "ann"), user(2, "bob")),
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(2, "vision", 2, False)),
    PROJECTS: (Project(1, 1, "Uncategorized", "", 1, True), Project(2, 2, "first", "", 2, False)),
    EXPERIMENTS: (experiment(1, 2, "COMPLETED", AT),),
    CHECKPOINTS: (
        Checkpoint(
            uuid="uuid-a",
            experiment_id=1,
            trial_id=1,
            task_id="task-1",
            allocation_id="alloc-1",
            steps_completed=10,
            run_id=1,
            size_bytes=0,
            state=CheckpointState.COMPLETED,
            storage={},
            resources={},
            metadata={},
            reported_at=AT,
        ),
    ),
    MODELS: (DIGITS, LETTERS, WORDS),
    VERSIONS: (
        FIRST,
        replace(FIRST, version=3, id=4, checkpoint="uuid-gone", owner_id=9, created_at=AT + timedelta(hours=4)),
        replace(FIRST, model_id=13, id=2),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[ModelQueries]:
    if database is None:
        yield MemoryModels(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresModels(await in_postgres(pool, ROWS))


async def ids(queries: ModelQueries, wanted: Wanted = Wanted(), **asked: Any) -> list[int]:  # noqa: B008
    scope, by = asked.pop("scope", UNLIMITED), asked.pop("by", SortModelsBy.UNSPECIFIED)
    descending = asked.pop("descending", False)
    found = await queries.models(scope, wanted, by, descending=descending, window=Window(**asked))
    return [row.id for row in found.rows]


async def test_a_model_is_found_by_its_name_and_by_its_id(queries: ModelQueries) -> None:
    digits = await queries.model("digits")
    assert digits is not None
    assert digits == await queries.model("1") == await queries.model("001")
    assert (digits.workspace, digits.owner, digits.versions) == ("Uncategorized", "ann", 2)
    assert (digits.labels, digits.metadata) == (("vision", "small"), {"accuracy": 0.9})
    words = await queries.model("words%")
    assert words is not None
    assert words.owner == "", "of an owner who is unknown"
    for absent in ("Digits", "99", "9" * 40, "", "²"):
        assert await queries.model(absent) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(archived=True), [2]),
        (Wanted(archived=False), [1, 13]),
        (Wanted(id=13), [13]),
        (Wanted(name_part="LETTERS_"), [2]),
        (Wanted(name_part="%"), [13]),
        (Wanted(description_part="PEOPLE"), [1, 13]),
        (Wanted(labels=("vision",)), [1, 2]),
        (Wanted(labels=("small", "vision")), [1]),
        (Wanted(owners=("ann", "bob")), [1, 2]),
        (Wanted(owner_ids=(9,)), [13]),
        (Wanted(workspaces=("vision",)), [2, 13]),
        (Wanted(workspace_ids=(1,)), [1]),
        (Wanted(archived=False, workspace_ids=(2,)), [13]),
    ],
)
async def test_models_are_found_by_what_is_asked_of_them(
    queries: ModelQueries, wanted: Wanted, found: list[int]
) -> None:
    assert await ids(queries, wanted) == found


@pytest.mark.parametrize(
    ("by", "found"),
    [
        (SortModelsBy.UNSPECIFIED, [1, 2, 13]),
        (SortModelsBy.NAME, [2, 1, 13]),
        (SortModelsBy.DESCRIPTION, [2, 1, 13]),
        (SortModelsBy.CREATION_TIME, [1, 2, 13]),
        (SortModelsBy.LAST_UPDATED_TIME, [2, 1, 13]),
        (SortModelsBy.NUM_VERSIONS, [2, 13, 1]),
        (SortModelsBy.WORKSPACE, [1, 2, 13]),
    ],
)
async def test_models_are_listed_in_the_order_asked_for(
    queries: ModelQueries, by: SortModelsBy, found: list[int]
) -> None:
    assert await ids(queries, by=by) == found
    assert await ids(queries, by=by, descending=True) == found[::-1]
    assert await ids(queries, by=by, offset=1, limit=1) == found[1:2]


async def test_models_outside_of_the_scope_are_neither_found_nor_counted(queries: ModelQueries) -> None:
    assert await ids(queries, scope=Scope(frozenset({2}))) == [2, 13]
    nothing = await queries.models(Scope(frozenset()), Wanted(), SortModelsBy.NAME, descending=False, window=Window())
    assert (nothing.rows, nothing.page.total) == ([], 0)


async def test_labels_come_by_how_many_models_have_them(queries: ModelQueries) -> None:
    assert await queries.labels(UNLIMITED) == ["vision", "small"]
    assert await queries.labels(UNLIMITED, 2) == ["vision"]
    assert await queries.labels(Scope(frozenset({2}))) == ["vision"]
    assert await queries.labels(Scope(frozenset({2})), 1) == []


async def test_versions_are_listed_by_number_or_by_time(queries: ModelQueries) -> None:
    async def numbers(by: SortVersionsBy, *, descending: bool = False, **part: int) -> list[int]:
        found = await queries.versions(1, by, descending=descending, window=Window(**part))
        return [row.version for row in found.rows]

    assert await numbers(SortVersionsBy.UNSPECIFIED) == [1, 3]
    assert await numbers(SortVersionsBy.VERSION, descending=True) == [3, 1]
    assert await numbers(SortVersionsBy.CREATION_TIME) == [3, 1]
    assert await numbers(SortVersionsBy.VERSION, offset=1, limit=5) == [3]
    assert (await queries.versions(2, SortVersionsBy.VERSION, descending=False, window=Window())).rows == []


async def test_a_version_says_in_which_workspace_its_checkpoint_is(queries: ModelQueries) -> None:
    first = await queries.version(1, 1)
    assert first is not None
    assert (first.checkpoint, first.checkpoint_workspace_id, first.owner) == ("uuid-a", 2, "ann")
    assert (first.name, first.comment, first.labels, first.metadata) == ("first", "good", ("best",), {"by": "ann"})
    third = await queries.version(1, 3)
    assert third is not None
    assert (third.checkpoint_workspace_id, third.owner) == (None, "")
    assert await queries.version(1, 2) is None


async def test_workspaces_are_found_by_name_with_case(queries: ModelQueries) -> None:
    assert await queries.workspaces_named(UNLIMITED, "vision") == [2]
    assert await queries.workspaces_named(UNLIMITED, "Vision") == []
    assert await queries.workspaces_named(Scope(frozenset({1})), "vision") == []
    assert await queries.has_workspace(2)
    assert not await queries.has_workspace(3)
