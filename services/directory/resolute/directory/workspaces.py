"""Workspaces and their projects: what may be done with them, and what is true afterwards.

All of them are one stream, `workspace-directory`: names are unique among them, and ids count up, so that a decision
must see all of them. This module decides about workspaces and `projects` about projects; `deletion` has the
reactions that delete what is in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resolute.config.agent_user import check_agent_user
from resolute.directory import projects
from resolute.directory.part import Part, Seed
from resolute.directory.projects import ProjectCommand
from resolute.directory.spaces import LEAVING, Workspace, Workspaces, WorkspaceState, check_free, check_name
from resolute.proto import streams
from resolute.proto.errors import Refused, refuse
from resolute.proto.identity import (
    ChangeWorkspace,
    CreateWorkspace,
    ProjectCreated,
    WorkspaceChanged,
    WorkspaceCreated,
)
from resolute.proto.message import Event, Object
from resolute.proto.spaces import (
    ArchiveWorkspace,
    DeleteWorkspace,
    PinWorkspace,
    ProjectDeletionRequested,
    UnarchiveWorkspace,
    UnpinWorkspace,
    WorkspaceArchived,
    WorkspaceDeleted,
    WorkspaceDeletionFailed,
    WorkspaceDeletionRequested,
    WorkspacePinned,
    WorkspaceUnarchived,
    WorkspaceUnpinned,
)

FIRST: Sequence[Event] = (
    WorkspaceCreated(1, "Uncategorized", owner_id=1, immutable=True),
    ProjectCreated(1, 1, "Uncategorized", "", owner_id=1, immutable=True),
)
"""The workspace of a new cluster, and the project in it, where experiments are that name none."""

State = WorkspaceState

FLOW: Mapping[tuple[WorkspaceState, type[Event]], WorkspaceState] = {
    (State.ABSENT, WorkspaceCreated): State.PRESENT,
    (State.PRESENT, WorkspaceChanged): State.PRESENT,
    (State.PRESENT, WorkspacePinned): State.PRESENT,
    (State.PRESENT, WorkspaceUnpinned): State.PRESENT,
    (State.PRESENT, WorkspaceArchived): State.ARCHIVED,
    (State.PRESENT, WorkspaceDeletionRequested): State.DELETING,
    (State.ARCHIVED, WorkspacePinned): State.ARCHIVED,
    (State.ARCHIVED, WorkspaceUnpinned): State.ARCHIVED,
    (State.ARCHIVED, WorkspaceUnarchived): State.PRESENT,
    (State.ARCHIVED, WorkspaceDeletionRequested): State.DELETING,
    (State.DELETING, WorkspaceDeletionRequested): State.DELETING,
    (State.DELETING, WorkspaceDeletionFailed): State.DELETE_FAILED,
    (State.DELETING, WorkspaceDeleted): State.DELETED,
    (State.DELETE_FAILED, WorkspaceDeletionRequested): State.DELETING,
}
"""Of one workspace. A deleted workspace is forgotten, but for its number."""

WorkspaceCommand = (
    CreateWorkspace
    | ChangeWorkspace
    | ArchiveWorkspace
    | UnarchiveWorkspace
    | PinWorkspace
    | UnpinWorkspace
    | DeleteWorkspace
    | ProjectCommand
)

COMMANDS = frozenset(
    {
        CreateWorkspace,
        ChangeWorkspace,
        ArchiveWorkspace,
        UnarchiveWorkspace,
        PinWorkspace,
        UnpinWorkspace,
        DeleteWorkspace,
    }
)


def decide(command: WorkspaceCommand, workspaces: Workspaces) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateWorkspace():
            return _create(command, workspaces)
        case ChangeWorkspace():
            return _change(command, workspaces)
        case ArchiveWorkspace(workspace_id=workspace_id):
            archived = _mutable(workspaces, workspace_id, "archive").state is State.ARCHIVED
            return [] if archived else [WorkspaceArchived(workspace_id)]
        case UnarchiveWorkspace(workspace_id=workspace_id):
            archived = _mutable(workspaces, workspace_id, "unarchive").state is State.ARCHIVED
            return [WorkspaceUnarchived(workspace_id)] if archived else []
        case PinWorkspace(workspace_id=workspace_id, user_id=user_id):
            pinned = user_id in _staying(workspaces, workspace_id, "pin").pinned_by
            return [] if pinned else [WorkspacePinned(workspace_id, user_id)]
        case UnpinWorkspace(workspace_id=workspace_id, user_id=user_id):
            pinned = user_id in _staying(workspaces, workspace_id, "unpin").pinned_by
            return [WorkspaceUnpinned(workspace_id, user_id)] if pinned else []
        case DeleteWorkspace(workspace_id=workspace_id):
            _may_be_deleted(workspaces, workspace_id)
            return [WorkspaceDeletionRequested(workspace_id)]
        case _:
            return projects.decide(command, workspaces)


def seed(workspaces: Workspaces) -> Sequence[Event]:
    """The first workspace and project, where there were none yet."""
    return () if workspaces.last_workspace else FIRST


def _create(command: CreateWorkspace, workspaces: Workspaces) -> list[Event]:
    """The user who creates a workspace has it pinned."""
    check_name("workspace", command.name)
    check_free(command.name, _names(workspaces), f"create workspace {command.name!r}")
    workspace_id = workspaces.last_workspace + 1
    settings: Object = {name: value for name, value in command.settings.items() if value}
    _check_settings(settings)
    created = WorkspaceCreated(workspace_id, command.name, command.owner_id)
    changed = [WorkspaceChanged(workspace_id, settings)] if settings else []
    return [created, *changed, WorkspacePinned(workspace_id, command.owner_id)]


def _change(command: ChangeWorkspace, workspaces: Workspaces) -> list[Event]:
    """A value that the workspace has already is left out."""
    workspace_id = command.workspace_id
    workspace = _mutable(workspaces, workspace_id, "change")
    if workspace.state is State.ARCHIVED:
        raise Refused(f"workspace ({workspace_id}) is archived and cannot be changed; unarchive it first")
    before = {"name": workspace.name, **workspace.settings}
    real: Object = {}
    for key, value in command.changes.items():
        if (before.get(key) or None) != (value or None):
            real[key] = value
    if "name" in real:
        check_name("workspace", real["name"])
        check_free(real["name"], _names(workspaces, but=workspace_id), f"rename workspace {workspace.name!r}")
    _check_settings(real)
    return [WorkspaceChanged(workspace_id, real)] if real else []


def _names(workspaces: Workspaces, *, but: int = 0) -> list[str]:
    return [workspace.name for number, workspace in workspaces.by_id.items() if number != but]


def _check_settings(settings: Mapping[str, Any]) -> None:
    if settings.get("agent_user_group"):
        check_agent_user(settings["agent_user_group"])


def _mutable(workspaces: Workspaces, workspace_id: int, what: str) -> Workspace:
    """Raises NotFound, and Refused for a workspace that never changes, or that is being deleted."""
    workspace = _staying(workspaces, workspace_id, what)
    _check_mutable(workspace, what)
    return workspace


def _staying(workspaces: Workspaces, workspace_id: int, what: str) -> Workspace:
    workspace = workspaces.workspace(workspace_id)
    if workspace.state in LEAVING:
        raise refuse(f"{what} workspace {workspace.name!r}", "it is being deleted")
    return workspace


def _check_mutable(workspace: Workspace, what: str) -> None:
    if workspace.immutable:
        raise refuse(f"{what} workspace {workspace.name!r}", "it is immutable", "use another workspace")


# ---------------------------------------------------------------- deletion


def _may_be_deleted(workspaces: Workspaces, workspace_id: int) -> None:
    """A deletion may be asked for again, whatever has become of the first request."""
    _check_mutable(workspaces.workspace(workspace_id), "delete")


def delete_projects(workspaces: Workspaces, workspace_id: int) -> list[Event]:
    """For a workspace that is being deleted: the deletion of each of its projects."""
    return [ProjectDeletionRequested(project_id) for project_id in workspaces.projects_in(workspace_id)]


def finish_deletion(workspaces: Workspaces, workspace_id: int, models: int) -> list[Event]:
    """For a workspace that is being deleted: its end, once all its projects are gone. `models`: how many are in it,
    since one may have come after the deletion was requested."""
    if not is_being_deleted(workspaces, workspace_id) or workspaces.projects_in(workspace_id):
        return []
    if models:
        return [WorkspaceDeletionFailed(workspace_id, has_models(workspace_id))]
    return [WorkspaceDeleted(workspace_id)]


def is_being_deleted(workspaces: Workspaces, workspace_id: int) -> bool:
    workspace = workspaces.by_id.get(workspace_id)
    return workspace is not None and workspace.state is State.DELETING


def deletion_failed(workspaces: Workspaces, workspace_id: int, reason: str) -> list[Event]:
    """A project of the workspace could not be deleted."""
    deleting = is_being_deleted(workspaces, workspace_id)
    return [WorkspaceDeletionFailed(workspace_id, reason)] if deleting else []


def has_models(workspace_id: int) -> str:
    """Why a workspace with models is not deleted."""
    return f"workspace ({workspace_id}) contains models; move or delete models first"


# ---------------------------------------------------------------- evolve


def evolve(workspaces: Workspaces, event: Event) -> Workspaces:
    match event:
        case (
            WorkspaceCreated(workspace_id=workspace_id)
            | WorkspaceChanged(workspace_id=workspace_id)
            | WorkspaceArchived(workspace_id=workspace_id)
            | WorkspaceUnarchived(workspace_id=workspace_id)
            | WorkspacePinned(workspace_id=workspace_id)
            | WorkspaceUnpinned(workspace_id=workspace_id)
            | WorkspaceDeletionRequested(workspace_id=workspace_id)
            | WorkspaceDeletionFailed(workspace_id=workspace_id)
            | WorkspaceDeleted(workspace_id=workspace_id)
        ):
            _step(workspaces, workspace_id, event)
        case _:
            assert hasattr(event, "project_id"), f"not an event of workspaces: {event}"
            projects.evolve(workspaces, event)
    return workspaces


def _step(workspaces: Workspaces, workspace_id: int, event: Event) -> None:
    workspace = workspaces.by_id.get(workspace_id)
    after = FLOW[workspace.state if workspace is not None else State.ABSENT, type(event)]
    match event:
        case WorkspaceCreated(name=name, immutable=immutable):
            workspaces.by_id[workspace_id] = Workspace(name, immutable)
            workspaces.last_workspace = workspace_id
            return
        case WorkspaceDeleted():
            del workspaces.by_id[workspace_id]
            return
    assert workspace is not None, f"{event} is about a workspace that does not exist"
    workspace.state = after
    _learn(workspace, event)


def _learn(workspace: Workspace, event: Event) -> None:
    match event:
        case WorkspaceChanged(changes=changes):
            settings = dict(changes)
            workspace.name = settings.pop("name", workspace.name)
            workspace.settings.update(settings)
        case WorkspacePinned(user_id=user_id):
            workspace.pinned_by.add(user_id)
        case WorkspaceUnpinned(user_id=user_id):
            workspace.pinned_by.discard(user_id)


PART = Part(
    commands=COMMANDS | projects.COMMANDS,
    stream_of=lambda command: streams.WORKSPACE_DIRECTORY,
    initial=Workspaces,
    decide=decide,
    evolve=evolve,
    ids={WorkspaceCreated: "workspace_id", ProjectCreated: "project_id"},
    seed=Seed(streams.WORKSPACE_DIRECTORY, seed),
)
