"""What else happens to workspaces and projects: archives, pins, moves, notes, keys and deletion.

All of it is written to `workspace-directory`, beside the events of `identity`, which earlier releases wrote already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from resolute.proto.identity import DirectoryCommand, WorkspaceEvent
from resolute.proto.message import Object

EXPERIMENTS_MAX = 200
"""How many experiments one event of a deletion names, so that the reaction to it ends in time."""


@dataclass(frozen=True, slots=True)
class Note:
    """A text on a project, under a name."""

    name: str
    contents: str


@dataclass(frozen=True, slots=True)
class WorkspaceArchived(WorkspaceEvent):
    sentence: ClassVar[str] = "workspace {workspace_id} was archived"
    workspace_id: int


@dataclass(frozen=True, slots=True)
class WorkspaceUnarchived(WorkspaceEvent):
    sentence: ClassVar[str] = "workspace {workspace_id} was taken out of the archive"
    workspace_id: int


@dataclass(frozen=True, slots=True)
class WorkspacePinned(WorkspaceEvent):
    """A user keeps the workspace at hand. Pins of other users are not changed by it."""

    sentence: ClassVar[str] = "user {user_id} pinned workspace {workspace_id}"
    workspace_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class WorkspaceUnpinned(WorkspaceEvent):
    sentence: ClassVar[str] = "user {user_id} removed the pin from workspace {workspace_id}"
    workspace_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class WorkspaceDeletionRequested(WorkspaceEvent):
    sentence: ClassVar[str] = "workspace {workspace_id} is being deleted with its projects"
    workspace_id: int


@dataclass(frozen=True, slots=True)
class WorkspaceDeletionFailed(WorkspaceEvent):
    sentence: ClassVar[str] = "workspace {workspace_id} could not be deleted: {reason}"
    workspace_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class WorkspaceDeleted(WorkspaceEvent):
    sentence: ClassVar[str] = "workspace {workspace_id} was deleted"
    workspace_id: int


@dataclass(frozen=True, slots=True)
class ProjectChanged(WorkspaceEvent):
    """`changes` holds the new values by field: name, description, key."""

    sentence: ClassVar[str] = "project {project_id} was changed"
    project_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ProjectNotesSet(WorkspaceEvent):
    """`notes` are all notes of the project from now on."""

    sentence: ClassVar[str] = "the notes on project {project_id} were changed"
    project_id: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class ProjectMoved(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} was moved to workspace {workspace_id}"
    project_id: int
    workspace_id: int


@dataclass(frozen=True, slots=True)
class ProjectArchived(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} was archived"
    project_id: int


@dataclass(frozen=True, slots=True)
class ProjectUnarchived(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} was taken out of the archive"
    project_id: int


@dataclass(frozen=True, slots=True)
class ProjectDeletionRequested(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} is being deleted with its experiments"
    project_id: int


@dataclass(frozen=True, slots=True)
class ProjectExperimentsFound(WorkspaceEvent):
    """These experiments are in a project that is being deleted or was deleted, and so they are deleted too: at most
    `EXPERIMENTS_MAX` in one event."""

    sentence: ClassVar[str] = "experiments of project {project_id} are being deleted with the project: {experiments}"
    project_id: int
    experiments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProjectExperimentGone(WorkspaceEvent):
    """An experiment of a project that is being deleted does not exist any more."""

    sentence: ClassVar[str] = "experiment {experiment_id} of project {project_id} was deleted with the project"
    project_id: int
    experiment_id: int


@dataclass(frozen=True, slots=True)
class ProjectDeletionFailed(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} could not be deleted: {reason}"
    project_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectDeleted(WorkspaceEvent):
    sentence: ClassVar[str] = "project {project_id} was deleted"
    project_id: int


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class ArchiveWorkspace(DirectoryCommand):
    workspace_id: int


@dataclass(frozen=True, slots=True)
class UnarchiveWorkspace(DirectoryCommand):
    workspace_id: int


@dataclass(frozen=True, slots=True)
class PinWorkspace(DirectoryCommand):
    workspace_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class UnpinWorkspace(DirectoryCommand):
    workspace_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class DeleteWorkspace(DirectoryCommand):
    """Refused while models are in it. The rest is deleted in the background."""

    workspace_id: int


@dataclass(frozen=True, slots=True)
class ChangeProject(DirectoryCommand):
    """`changes` as in ProjectChanged."""

    project_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class AddProjectNote(DirectoryCommand):
    project_id: int
    note: Note


@dataclass(frozen=True, slots=True)
class SetProjectNotes(DirectoryCommand):
    project_id: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class MoveProject(DirectoryCommand):
    project_id: int
    workspace_id: int


@dataclass(frozen=True, slots=True)
class ArchiveProject(DirectoryCommand):
    project_id: int


@dataclass(frozen=True, slots=True)
class UnarchiveProject(DirectoryCommand):
    project_id: int


@dataclass(frozen=True, slots=True)
class DeleteProject(DirectoryCommand):
    """The project and its experiments are deleted in the background."""

    project_id: int
