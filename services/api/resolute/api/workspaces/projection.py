"""Workspaces and their projects: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Projection, Rows, Table, Thing
from resolute.proto import streams
from resolute.proto.identity import ProjectCreated, WorkspaceChanged, WorkspaceCreated
from resolute.proto.message import Event, Recorded


@dataclass(frozen=True, slots=True)
class Workspace:
    id: int
    name: str
    owner_id: int
    immutable: bool
    archived: bool = False
    agent_user_group: Document = None
    checkpoint_storage: Document = None
    default_compute_pool: str = ""
    default_aux_pool: str = ""


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    workspace_id: int
    name: str
    description: str
    owner_id: int
    immutable: bool
    archived: bool = False


WORKSPACES = Table("workspaces", Workspace, key=("id",))

PROJECTS = Table("projects", Project, key=("id",))

CHANGEABLE = ("name", "default_compute_pool", "default_aux_pool")
"""Columns that WorkspaceChanged may name, besides the documents."""

DOCUMENTS = ("agent_user_group", "checkpoint_storage")


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: WorkspaceCreated, _: Recorded, rows: Rows) -> None:
    rows.put(WORKSPACES, Workspace(created.workspace_id, created.name, created.owner_id, created.immutable))


def _changed(changed: WorkspaceChanged, _: Recorded, rows: Rows) -> None:
    changes = changed.changes
    columns = {name: changes[name] for name in CHANGEABLE if name in changes}
    columns |= {name: changes[name] or None for name in DOCUMENTS if name in changes}
    if columns:
        rows.change(WORKSPACES, changed.workspace_id, **columns)


def _project_created(created: ProjectCreated, _: Recorded, rows: Rows) -> None:
    made = Project(
        id=created.project_id,
        workspace_id=created.workspace_id,
        name=created.name,
        description=created.description,
        owner_id=created.owner_id,
        immutable=created.immutable,
    )
    rows.put(PROJECTS, made)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    WorkspaceCreated: _created,
    WorkspaceChanged: _changed,
    ProjectCreated: _project_created,
}

PROJECTION = Projection(
    slice="workspaces",
    version=1,
    tables=(WORKSPACES, PROJECTS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.WORKSPACE.name}),
    project=project,
    things={
        "workspace": Thing(
            "SELECT owner_id, id AS workspace_id FROM read_workspaces.workspaces WHERE id = $1", numbered=True
        ),
        "project": Thing("SELECT owner_id, workspace_id FROM read_workspaces.projects WHERE id = $1", numbered=True),
    },
)
