"""What can be asked about workspaces and projects: the port, Postgres behind it, and its twin in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.workspaces.messages import SortProjectsBy, SortWorkspacesBy
from resolute.proto.states import ExperimentState


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    id: int
    name: str
    archived: bool
    immutable: bool
    owner_id: int
    owner: str
    """The owner's name; empty for one that is unknown."""
    projects: int
    experiments: int
    default_compute_pool: str
    default_aux_pool: str
    agent_user_group: Mapping[str, Any] | None
    checkpoint_storage: Mapping[str, Any] | None
    state: str
    """As `projection.Workspace` has it; of a project likewise."""
    error: str
    pinned_at: datetime | None
    """When the user who asks pinned it; None where it is not pinned."""


@dataclass(frozen=True, slots=True)
class ProjectRow:
    id: int
    name: str
    description: str
    archived: bool
    """Whether it or its workspace is."""
    immutable: bool
    workspace_id: int
    workspace: str
    owner_id: int
    owner: str
    experiments: int
    active: int
    """Experiments that have not ended and are not paused."""
    runs: int
    last_started_at: datetime | None
    """When the newest of its experiments began."""
    key: str
    notes: Sequence[Mapping[str, str]]
    state: str
    error: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which workspaces or projects: those that fulfil all of this."""

    archived: bool | None = None
    like: str = ""
    """The whole name, in any case of letters; `%` stands for any text, `_` for any character."""
    name: str = ""
    owners: tuple[str, ...] = ()
    owner_ids: tuple[int, ...] = ()
    pinned: bool | None = None
    """By the user who asks. Projects are never pinned."""


class WorkspaceQueries(Protocol):
    """Lists hold what lies within the scope. They are in the order that is asked for, and by id where that leaves two
    alike; what is missing comes last. `user_id`: the user whose pins are shown."""

    async def workspaces(
        self, scope: Scope, user_id: int, wanted: Wanted, by: SortWorkspacesBy, *, descending: bool, window: Window
    ) -> Listed[WorkspaceRow]: ...

    async def workspace(self, workspace_id: int, user_id: int) -> WorkspaceRow | None: ...

    async def projects(
        self, scope: Scope, workspace_id: int, wanted: Wanted, by: SortProjectsBy, *, descending: bool, window: Window
    ) -> Listed[ProjectRow]:
        """Those of one workspace."""

    async def project(self, project_id: int) -> ProjectRow | None: ...

    async def project_with_key(self, key: str) -> int | None:
        """The number of the project that has this key now."""


# ---------------------------------------------------------------- Postgres

PINNED = "LEFT JOIN read_workspaces.pins n ON n.workspace_id = w.id AND n.user_id = $1"

WORKSPACES = f"""SELECT w.*, n.pinned_at, coalesce(u.username, '') AS owner,
    (SELECT count(*) FROM read_workspaces.projects p WHERE p.workspace_id = w.id) AS projects,
    (SELECT count(*) FROM read_experiments.experiments e JOIN read_workspaces.projects p ON p.id = e.project_id
     WHERE p.workspace_id = w.id) AS experiments
FROM read_workspaces.workspaces w LEFT JOIN read_identity.users u ON u.id = w.owner_id {PINNED}"""

WORKSPACES_COUNTED = (
    f"SELECT count(*) FROM read_workspaces.workspaces w LEFT JOIN read_identity.users u ON u.id = w.owner_id {PINNED}"
)

PROJECTS = f"""SELECT p.*, p.archived OR w.archived AS away, coalesce(u.username, '') AS owner, w.name AS workspace, e.*
FROM read_workspaces.projects p JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
LEFT JOIN read_identity.users u ON u.id = p.owner_id
CROSS JOIN LATERAL (
    SELECT count(*) AS experiments,
           count(*) FILTER (WHERE e.ended_at IS NULL AND e.state <> '{ExperimentState.PAUSED}') AS active,
           coalesce(sum(d.trials), 0) AS runs, max(e.started_at) AS last_started_at
    FROM read_experiments.experiments e LEFT JOIN read_trials.standings d ON d.experiment_id = e.id
    WHERE e.project_id = p.id) e"""

PROJECTS_COUNTED = """SELECT count(*)
FROM read_workspaces.projects p JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
LEFT JOIN read_identity.users u ON u.id = p.owner_id"""

WORKSPACE_COLUMNS = {SortWorkspacesBy.NAME: "w.name"}
"""What lists are sorted by, other than the id."""

PROJECT_COLUMNS = {
    SortProjectsBy.LAST_EXPERIMENT_START_TIME: "e.last_started_at",
    SortProjectsBy.NAME: "p.name",
    SortProjectsBy.DESCRIPTION: "p.description",
}


class PostgresWorkspaces:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def workspaces(
        self, scope: Scope, user_id: int, wanted: Wanted, by: SortWorkspacesBy, *, descending: bool, window: Window
    ) -> Listed[WorkspaceRow]:
        order = ordering(WORKSPACE_COLUMNS.get(by, "w.id"), "w.id", descending=descending)
        where = _conditions("w", Where(scope, "w.id", [user_id]), wanted)
        if wanted.pinned is not None:
            where.add("(n.user_id IS NOT NULL) = ?", wanted.pinned)
        found = await listed_in(self._tables, WORKSPACES, WORKSPACES_COUNTED, where, order, window)
        return Listed([_workspace(row) for row in found.rows], found.page)

    async def workspace(self, workspace_id: int, user_id: int) -> WorkspaceRow | None:
        row = await self._tables.row(f"{WORKSPACES} WHERE w.id = $2", user_id, workspace_id)
        return None if row is None else _workspace(row)

    async def projects(
        self, scope: Scope, workspace_id: int, wanted: Wanted, by: SortProjectsBy, *, descending: bool, window: Window
    ) -> Listed[ProjectRow]:
        order = ordering(PROJECT_COLUMNS.get(by, "p.id"), "p.id", descending=descending)
        where = _conditions("p", Where(scope, "p.workspace_id"), wanted)
        where.add("p.workspace_id = ?", workspace_id)
        found = await listed_in(self._tables, PROJECTS, PROJECTS_COUNTED, where, order, window)
        return Listed([project_row(row) for row in found.rows], found.page)

    async def project(self, project_id: int) -> ProjectRow | None:
        row = await self._tables.row(f"{PROJECTS} WHERE p.id = $1", project_id)
        return None if row is None else project_row(row)

    async def project_with_key(self, key: str) -> int | None:
        found: int | None = await self._tables.value("SELECT id FROM read_workspaces.projects WHERE key = $1", key)
        return found


ARCHIVED = {"w": "w.archived", "p": "(p.archived OR w.archived)"}


def _conditions(alias: str, where: Where, wanted: Wanted) -> Where:
    if wanted.archived is not None:
        where.add(f"{ARCHIVED[alias]} = ?", wanted.archived)
    if wanted.like:
        where.add(f"{alias}.name ILIKE ? ESCAPE ''", wanted.like)
    if wanted.name:
        where.add(f"{alias}.name = ?", wanted.name)
    if wanted.owners:
        where.add("u.username = ANY(?::text[])", wanted.owners)
    if wanted.owner_ids:
        where.add(f"{alias}.owner_id = ANY(?::int[])", wanted.owner_ids)
    return where


def _workspace(row: asyncpg.Record) -> WorkspaceRow:
    return WorkspaceRow(
        id=row["id"],
        name=row["name"],
        archived=row["archived"],
        immutable=row["immutable"],
        owner_id=row["owner_id"],
        owner=row["owner"],
        projects=row["projects"],
        experiments=row["experiments"],
        default_compute_pool=row["default_compute_pool"],
        default_aux_pool=row["default_aux_pool"],
        agent_user_group=_document(row["agent_user_group"]),
        checkpoint_storage=_document(row["checkpoint_storage"]),
        state=row["state"],
        error=row["error"],
        pinned_at=row["pinned_at"],
    )


def _document(text: str | None) -> Mapping[str, Any] | None:
    return orjson.loads(text) if text else None


def project_row(row: asyncpg.Record) -> ProjectRow:
    return ProjectRow(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        archived=row["away"],
        immutable=row["immutable"],
        workspace_id=row["workspace_id"],
        workspace=row["workspace"],
        owner_id=row["owner_id"],
        owner=row["owner"],
        experiments=row["experiments"],
        active=row["active"],
        runs=int(row["runs"]),
        last_started_at=row["last_started_at"],
        key=row["key"],
        notes=orjson.loads(row["notes"]) if row["notes"] else (),
        state=row["state"],
        error=row["error"],
    )


QUERIES: Port[WorkspaceQueries] = Port(PostgresWorkspaces)
