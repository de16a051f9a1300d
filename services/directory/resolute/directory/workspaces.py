"""Workspaces and their projects: what may be done with them, and what is true afterwards.

All of them are one stream, `workspace-directory`: names are unique among them, and ids count up, so that a decision
must see all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from resolute.config.agent_user import check_agent_user
from resolute.directory.part import Part, Seed
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.identity import (
    ChangeWorkspace,
    CreateProject,
    CreateWorkspace,
    ProjectCreated,
    WorkspaceChanged,
    WorkspaceCreated,
)
from resolute.proto.message import Event, Object

NAME_CHARS_MAX = 80

FIRST: Sequence[Event] = (
    WorkspaceCreated(1, "Uncategorized", owner_id=1, immutable=True),
    ProjectCreated(1, 1, "Uncategorized", "", owner_id=1, immutable=True),
)
"""The workspace of a new cluster, and the project in it, where experiments are that name none."""

State = Enum("State", "ABSENT PRESENT")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, WorkspaceCreated): State.PRESENT,
    (State.PRESENT, WorkspaceChanged): State.PRESENT,
    (State.PRESENT, ProjectCreated): State.PRESENT,
}
"""Of one workspace, its projects included."""

WorkspaceCommand = CreateWorkspace | ChangeWorkspace | CreateProject


@dataclass(slots=True)
class Workspaces:
    """Every workspace and project, by id. Owned by the fold that grows it."""

    names: dict[int, str] = field(default_factory=dict)
    immutable: set[int] = field(default_factory=set)
    settings: dict[int, Object] = field(default_factory=dict)
    """What each workspace says of the experiments in it: the changes of WorkspaceChanged, but for the name."""
    projects: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Each project's workspace and name."""


def decide(command: WorkspaceCommand, workspaces: Workspaces) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateWorkspace():
            return _create(command, workspaces)
        case ChangeWorkspace():
            return _change(command, workspaces)
        case CreateProject():
            return _create_project(command, workspaces)


def seed(workspaces: Workspaces) -> Sequence[Event]:
    """The first workspace and project, where there are none yet."""
    return () if workspaces.names else FIRST


def _create(command: CreateWorkspace, workspaces: Workspaces) -> list[Event]:
    _check_workspace_name(command.name, workspaces.names.values(), f"create workspace {command.name!r}")
    workspace_id = max(workspaces.names, default=0) + 1
    settings: Object = {name: value for name, value in command.settings.items() if value}
    _check_settings(settings)
    created = WorkspaceCreated(workspace_id, command.name, command.owner_id)
    return [created, *([WorkspaceChanged(workspace_id, settings)] if settings else [])]


def _change(command: ChangeWorkspace, workspaces: Workspaces) -> list[Event]:
    """A value that the workspace has already is left out."""
    workspace_id = command.workspace_id
    name = _known(workspaces, workspace_id)
    if workspace_id in workspaces.immutable:
        raise refuse(f"change workspace {name!r}", "it cannot be changed", "make another one")
    before = {"name": name, **workspaces.settings.get(workspace_id, {})}
    real: Object = {}
    for key, value in command.changes.items():
        if (before.get(key) or None) != (value or None):
            real[key] = value
    if "name" in real:
        others = [known for each, known in workspaces.names.items() if each != workspace_id]
        _check_workspace_name(real["name"], others, f"rename workspace {name!r}")
    _check_settings(real)
    return [WorkspaceChanged(workspace_id, real)] if real else []


def _check_settings(settings: Mapping[str, Any]) -> None:
    if settings.get("agent_user_group"):
        check_agent_user(settings["agent_user_group"])


def _check_workspace_name(name: str, others: Collection[str], what: str) -> None:
    _check_name("workspace", name)
    if name.casefold() in map(str.casefold, others):
        raise refuse(what, "a workspace of that name exists, in this case or another", "choose another name")


def _create_project(command: CreateProject, workspaces: Workspaces) -> list[Event]:
    workspace_id, name = command.workspace_id, command.name
    _check_name("project", name)
    _known(workspaces, workspace_id)
    if workspace_id in workspaces.immutable:
        raise refuse(f"create project {name!r}", f"workspace {workspace_id} takes no projects", "use another workspace")
    if (workspace_id, name) in workspaces.projects.values():
        raise refuse(f"create project {name!r}", "its workspace has one of that name", "choose another name")
    project_id = max(workspaces.projects, default=0) + 1
    return [ProjectCreated(project_id, workspace_id, name, command.description, command.owner_id)]


def _known(workspaces: Workspaces, workspace_id: int) -> str:
    """The name of a workspace. Raises NotFound."""
    if (name := workspaces.names.get(workspace_id)) is None:
        raise NotFound(f"workspace {workspace_id} not found")
    return name


def _check_name(kind: str, name: str) -> None:
    if not name.strip() or len(name) > NAME_CHARS_MAX:
        raise InvalidConfig(f"name: a {kind} needs a name of 1 to {NAME_CHARS_MAX} characters; found {name!r}")


def evolve(workspaces: Workspaces, event: Event) -> Workspaces:
    match event:
        case (
            WorkspaceCreated(workspace_id=workspace_id)
            | WorkspaceChanged(workspace_id=workspace_id)
            | ProjectCreated(workspace_id=workspace_id)
        ):
            before = State.PRESENT if workspace_id in workspaces.names else State.ABSENT
            assert FLOW[before, type(event)] is State.PRESENT
            _learn(workspaces, event)
            return workspaces
    raise AssertionError(f"not an event of workspaces: {event}")


def _learn(workspaces: Workspaces, event: Event) -> None:
    match event:
        case WorkspaceCreated(workspace_id=workspace_id, name=name, immutable=immutable):
            workspaces.names[workspace_id] = name
            if immutable:
                workspaces.immutable.add(workspace_id)
        case WorkspaceChanged(workspace_id=workspace_id, changes=changes):
            settings = dict(changes)
            workspaces.names[workspace_id] = settings.pop("name", workspaces.names[workspace_id])
            workspaces.settings.setdefault(workspace_id, {}).update(settings)
        case ProjectCreated(project_id=project_id, workspace_id=workspace_id, name=name):
            workspaces.projects[project_id] = (workspace_id, name)


PART = Part(
    commands=frozenset({CreateWorkspace, ChangeWorkspace, CreateProject}),
    stream_of=lambda command: streams.WORKSPACE_DIRECTORY,
    initial=Workspaces,
    decide=decide,
    evolve=evolve,
    ids={WorkspaceCreated: "workspace_id", ProjectCreated: "project_id"},
    seed=Seed(streams.WORKSPACE_DIRECTORY, seed),
)
