"""The queries about tasks that are no trials, by Postgres and by their twin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.interactive.memory import MemoryInteractive
from resolute.api.interactive.projection import TASKS, Task
from resolute.api.interactive.queries import InteractiveQueries, Order, PostgresInteractive, Wanted
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import EVERYWHERE, Scope
from resolute.api.shown_states import AllocationState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS
from resolute.api.workspaces.projection import WORKSPACES, Workspace
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_tasks import allocation

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

WAITS = Task("a", "COMMAND", "a.1", "waits", 2, "ann", 1, "default", {"entrypoint": ["true"]}, None, AT)
RUNS = replace(WAITS, task_id="b", allocation_id="b.1", name="runs", owner_id=3, owner="bob", created_at=AT + HOUR)
KILLED = replace(WAITS, task_id="c", allocation_id="c.1", name="killed", workspace_id=2, killed=True)
ENDED = replace(
    WAITS,
    task_id="d",
    allocation_id="d.1",
    name="ended",
    ended_at=AT + HOUR,
    outcome="exited",
    exit_code=3,
    reason="bad",
    agent_user="alice",
)
OLD = replace(ENDED, task_id="e", allocation_id="e.1", ended_at=AT - HOUR, exit_code=0)
SHELL = replace(WAITS, task_id="f", allocation_id="f.1", kind="SHELL")

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    TASKS: (WAITS, RUNS, KILLED, ENDED, OLD, SHELL),
    ALLOCATIONS: (
        replace(allocation("b.1", "b", 1), experiment_id=None, trial_id=None, state=AllocationState.RUNNING),
        replace(allocation("c.1", "c", 1), experiment_id=None, trial_id=None, state=AllocationState.RUNNING),
    ),
    PLACEMENTS: (),
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(2, "vision", 7, False)),
}

ALL = Window(0, 0)
ALL_WORKSPACES = Scope(EVERYWHERE)


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[InteractiveQueries]:
    if database is None:
        yield MemoryInteractive(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresInteractive(await in_postgres(pool, ROWS))


async def ids(queries: InteractiveQueries, scope: Scope = ALL_WORKSPACES, **wanted: Any) -> list[str]:
    found = await queries.tasks(scope, Wanted("COMMAND", AT, **wanted), Order.ID, descending=False, window=ALL)
    return [row.task_id for row in found.rows]


async def test_a_list_is_of_one_kind_and_leaves_out_what_ended_long_ago(queries: InteractiveQueries) -> None:
    assert await ids(queries) == ["a", "b", "c", "d"]


async def test_a_list_is_narrowed_to_the_scope_to_owners_and_to_a_workspace(queries: InteractiveQueries) -> None:
    assert await ids(queries, Scope(frozenset({2}))) == ["c"]
    assert await ids(queries, workspace_id=2) == ["c"]
    assert await ids(queries, owner_ids=(3,)) == ["b"]
    assert await ids(queries, owners=("bob",)) == ["b"]
    assert await ids(queries, owner_ids=(3,), owners=("ann",)) == ["a", "b", "c", "d"]


async def test_a_list_is_ordered_and_cut(queries: InteractiveQueries) -> None:
    wanted = Wanted("COMMAND", AT)
    found = await queries.tasks(ALL_WORKSPACES, wanted, Order.CREATED, descending=True, window=Window(0, 2))
    assert [row.task_id for row in found.rows] == ["b", "d"]
    assert found.page.total == 4


async def test_the_state_of_a_task_is_that_of_its_allocation_until_it_is_killed_or_ends(
    queries: InteractiveQueries,
) -> None:
    found = [row for task_id in "abcd" if (row := await queries.task(task_id)) is not None]
    states = [AllocationState.QUEUED, AllocationState.RUNNING, AllocationState.TERMINATING, AllocationState.TERMINATED]
    assert [row.state for row in found] == states
    assert [row.exit_status for row in found] == ["", "", "", "bad"]
    old = await queries.task("e")
    assert old is not None
    assert old.exit_status == "allocation exited successfully"


async def test_what_does_not_exist_is_none(queries: InteractiveQueries) -> None:
    assert await queries.config("a") == {"entrypoint": ["true"]}
    assert (await queries.task("x"), await queries.config("x"), await queries.workspace(9)) == (None, None, None)
    workspace = await queries.workspace(2)
    assert workspace is not None
    assert (workspace.name, workspace.archived, workspace.leaving) == ("vision", False, False)
