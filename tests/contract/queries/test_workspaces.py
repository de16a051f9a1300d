"""What can be asked about workspaces: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import UNLIMITED, Scope
from resolute.api.trials.tables import STANDINGS, Standing
from resolute.api.workspaces.memory import MemoryWorkspaces
from resolute.api.workspaces.messages import SortProjectsBy, SortWorkspacesBy
from resolute.api.workspaces.projection import PINS, PROJECTS, WORKSPACES, Pin, Project, Workspace
from resolute.api.workspaces.queries import PostgresWorkspaces, Wanted, WorkspaceQueries
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def user(id_: int, username: str) -> User:
    return User(id_, username, admin=False, active=True, display_name="", remote=False, modified_at=AT)


def experiment(
    id_: int,
    project_id: int,
    state: str,
    started_at: datetime,
    ended_at: datetime | None = None,
    definition: str | None = None,
) -> Experiment:
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
        smaller_is_better=True,
        resource_pool="main",
        state=state,
        started_at=started_at,
        parent_id=None,
        unmanaged=False,
        external_id=None,
        model_definition=definition,
        log_retention_days=None,
        ended_at=ended_at,
    )


NOTE = {"name": "to do", "contents": "all of it"}

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "ann"), user(2, "bob")),
    WORKSPACES: (
        Workspace(1, "Uncategorized", 1, immutable=True),
        Workspace(2, "vision", 2, immutable=False, default_compute_pool="fast", agent_user_group={"agentUid": 7}),
        Workspace(
            3, "a_b%c", 2, immutable=False, archived=True, checkpoint_storage={"type": "shared_fs", "host_path": "/z"}
        ),
        Workspace(4, "Revision", 9, immutable=False),
        Workspace(5, r"back\slash", 1, immutable=False),
    ),
    PROJECTS: (
        Project(1, 1, "Uncategorized", "", 1, immutable=True),
        Project(2, 2, "digits", "of people", 2, immutable=False),
        Project(3, 2, "letters", "", 1, immutable=False, archived=True, key="LET01"),
        Project(
            4, 2, "Digital", "a thing", 9, immutable=False, state="DELETE_FAILED", error="no", notes=[NOTE], key="DIG"
        ),
        Project(5, 3, "in an archived workspace", "", 1, immutable=False),
    ),
    PINS: (Pin(3, 1, AT), Pin(2, 2, AT)),
    EXPERIMENTS: (
        experiment(1, 2, "ACTIVE", AT),
        experiment(2, 2, "PAUSED", AT.replace(hour=13)),
        experiment(3, 2, "COMPLETED", AT.replace(hour=11), AT),
        experiment(4, 4, "ACTIVE", AT.replace(hour=14)),
    ),
    STANDINGS: tuple(Standing(n, trials, True, None, None) for n, trials in ((1, 3), (2, 4), (3, 5), (4, 0))),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[WorkspaceQueries]:
    if database is None:
        yield MemoryWorkspaces(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresWorkspaces(await in_postgres(pool, ROWS))


async def names(queries: WorkspaceQueries, wanted: Wanted = Wanted(), **asked: Any) -> list[str]:  # noqa: B008
    by, descending = asked.pop("by", SortWorkspacesBy.ID), asked.pop("descending", False)
    found = await queries.workspaces(UNLIMITED, 1, wanted, by, descending=descending, window=Window(**asked))
    return [row.name for row in found.rows]


async def projects(queries: WorkspaceQueries, wanted: Wanted = Wanted(), **asked: Any) -> list[str]:  # noqa: B008
    by, descending = asked.pop("by", SortProjectsBy.ID), asked.pop("descending", False)
    found = await queries.projects(UNLIMITED, 2, wanted, by, descending=descending, window=Window(**asked))
    return [row.name for row in found.rows]


async def test_a_workspace_is_shown_with_its_owner_and_what_it_holds(queries: WorkspaceQueries) -> None:
    vision = await queries.workspace(2, 1)
    assert vision is not None
    assert (vision.owner_id, vision.owner, vision.projects, vision.experiments) == (2, "bob", 3, 4)
    assert (vision.default_compute_pool, vision.agent_user_group, vision.checkpoint_storage) == (
        "fast",
        {"agentUid": 7},
        None,
    )
    strange = await queries.workspace(4, 1)
    assert strange is not None
    assert (strange.owner, strange.projects, strange.experiments) == ("", 0, 0)
    stored = await queries.workspace(3, 1)
    assert stored is not None
    assert (stored.archived, stored.checkpoint_storage) == (True, {"type": "shared_fs", "host_path": "/z"})
    assert await queries.workspace(99, 1) is None


async def test_a_pin_is_shown_to_the_user_who_set_it(queries: WorkspaceQueries) -> None:
    pinned = {user: await queries.workspace(3, user) for user in (1, 2)}
    assert {user: row and row.pinned_at for user, row in pinned.items()} == {1: AT, 2: None}


async def test_a_project_is_shown_with_its_notes_its_key_and_why_it_could_not_be_deleted(
    queries: WorkspaceQueries,
) -> None:
    failed = await queries.project(4)
    assert failed is not None
    assert (failed.state, failed.error, list(failed.notes), failed.key) == ("DELETE_FAILED", "no", [NOTE], "DIG")
    assert [await queries.project_with_key(key) for key in ("DIG", "LET01", "dig")] == [4, 3, None]


async def test_a_project_reads_archived_when_its_workspace_is(queries: WorkspaceQueries) -> None:
    shown = [await queries.project(number) for number in (2, 3, 5)]
    assert [row is not None and row.archived for row in shown] == [False, True, True]


async def test_a_project_is_shown_with_what_runs_in_it(queries: WorkspaceQueries) -> None:
    digits = await queries.project(2)
    assert digits is not None
    assert (digits.workspace, digits.owner, digits.description) == ("vision", "bob", "of people")
    assert (digits.experiments, digits.active, digits.runs) == (3, 1, 12)
    assert digits.last_started_at == AT.replace(hour=13)
    empty = await queries.project(3)
    assert empty is not None
    assert (empty.experiments, empty.active, empty.runs, empty.last_started_at) == (0, 0, 0, None)
    assert await queries.project(99) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), ["Uncategorized", "vision", "a_b%c", "Revision", r"back\slash"]),
        (Wanted(like="VISION"), ["vision"]),
        (Wanted(like="%vision"), ["vision", "Revision"]),
        (Wanted(like="A_B_C"), ["a_b%c"]),
        (Wanted(like="visio"), []),
        (Wanted(like="back\\%"), [r"back\slash"]),
        (Wanted(like="\\"), []),
        (Wanted(pinned=True), ["a_b%c"]),
        (Wanted(pinned=False, owners=("bob",)), ["vision"]),
        (Wanted(name="vision"), ["vision"]),
        (Wanted(name="Vision"), []),
        (Wanted(archived=True), ["a_b%c"]),
        (Wanted(archived=False, owners=("bob", "nobody")), ["vision"]),
        (Wanted(owner_ids=(9, 2)), ["vision", "a_b%c", "Revision"]),
        (Wanted(owners=("bob",), owner_ids=(1,)), []),
    ],
)
async def test_workspaces_are_found_by_all_that_is_wanted(
    queries: WorkspaceQueries, wanted: Wanted, found: list[str]
) -> None:
    assert await names(queries, wanted) == found


async def test_workspaces_are_listed_in_the_order_that_is_asked_for(queries: WorkspaceQueries) -> None:
    assert await names(queries, descending=True) == [r"back\slash", "Revision", "a_b%c", "vision", "Uncategorized"]
    lower = Wanted(owners=("ann", "bob"), archived=False)
    by_name = [name for name in await names(queries, lower, by=SortWorkspacesBy.NAME) if name.islower()]
    assert by_name == [r"back\slash", "vision"]


async def test_projects_without_experiments_come_last_by_the_newest_experiment(queries: WorkspaceQueries) -> None:
    newest = SortProjectsBy.LAST_EXPERIMENT_START_TIME
    assert await projects(queries, by=newest) == ["digits", "Digital", "letters"]
    assert await projects(queries, by=newest, descending=True) == ["Digital", "digits", "letters"]
    assert await projects(queries, by=SortProjectsBy.DESCRIPTION) == ["letters", "Digital", "digits"]
    assert await projects(queries, by=SortProjectsBy.CREATION_TIME, descending=True) == ["Digital", "letters", "digits"]
    assert await projects(queries, Wanted(like="DIGI%")) == ["digits", "Digital"]


async def test_lists_hold_what_lies_within_the_scope_and_count_nothing_else(queries: WorkspaceQueries) -> None:
    first = Window()
    for workspaces, shown, projects_shown in (
        (frozenset({2, 3}), ["vision", "a_b%c"], 3),
        (frozenset({3}), ["a_b%c"], 0),
    ):
        scope = Scope(workspaces)
        found = await queries.workspaces(scope, 1, Wanted(), SortWorkspacesBy.ID, descending=False, window=first)
        assert ([row.name for row in found.rows], found.page.total) == (shown, len(shown))
        inside = await queries.projects(scope, 2, Wanted(), SortProjectsBy.ID, descending=False, window=first)
        assert (len(inside.rows), inside.page.total) == (projects_shown, projects_shown)


@pytest.mark.parametrize(
    ("window", "start", "end"),
    [
        (Window(), 0, 5),
        (Window(limit=2), 0, 2),
        (Window(offset=4, limit=2), 4, 5),
        (Window(offset=-2), 3, 5),
        (Window(offset=9), 5, 5),
        (Window(limit=-2), 0, 0),
        (Window(offset=1, limit=-1), 1, 5),
    ],
)
async def test_a_page_says_what_it_is_a_page_of(
    queries: WorkspaceQueries, window: Window, start: int, end: int
) -> None:
    found = await queries.workspaces(UNLIMITED, 1, Wanted(), SortWorkspacesBy.ID, descending=False, window=window)
    assert (found.page.start, found.page.end, found.page.total) == (start, end, 5)
    assert [row.name for row in found.rows] == [one.name for one in ROWS[WORKSPACES][start:end]]
    narrower = await queries.workspaces(
        UNLIMITED, 1, replace(Wanted(), archived=True), SortWorkspacesBy.ID, descending=False, window=window
    )
    assert narrower.page.total == 1
