"""The state of `workspace-directory`: every workspace and every project.

It is one state, since names and keys are unique among all of them and ids count up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.message import Object
from resolute.proto.spaces import Note

NAME_CHARS_MAX = 80

WorkspaceState = Enum("WorkspaceState", "ABSENT PRESENT ARCHIVED DELETING DELETE_FAILED DELETED")

ProjectState = Enum("ProjectState", "ABSENT PRESENT ARCHIVED DELETING DELETE_FAILED DELETED")

LEAVING = frozenset(
    {
        *(WorkspaceState.DELETING, WorkspaceState.DELETE_FAILED),
        *(ProjectState.DELETING, ProjectState.DELETE_FAILED),
    }
)
"""The states in which a workspace or a project still exists, and takes nothing new."""


@dataclass(slots=True)
class Workspace:
    """Owned by the fold that grows it."""

    name: str
    immutable: bool
    state: WorkspaceState = WorkspaceState.PRESENT
    settings: Object = field(default_factory=dict)
    """What the workspace says of the experiments in it: the changes of WorkspaceChanged, but for the name."""
    pinned_by: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Project:
    """Owned by the fold that grows it."""

    workspace_id: int
    name: str
    description: str
    key: str
    immutable: bool
    state: ProjectState = ProjectState.PRESENT
    notes: tuple[Note, ...] = ()
    experiments: set[int] = field(default_factory=set)
    """While the project is being deleted: those of its experiments that are known and still exist."""


@dataclass(slots=True)
class Workspaces:
    """Every workspace and project that was not deleted, by id. Owned by the fold that grows it."""

    by_id: dict[int, Workspace] = field(default_factory=dict)
    projects: dict[int, Project] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    """The project that each key belongs to, or belonged to: a key is never given to another project."""
    leaving: dict[int, int] = field(default_factory=dict)
    """The experiments that are deleted with their projects, and those projects."""
    last_workspace: int = 0
    last_project: int = 0
    deleted_projects: set[int] = field(default_factory=set)

    def workspace(self, workspace_id: int) -> Workspace:
        """Raises NotFound."""
        if (found := self.by_id.get(workspace_id)) is None:
            raise NotFound(f"workspace {workspace_id} not found")
        return found

    def project(self, project_id: int) -> Project:
        """Raises NotFound."""
        if (found := self.projects.get(project_id)) is None:
            raise NotFound(f"project {project_id} not found")
        return found

    def projects_in(self, workspace_id: int) -> list[int]:
        return [number for number, project in self.projects.items() if project.workspace_id == workspace_id]

    def takes_projects(self, workspace_id: int) -> Workspace:
        """The workspace. Raises NotFound, and Refused where nothing can be added to it."""
        workspace = self.workspace(workspace_id)
        if workspace.state is WorkspaceState.ARCHIVED:
            raise Refused(f"workspace ({workspace_id}) is archived and cannot add new projects")
        if workspace.state is not WorkspaceState.PRESENT:
            raise Refused(f"workspace ({workspace_id}) is being deleted and cannot add new projects")
        if workspace.immutable:
            raise Refused(f"workspace ({workspace_id}) is immutable and cannot add new projects; use another workspace")
        return workspace


def check_name(kind: str, name: str) -> None:
    if not name.strip() or len(name) > NAME_CHARS_MAX:
        raise InvalidConfig(f"name: a {kind} needs a name of 1 to {NAME_CHARS_MAX} characters; found {name!r}")


def check_free(name: str, others: Iterable[str], what: str) -> None:
    """Raises Refused where one of `others` is the same name in another case of letters."""
    if name.casefold() in map(str.casefold, others):
        raise refuse(what, "avoid names equal to other workspaces (case-insensitive)")
