"""Projects: what may be done with them, and what is true afterwards.

A project is deleted in the background. Its experiments are deleted first; the reactions in `deletion` find them and
note here, one by one, that they are gone. The last one takes the project with it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from string import ascii_uppercase, digits

from resolute.directory.spaces import LEAVING, Project, ProjectState, Workspaces, WorkspaceState, check_name
from resolute.proto.errors import InvalidConfig, Refused, refuse
from resolute.proto.identity import CreateProject, ProjectCreated
from resolute.proto.message import Event, Object
from resolute.proto.spaces import (
    EXPERIMENTS_MAX,
    AddProjectNote,
    ArchiveProject,
    ChangeProject,
    DeleteProject,
    MoveProject,
    Note,
    ProjectArchived,
    ProjectChanged,
    ProjectDeleted,
    ProjectDeletionFailed,
    ProjectDeletionRequested,
    ProjectExperimentGone,
    ProjectExperimentsFound,
    ProjectMoved,
    ProjectNotesSet,
    ProjectUnarchived,
    SetProjectNotes,
    UnarchiveProject,
)

KEY_CHARS_MAX = 5
KEY_LETTERS_OF_NAME = 3
NOTES_MAX = 1_000

State = ProjectState

FLOW: Mapping[tuple[ProjectState, type[Event]], ProjectState] = {
    (State.ABSENT, ProjectCreated): State.PRESENT,
    (State.PRESENT, ProjectChanged): State.PRESENT,
    (State.PRESENT, ProjectNotesSet): State.PRESENT,
    (State.PRESENT, ProjectMoved): State.PRESENT,
    (State.PRESENT, ProjectArchived): State.ARCHIVED,
    (State.PRESENT, ProjectDeletionRequested): State.DELETING,
    (State.ARCHIVED, ProjectUnarchived): State.PRESENT,
    (State.ARCHIVED, ProjectNotesSet): State.ARCHIVED,
    (State.ARCHIVED, ProjectDeletionRequested): State.DELETING,
    (State.DELETING, ProjectDeletionRequested): State.DELETING,
    (State.DELETING, ProjectExperimentsFound): State.DELETING,
    (State.DELETING, ProjectExperimentGone): State.DELETING,
    (State.DELETING, ProjectDeletionFailed): State.DELETE_FAILED,
    (State.DELETING, ProjectDeleted): State.DELETED,
    (State.DELETE_FAILED, ProjectDeletionRequested): State.DELETING,
    (State.DELETE_FAILED, ProjectExperimentsFound): State.DELETE_FAILED,
    (State.DELETE_FAILED, ProjectExperimentGone): State.DELETE_FAILED,
    (State.DELETED, ProjectExperimentsFound): State.DELETED,
    (State.DELETED, ProjectExperimentGone): State.DELETED,
}
"""Of one project. An experiment whose submission was on its way while its project was deleted is found afterwards, and
is deleted too."""

ProjectCommand = (
    CreateProject
    | ChangeProject
    | AddProjectNote
    | SetProjectNotes
    | MoveProject
    | ArchiveProject
    | UnarchiveProject
    | DeleteProject
)

COMMANDS = frozenset(
    {
        CreateProject,
        ChangeProject,
        AddProjectNote,
        SetProjectNotes,
        MoveProject,
        ArchiveProject,
        UnarchiveProject,
        DeleteProject,
    }
)


def decide(command: ProjectCommand, spaces: Workspaces) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateProject():
            return [_create(command, spaces)]
        case ChangeProject(project_id=project_id, changes=changes):
            return _change(spaces, project_id, changes)
        case AddProjectNote(project_id=project_id, note=note):
            return _set_notes(spaces, project_id, (*spaces.project(project_id).notes, note))
        case SetProjectNotes(project_id=project_id, notes=notes):
            return _set_notes(spaces, project_id, notes)
        case MoveProject(project_id=project_id, workspace_id=workspace_id):
            return _move(spaces, project_id, workspace_id)
        case ArchiveProject(project_id=project_id):
            archived = _archivable(spaces, project_id, "archive").state is State.ARCHIVED
            return [] if archived else [ProjectArchived(project_id)]
        case UnarchiveProject(project_id=project_id):
            archived = _archivable(spaces, project_id, "unarchive").state is State.ARCHIVED
            return [ProjectUnarchived(project_id)] if archived else []
        case DeleteProject(project_id=project_id):
            _mutable(spaces, project_id, "delete")
            return [ProjectDeletionRequested(project_id)]


# ---------------------------------------------------------------- what users ask for


def _create(command: CreateProject, spaces: Workspaces) -> ProjectCreated:
    check_name("project", command.name)
    spaces.takes_projects(command.workspace_id)
    _check_name_free(spaces, command.workspace_id, command.name, f"create project {command.name!r}")
    return ProjectCreated(
        project_id=spaces.last_project + 1,
        workspace_id=command.workspace_id,
        name=command.name,
        description=command.description,
        owner_id=command.owner_id,
        key=_wanted_key(spaces, command.key, 0) if command.key else _new_key(spaces, command.name, command.seed),
    )


def _change(spaces: Workspaces, project_id: int, changes: Object) -> list[Event]:
    """A value that the project has already is left out."""
    project = _mutable(spaces, project_id, "change")
    if is_archived(spaces, project):
        raise Refused(f"project ({project_id}) is archived and cannot have attributes updated; unarchive it first")
    wanted = dict(changes)
    if "key" in wanted:
        wanted["key"] = _wanted_key(spaces, wanted["key"], project_id)
    before = {"name": project.name, "description": project.description, "key": project.key}
    real = {name: value for name, value in wanted.items() if before[name] != value}
    if "name" in real:
        check_name("project", real["name"])
        _check_name_free(spaces, project.workspace_id, real["name"], f"rename project {project.name!r}")
    return [ProjectChanged(project_id, real)] if real else []


def _set_notes(spaces: Workspaces, project_id: int, notes: Sequence[Note]) -> list[Event]:
    project = spaces.project(project_id)
    _check_stays(project_id, project, "change the notes on")
    if len(notes) > NOTES_MAX:
        raise InvalidConfig(f"notes: a project has at most {NOTES_MAX:,} notes; found {len(notes):,}")
    return [] if tuple(notes) == project.notes else [ProjectNotesSet(project_id, tuple(notes))]


def _move(spaces: Workspaces, project_id: int, workspace_id: int) -> list[Event]:
    project = _mutable(spaces, project_id, "move")
    if is_archived(spaces, project):
        raise Refused(f"project ({project_id}) is archived and cannot be moved; unarchive it first")
    if project.workspace_id == workspace_id:
        return []
    spaces.takes_projects(workspace_id)
    _check_name_free(spaces, workspace_id, project.name, f"move project {project.name!r}")
    return [ProjectMoved(project_id, workspace_id)]


def _archivable(spaces: Workspaces, project_id: int, what: str) -> Project:
    project = _mutable(spaces, project_id, what)
    if spaces.workspace(project.workspace_id).state is not WorkspaceState.PRESENT:
        raise Refused("This project belongs to an archived workspace. To make changes, first unarchive the workspace.")
    return project


def _mutable(spaces: Workspaces, project_id: int, what: str) -> Project:
    """Raises NotFound; and Refused for a project that never changes, or that is being deleted, which may be asked for
    again."""
    project = spaces.project(project_id)
    if project.immutable:
        raise refuse(f"{what} project {project.name!r}", f"project {project_id} is immutable", "use another project")
    if what != "delete":
        _check_stays(project_id, project, what)
    return project


def _check_stays(project_id: int, project: Project, what: str) -> None:
    if project.state in LEAVING:
        raise refuse(f"{what} project {project.name!r}", f"project {project_id} is being deleted")


def is_archived(spaces: Workspaces, project: Project) -> bool:
    """Whether the project or its workspace is."""
    within = spaces.workspace(project.workspace_id)
    return State.ARCHIVED is project.state or within.state is WorkspaceState.ARCHIVED


def _check_name_free(spaces: Workspaces, workspace_id: int, name: str, what: str) -> None:
    if any(spaces.projects[other].name == name for other in spaces.projects_in(workspace_id)):
        raise refuse(what, "its workspace has one of that name", "choose another name")


# ---------------------------------------------------------------- keys


def _wanted_key(spaces: Workspaces, text: str, project_id: int) -> str:
    """`text` as the key of this project; 0 stands for a new one. Raises InvalidConfig and Refused."""
    key = text.upper()
    if not 1 <= len(key) <= KEY_CHARS_MAX or not set(key) <= {*ascii_uppercase, *digits}:
        raise InvalidConfig(f"key: expected 1 to {KEY_CHARS_MAX} letters or digits of ASCII; found {text!r}")
    if spaces.keys.get(key, project_id) != project_id:
        raise refuse(f"use the key {key!r}", "another project has it or had it", "choose another key")
    return key


def _new_key(spaces: Workspaces, name: str, seed: int) -> str:
    return next(key for key in _possible_keys(name, random.Random(seed)) if key not in spaces.keys)


def _possible_keys(name: str, draw: random.Random) -> Iterator[str]:
    """The first letters of the name and random ones behind them; where many of those are taken, random ones alone."""
    letters = [letter for letter in name.upper() if letter in {*ascii_uppercase, *digits}]
    for beginning, tries in (("".join(letters[:KEY_LETTERS_OF_NAME]), 1_000), ("", 1_000_000)):
        for _ in range(tries):
            yield beginning + "".join(draw.choices(ascii_uppercase + digits, k=KEY_CHARS_MAX - len(beginning)))


# ---------------------------------------------------------------- deletion


def experiments_found(spaces: Workspaces, project_id: int, experiments: Collection[int]) -> list[Event]:
    """`experiments`: all that are in a project whose deletion was requested. Without any, the project is deleted."""
    project = spaces.projects.get(project_id)
    if project is None or project.state is not State.DELETING:
        return []
    ordered = sorted(experiments)
    parts = [ordered[start : start + EXPERIMENTS_MAX] for start in range(0, len(ordered), EXPERIMENTS_MAX)]
    found: list[Event] = [ProjectExperimentsFound(project_id, tuple(part)) for part in parts]
    return found or ([] if project.experiments else [ProjectDeleted(project_id)])


def experiment_came(spaces: Workspaces, project_id: int, experiment_id: int) -> list[Event]:
    """An experiment was created in the project, or moved to it."""
    project = spaces.projects.get(project_id)
    gone = project_id in spaces.deleted_projects or (project is not None and project.state in LEAVING)
    return (
        [ProjectExperimentsFound(project_id, (experiment_id,))] if gone and experiment_id not in spaces.leaving else []
    )


def experiment_gone(spaces: Workspaces, experiment_id: int) -> list[Event]:
    """An experiment was deleted. The last one takes its project with it."""
    project_id = spaces.leaving.get(experiment_id)
    if project_id is None:
        return []
    gone: list[Event] = [ProjectExperimentGone(project_id, experiment_id)]
    project = spaces.projects.get(project_id)
    last = project is not None and project.state is State.DELETING and project.experiments == {experiment_id}
    return [*gone, ProjectDeleted(project_id)] if last else gone


def deletion_failed(spaces: Workspaces, experiment_id: int, reason: str) -> list[Event]:
    """An experiment could not be deleted."""
    project_id = spaces.leaving.get(experiment_id, 0)
    project = spaces.projects.get(project_id)
    if project is None or project.state is not State.DELETING:
        return []
    return [ProjectDeletionFailed(project_id, f"experiment {experiment_id}: {reason}")]


# ---------------------------------------------------------------- evolve


def evolve(spaces: Workspaces, event: Event) -> None:
    """Applies an event of a project."""
    project_id: int = event.project_id  # type: ignore[attr-defined]
    project = spaces.projects.get(project_id)
    before = project.state if project is not None else _without(spaces, project_id)
    after = FLOW[before, type(event)]
    if isinstance(event, ProjectCreated):
        return _created(spaces, event)
    if project is not None:
        project.state = after
        _learn(spaces, project, event)
    _follow(spaces, project_id, event)


def _without(spaces: Workspaces, project_id: int) -> ProjectState:
    return State.DELETED if project_id in spaces.deleted_projects else State.ABSENT


def _created(spaces: Workspaces, event: ProjectCreated) -> None:
    key = event.shown_key
    spaces.projects[event.project_id] = Project(event.workspace_id, event.name, event.description, key, event.immutable)
    spaces.keys[key] = event.project_id
    spaces.last_project = event.project_id


def _learn(spaces: Workspaces, project: Project, event: Event) -> None:
    match event:
        case ProjectChanged(project_id=project_id, changes=changes):
            project.name = changes.get("name", project.name)
            project.description = changes.get("description", project.description)
            project.key = changes.get("key", project.key)
            spaces.keys[project.key] = project_id
        case ProjectNotesSet(notes=notes):
            project.notes = notes
        case ProjectMoved(workspace_id=workspace_id):
            project.workspace_id = workspace_id
        case ProjectExperimentsFound(experiments=experiments):
            project.experiments.update(experiments)
        case ProjectExperimentGone(experiment_id=experiment_id):
            project.experiments.discard(experiment_id)


def _follow(spaces: Workspaces, project_id: int, event: Event) -> None:
    """Which experiments leave with a project, which may be gone already."""
    match event:
        case ProjectExperimentsFound(experiments=experiments):
            spaces.leaving.update(dict.fromkeys(experiments, project_id))
        case ProjectExperimentGone(experiment_id=experiment_id):
            spaces.leaving.pop(experiment_id, None)
        case ProjectDeleted():
            del spaces.projects[project_id]
            spaces.deleted_projects.add(project_id)
