"""What can be asked about tasks that are no trials: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState


class Order(StrEnum):
    """What a list can be ordered by: names of columns."""

    ID = "task_id"
    NAME = "name"
    CREATED = "created_at"
    WORKSPACE = "workspace_id"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks of a list are wanted. What is empty does not narrow it."""

    kind: str
    ended_after: datetime
    """Those that ended earlier are left out."""
    owner_ids: tuple[int, ...] = ()
    owners: tuple[str, ...] = ()
    """A task is wanted for its owner's id or for its owner's name."""
    workspace_id: int = 0


@dataclass(frozen=True, slots=True)
class TaskRow:
    task_id: str
    kind: str
    name: str
    owner_id: int
    owner: str
    workspace_id: int
    pool: str
    created_at: datetime
    state: AllocationState
    exit_status: str
    """Empty while it has not ended."""
    agent_user: str = ""
    """The user of the host as whom it runs; empty where nobody chose one."""


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    id: int
    name: str
    archived: bool
    leaving: bool
    agent_user_group: Mapping[str, Any] | None
    default_compute_pool: str
    default_aux_pool: str


class InteractiveQueries(Protocol):
    """Each that looks for one thing answers None for what does not exist."""

    async def tasks(
        self, scope: Scope, wanted: Wanted, order: Order, *, descending: bool, window: Window
    ) -> Listed[TaskRow]: ...

    async def task(self, task_id: str) -> TaskRow | None: ...

    async def config(self, task_id: str) -> Mapping[str, Any] | None:
        """Its merged configuration. Secrets in it are sealed."""

    async def workspace(self, workspace_id: int) -> WorkspaceRow | None: ...


SUCCEEDED = "allocation exited successfully"


def exit_status(outcome: str, exit_code: int | None, reason: str) -> str:
    """How a task ended, in the words that clients know."""
    if not outcome or (outcome == "exited" and exit_code == 0):
        return SUCCEEDED if outcome else ""
    return reason or f"{outcome}, exit code {exit_code}"


def state_of(killed: bool, ended: bool, allocation: AllocationState | None) -> AllocationState:
    """`allocation`: None where the scheduler has not taken the request yet."""
    if ended:
        return AllocationState.TERMINATED
    if killed:
        return AllocationState.TERMINATING
    return allocation or AllocationState.QUEUED


FROM = "FROM read_interactive.tasks t"

SELECT = f"""SELECT t.task_id, t.kind, t.name, t.owner_id, t.owner, t.workspace_id, t.pool, t.created_at, t.killed,
    t.ended_at IS NOT NULL AS ended, t.outcome, t.exit_code, t.reason, t.agent_user, a.state
{FROM} LEFT JOIN read_tasks.allocations a ON a.allocation_id = t.allocation_id"""

WORKSPACE = """SELECT id, name, archived, state <> '' AS leaving, agent_user_group,
    default_compute_pool, default_aux_pool
FROM read_workspaces.workspaces WHERE id = $1"""


class PostgresInteractive:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def tasks(
        self, scope: Scope, wanted: Wanted, order: Order, *, descending: bool, window: Window
    ) -> Listed[TaskRow]:
        where = Where(scope, "t.workspace_id")
        where.add("t.kind = ?", wanted.kind)
        where.add("(t.ended_at IS NULL OR t.ended_at > ?)", wanted.ended_after)
        if wanted.workspace_id:
            where.add("t.workspace_id = ?", wanted.workspace_id)
        if wanted.owner_ids or wanted.owners:
            where.args.extend((list(wanted.owner_ids), list(wanted.owners)))
            count = len(where.args)
            where.plain(f"(t.owner_id = ANY(${count - 1}::int[]) OR t.owner = ANY(${count}::text[]))")
        by = ordering(f"t.{order}", "t.task_id", descending=descending, never_null=(f"t.{order}",))
        found = await listed_in(self._tables, SELECT, f"SELECT count(*) {FROM}", where, by, window)
        return Listed([_task(row) for row in found.rows], found.page)

    async def task(self, task_id: str) -> TaskRow | None:
        row = await self._tables.row(f"{SELECT} WHERE t.task_id = $1", task_id)
        return None if row is None else _task(row)

    async def config(self, task_id: str) -> Mapping[str, Any] | None:
        text = await self._tables.value(f"SELECT t.config {FROM} WHERE t.task_id = $1", task_id)
        return None if text is None else orjson.loads(text)

    async def workspace(self, workspace_id: int) -> WorkspaceRow | None:
        row = await self._tables.row(WORKSPACE, workspace_id)
        if row is None:
            return None
        group = row["agent_user_group"]
        return WorkspaceRow(**{**row, "agent_user_group": orjson.loads(group) if group else None})


def _task(row: asyncpg.Record) -> TaskRow:
    allocation = None if row["state"] is None else AllocationState(row["state"])
    return TaskRow(
        task_id=row["task_id"],
        kind=row["kind"],
        name=row["name"],
        owner_id=row["owner_id"],
        owner=row["owner"],
        workspace_id=row["workspace_id"],
        pool=row["pool"],
        created_at=row["created_at"],
        state=state_of(row["killed"], row["ended"], allocation),
        exit_status=exit_status(row["outcome"], row["exit_code"], row["reason"]),
        agent_user=row["agent_user"],
    )


QUERIES: Port[InteractiveQueries] = Port(PostgresInteractive)
