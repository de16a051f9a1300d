"""Workspaces and projects as the wire shows them, and what the handlers about both need."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from resolute.api.call import Call
from resolute.api.workspaces.messages import Note, Project, WorkspaceState
from resolute.api.workspaces.queries import QUERIES, ProjectRow, WorkspaceQueries
from resolute.proto.states import DeletionState

Row = TypeVar("Row")

STATES: Mapping[str, WorkspaceState] = {
    "": WorkspaceState.UNSPECIFIED,
    DeletionState.DELETING: WorkspaceState.DELETING,
    DeletionState.DELETE_FAILED: WorkspaceState.DELETE_FAILED,
}

EMPTY_GOES_S = 10.0
"""How long a request waits for the end of something that is empty. The deletion goes on however long it takes."""

LOOKED_EVERY_S = 0.02


def queries_of(call: Call) -> WorkspaceQueries:
    return call.gateway.ports.of(QUERIES)


def project_shown(row: ProjectRow) -> Project:
    return Project(
        id=row.id,
        key=row.key,
        name=row.name,
        description=row.description,
        archived=row.archived,
        immutable=row.immutable,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace,
        user_id=row.owner_id,
        username=row.owner,
        num_experiments=row.experiments,
        num_active_experiments=row.active,
        num_runs=row.runs,
        last_experiment_started_at=row.last_started_at,
        notes=tuple(Note(name=note["name"], contents=note["contents"]) for note in row.notes),
        state=STATES[row.state],
        error_message=row.error,
    )


async def soon_gone(call: Call, look: Callable[[], Awaitable[Row | None]]) -> Row | None:
    """What `look` finds once it finds nothing, or when the caller has waited long enough."""
    deadline = asyncio.get_running_loop().time() + EMPTY_GOES_S
    while (found := await look()) is not None and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(LOOKED_EVERY_S)
        await call.gateway.read.catch_up()
    return found
