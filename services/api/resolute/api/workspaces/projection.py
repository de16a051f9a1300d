"""Workspaces and their projects: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.proto import spaces, streams
from resolute.proto.identity import ProjectCreated, WorkspaceChanged, WorkspaceCreated
from resolute.proto.message import Event, Recorded
from resolute.proto.states import DeletionState


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
    state: str = ""
    """Empty unless the workspace is being deleted: then a `DeletionState`. Likewise of a project."""
    error: str = ""
    """Why it could not be deleted."""


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    workspace_id: int
    name: str
    description: str
    owner_id: int
    immutable: bool
    archived: bool = False
    key: str = ""
    notes: Document = None
    """A list of objects with `name` and `contents`."""
    state: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """A user keeps a workspace at hand."""

    workspace_id: int
    user_id: int
    pinned_at: datetime


WORKSPACES = Table("workspaces", Workspace, key=("id",))

PROJECTS = Table("projects", Project, key=("id",))

PINS = Table("pins", Pin, key=("workspace_id", "user_id"), lookups=("workspace_id",))

CHANGEABLE = ("name", "default_compute_pool", "default_aux_pool")
"""Columns that WorkspaceChanged may name, besides the documents."""

PROJECT_CHANGEABLE = ("name", "description", "key")
"""Columns that ProjectChanged may name."""

DOCUMENTS = ("agent_user_group", "checkpoint_storage")


Shows = Callable[[Any, Recorded, Rows], None]


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
        key=created.shown_key,
    )
    rows.put(PROJECTS, made)


def _pinned(pinned: spaces.WorkspacePinned, recorded: Recorded, rows: Rows) -> None:
    rows.put(PINS, Pin(pinned.workspace_id, pinned.user_id, recorded.recorded_at))


def _unpinned(unpinned: spaces.WorkspaceUnpinned, _: Recorded, rows: Rows) -> None:
    rows.remove(PINS, unpinned.workspace_id, unpinned.user_id)


def _workspace(**columns: object) -> Shows:
    """What changes in the row of the workspace that an event is about."""

    def shows(event: Any, _: Recorded, rows: Rows) -> None:
        rows.change(WORKSPACES, event.workspace_id, **columns)

    return shows


def _deletion_failed(failed: spaces.WorkspaceDeletionFailed, _: Recorded, rows: Rows) -> None:
    rows.change(WORKSPACES, failed.workspace_id, state=DeletionState.DELETE_FAILED.value, error=failed.reason)


def _deleted(deleted: spaces.WorkspaceDeleted, _: Recorded, rows: Rows) -> None:
    for pin in rows.where(PINS, "workspace_id", deleted.workspace_id):
        rows.remove(PINS, pin.workspace_id, pin.user_id)
    rows.remove(WORKSPACES, deleted.workspace_id)


def _project(**columns: object) -> Shows:
    def shows(event: Any, _: Recorded, rows: Rows) -> None:
        rows.change(PROJECTS, event.project_id, **columns)

    return shows


def _project_changed(changed: spaces.ProjectChanged, _: Recorded, rows: Rows) -> None:
    columns = {name: changed.changes[name] for name in PROJECT_CHANGEABLE if name in changed.changes}
    rows.change(PROJECTS, changed.project_id, **columns)


def _notes_set(noted: spaces.ProjectNotesSet, _: Recorded, rows: Rows) -> None:
    notes = [{"name": note.name, "contents": note.contents} for note in noted.notes]
    rows.change(PROJECTS, noted.project_id, notes=notes)


def _project_moved(moved: spaces.ProjectMoved, _: Recorded, rows: Rows) -> None:
    rows.change(PROJECTS, moved.project_id, workspace_id=moved.workspace_id)


def _project_deletion_failed(failed: spaces.ProjectDeletionFailed, _: Recorded, rows: Rows) -> None:
    rows.change(PROJECTS, failed.project_id, state=DeletionState.DELETE_FAILED.value, error=failed.reason)


def _project_deleted(deleted: spaces.ProjectDeleted, _: Recorded, rows: Rows) -> None:
    rows.remove(PROJECTS, deleted.project_id)


SHOWS: Mapping[type[Event], Shows] = {
    WorkspaceCreated: _created,
    WorkspaceChanged: _changed,
    ProjectCreated: _project_created,
    spaces.WorkspacePinned: _pinned,
    spaces.WorkspaceUnpinned: _unpinned,
    spaces.WorkspaceArchived: _workspace(archived=True),
    spaces.WorkspaceUnarchived: _workspace(archived=False),
    spaces.WorkspaceDeletionRequested: _workspace(state=DeletionState.DELETING.value, error=""),
    spaces.WorkspaceDeletionFailed: _deletion_failed,
    spaces.WorkspaceDeleted: _deleted,
    spaces.ProjectChanged: _project_changed,
    spaces.ProjectNotesSet: _notes_set,
    spaces.ProjectMoved: _project_moved,
    spaces.ProjectArchived: _project(archived=True),
    spaces.ProjectUnarchived: _project(archived=False),
    spaces.ProjectDeletionRequested: _project(state=DeletionState.DELETING.value, error=""),
    spaces.ProjectDeletionFailed: _project_deletion_failed,
    spaces.ProjectDeleted: _project_deleted,
}


def _whose_workspace(rows: WholeRows, workspace_id: int) -> Place | None:
    row = rows.get(WORKSPACES, workspace_id)
    return None if row is None else Place(row.owner_id, row.id)


def _whose_project(rows: WholeRows, project_id: int) -> Place | None:
    row = rows.get(PROJECTS, project_id)
    return None if row is None else Place(row.owner_id, row.workspace_id)


PROJECTION = Projection(
    slice="workspaces",
    version=2,
    tables=(WORKSPACES, PROJECTS, PINS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.WORKSPACE.name}),
    project=project,
    things={
        "workspace": Thing(
            "SELECT owner_id, id AS workspace_id FROM read_workspaces.workspaces WHERE id = $1",
            numbered=True,
            twin=_whose_workspace,
        ),
        "project": Thing(
            "SELECT owner_id, workspace_id FROM read_workspaces.projects WHERE id = $1",
            numbered=True,
            twin=_whose_project,
        ),
    },
    ids={"workspaceId": (WORKSPACES, "id"), "projectId": (PROJECTS, "id")},
)
