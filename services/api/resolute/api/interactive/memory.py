"""The twin of the queries about tasks that are no trials: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from resolute.api.interactive.projection import TASKS, Task
from resolute.api.interactive.queries import Order, TaskRow, Wanted, WorkspaceRow, exit_status, state_of
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.workspaces.projection import WORKSPACES


@dataclass(frozen=True)
class MemoryInteractive:
    tables: CachedRows

    async def tasks(
        self, scope: Scope, wanted: Wanted, order: Order, *, descending: bool, window: Window
    ) -> Listed[TaskRow]:
        rows = [row for row in self.tables.all(TASKS) if scope.covers(row.workspace_id) and _is_wanted(row, wanted)]
        rows = list(ordered(rows, attrgetter(order), attrgetter("task_id"), descending=descending))
        return cut([self._shown(row) for row in rows], window)

    async def task(self, task_id: str) -> TaskRow | None:
        row = self.tables.get(TASKS, task_id)
        return None if row is None else self._shown(row)

    async def config(self, task_id: str) -> Mapping[str, Any] | None:
        row = self.tables.get(TASKS, task_id)
        return None if row is None else row.config

    async def workspace(self, workspace_id: int) -> WorkspaceRow | None:
        row = self.tables.get(WORKSPACES, workspace_id)
        if row is None:
            return None
        return WorkspaceRow(
            row.id,
            row.name,
            row.archived,
            row.state != "",
            row.agent_user_group,
            row.default_compute_pool,
            row.default_aux_pool,
        )

    def _shown(self, row: Task) -> TaskRow:
        allocation = self.tables.get(ALLOCATIONS, row.allocation_id)
        return TaskRow(
            task_id=row.task_id,
            kind=row.kind,
            name=row.name,
            owner_id=row.owner_id,
            owner=row.owner,
            workspace_id=row.workspace_id,
            pool=row.pool,
            created_at=row.created_at,
            state=state_of(
                row.killed, row.ended_at is not None, AllocationState(allocation.state) if allocation else None
            ),
            exit_status=exit_status(row.outcome, row.exit_code, row.reason),
            agent_user=row.agent_user,
        )


def _is_wanted(row: Task, wanted: Wanted) -> bool:
    of_owner = not (wanted.owner_ids or wanted.owners) or row.owner_id in wanted.owner_ids or row.owner in wanted.owners
    recent = row.ended_at is None or row.ended_at > wanted.ended_after
    return row.kind == wanted.kind and of_owner and recent and wanted.workspace_id in (0, row.workspace_id)
