"""What else may be done with workspaces and projects: archives, pins, moves, notes, keys and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pytest

from resolute.directory import projects, workspaces
from resolute.directory.spaces import Workspaces
from resolute.directory.workspaces import WorkspaceCommand
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.identity import ChangeWorkspace, CreateProject, CreateWorkspace, ProjectCreated, WorkspaceCreated
from resolute.proto.message import Event
from resolute.proto.spaces import (
    EXPERIMENTS_MAX,
    AddProjectNote,
    ArchiveProject,
    ArchiveWorkspace,
    ChangeProject,
    DeleteProject,
    DeleteWorkspace,
    MoveProject,
    Note,
    PinWorkspace,
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

BEFORE: Sequence[Event] = (
    *workspaces.FIRST,
    WorkspaceCreated(2, "vision", 7),
    WorkspaceCreated(3, "sound", 7),
    ProjectCreated(2, 2, "digits", "of people", 7, key="DIG"),
    ProjectCreated(3, 2, "letters", "", 7, key="LET"),
    ProjectCreated(4, 3, "digits", "", 7, key="SND"),
)


def after(*events: Event) -> Workspaces:
    return reduce(workspaces.evolve, [*BEFORE, *events], Workspaces())


def decided(command: WorkspaceCommand, *events: Event) -> list[Event]:
    return workspaces.decide(command, after(*events))


def refused(command: WorkspaceCommand, *events: Event) -> str:
    with pytest.raises(Refused) as refusal:
        decided(command, *events)
    return refusal.value.message


# ---------------------------------------------------------------- archives and pins


def test_a_workspace_is_archived_once_and_taken_out_once() -> None:
    archived = WorkspaceArchived(2)
    assert decided(ArchiveWorkspace(2)) == [archived]
    assert decided(ArchiveWorkspace(2), archived) == []
    assert decided(UnarchiveWorkspace(2)) == []
    assert decided(UnarchiveWorkspace(2), archived) == [WorkspaceUnarchived(2)]
    assert decided(ChangeWorkspace(2, {"name": "eyes"}), archived, WorkspaceUnarchived(2))


@pytest.mark.parametrize("command", [ArchiveWorkspace(1), UnarchiveWorkspace(1), DeleteWorkspace(1)])
def test_the_first_workspace_stays_as_it_is(command: WorkspaceCommand) -> None:
    assert "is immutable" in refused(command)


@pytest.mark.parametrize(
    "command",
    [ArchiveProject(1), DeleteProject(1), MoveProject(1, 2), ChangeProject(1, {"name": "n"}), UnarchiveProject(1)],
)
def test_the_first_project_stays_as_it_is(command: WorkspaceCommand) -> None:
    assert "is immutable" in refused(command)


def test_an_archived_workspace_takes_no_change_and_no_project() -> None:
    archived = WorkspaceArchived(2)
    no_projects = "workspace (2) is archived and cannot add new projects"
    assert refused(CreateProject(2, "new", "", 7), archived) == no_projects
    assert refused(MoveProject(4, 2), archived) == no_projects
    assert "is archived" in refused(ChangeWorkspace(2, {"name": "eyes"}), archived)
    assert "is archived" in refused(ChangeProject(2, {"name": "n"}), archived)
    assert "is archived" in refused(MoveProject(2, 3), archived)
    unarchive_first = "This project belongs to an archived workspace. To make changes, first unarchive the workspace."
    assert refused(ArchiveProject(2), archived) == unarchive_first
    assert refused(UnarchiveProject(2), archived) == unarchive_first


def test_an_archived_project_is_not_changed_and_not_moved() -> None:
    archived = ProjectArchived(2)
    assert decided(ArchiveProject(2)) == [archived]
    assert decided(ArchiveProject(2), archived) == []
    assert decided(UnarchiveProject(2)) == []
    assert decided(UnarchiveProject(2), archived) == [ProjectUnarchived(2)]
    assert "is archived" in refused(ChangeProject(2, {"name": "n"}), archived)
    assert "is archived" in refused(MoveProject(2, 3), archived)
    assert decided(ChangeProject(2, {"name": "n"}), archived, ProjectUnarchived(2))


def test_each_user_has_pins_of_the_users_own() -> None:
    pinned = WorkspacePinned(2, 8)
    assert decided(PinWorkspace(2, 8)) == [pinned]
    assert decided(PinWorkspace(2, 8), pinned) == []
    assert decided(PinWorkspace(2, 9), pinned) == [WorkspacePinned(2, 9)]
    assert decided(UnpinWorkspace(2, 8)) == []
    assert decided(UnpinWorkspace(2, 8), pinned) == [WorkspaceUnpinned(2, 8)]
    archived = (pinned, WorkspaceArchived(2))
    assert decided(UnpinWorkspace(2, 8), *archived) == [WorkspaceUnpinned(2, 8)]
    assert decided(PinWorkspace(2, 8), *archived, WorkspaceUnpinned(2, 8), WorkspacePinned(2, 9)) == [pinned]
    assert decided(PinWorkspace(2, 8), pinned, WorkspaceUnpinned(2, 8)) == [pinned]


# ---------------------------------------------------------------- projects


def test_only_what_changes_of_a_project_is_written() -> None:
    change = ChangeProject(2, {"name": "digits", "description": "", "key": "dig"})
    assert decided(change) == [ProjectChanged(2, {"description": ""})]
    assert decided(ChangeProject(2, {"key": "new1"})) == [ProjectChanged(2, {"key": "NEW1"})]


def test_two_projects_of_one_workspace_never_share_a_name() -> None:
    assert "has one of that name" in refused(CreateProject(2, "digits", "", 7))
    assert "has one of that name" in refused(ChangeProject(3, {"name": "digits"}))
    assert "has one of that name" in refused(MoveProject(4, 2))
    assert decided(MoveProject(4, 2), ProjectChanged(4, {"name": "tones"})) == [ProjectMoved(4, 2)]
    assert decided(MoveProject(4, 3)) == []
    assert decided(MoveProject(3, 3), ProjectMoved(3, 3)) == []
    assert "immutable" in refused(MoveProject(4, 1))


@pytest.mark.parametrize("key", ["", "toolong", "A-B", "\u00e9", "\u00b2"])
def test_a_key_is_one_to_five_letters_or_digits(key: str) -> None:
    with pytest.raises(InvalidConfig, match="key"):
        decided(ChangeProject(2, {"key": key}))


def test_a_key_is_never_given_to_another_project() -> None:
    changed = ProjectChanged(2, {"key": "NEW"})
    for taken in ("LET", "dig", "new"):
        assert "another project has it or had it" in refused(CreateProject(3, "n", "", 7, key=taken), changed)
    assert decided(ChangeProject(2, {"key": "DIG"}), changed) == [ProjectChanged(2, {"key": "DIG"})]
    assert refused(ChangeProject(3, {"key": "DIG"}), ProjectDeletionRequested(2), ProjectDeleted(2))
    assert refused(CreateProject(2, "n", "", 7, key="p1")), "the first project has this key"


def test_a_project_without_a_wanted_key_gets_one_of_its_name() -> None:
    def key(name: str, seed: int, *events: Event) -> str:
        [created] = decided(CreateProject(3, name, "", 7, seed=seed), *events)
        assert isinstance(created, ProjectCreated)
        return created.key

    assert key("a b-c", 1).startswith("ABC")
    assert len(key("a b-c", 1)) == 5
    assert key("a b-c", 1) == key("a b-c", 1) != key("a b-c", 2)
    assert len(key("\u00e9\u00e9", 1)) == 5
    taken = [ProjectCreated(10 + n, 3, str(n), "", 7, key=key("vision", n)) for n in range(1)]
    assert key("vision", 0, *taken) != taken[0].key


def test_notes_are_added_or_replaced_also_on_the_first_project() -> None:
    first, second = Note("a", "1"), Note("b", "2")
    assert decided(AddProjectNote(1, first)) == [ProjectNotesSet(1, (first,))]
    assert decided(AddProjectNote(2, second), ProjectNotesSet(2, (first,))) == [ProjectNotesSet(2, (first, second))]
    assert decided(SetProjectNotes(2, ()), ProjectNotesSet(2, (first,))) == [ProjectNotesSet(2, ())]
    assert decided(SetProjectNotes(2, ())) == []
    with pytest.raises(InvalidConfig, match="at most"):
        decided(SetProjectNotes(2, (first,) * 1_001))


# ---------------------------------------------------------------- deletion


def test_an_empty_project_goes_at_once_and_its_number_and_key_stay_used() -> None:
    asked = ProjectDeletionRequested(4)
    assert decided(DeleteProject(4)) == [asked]
    assert projects.experiments_found(after(asked), 4, ()) == [ProjectDeleted(4)]
    gone = (asked, ProjectDeleted(4))
    with pytest.raises(NotFound):
        decided(ArchiveProject(4), *gone)
    [created] = decided(CreateProject(3, "digits", "", 7, key="S2"), *gone)
    assert isinstance(created, ProjectCreated)
    assert created.project_id == 5
    assert projects.experiments_found(after(*gone), 4, (9,)) == []


def test_a_project_goes_with_its_last_experiment() -> None:
    found = ProjectExperimentsFound(4, (8, 9))
    asked = ProjectDeletionRequested(4)
    assert projects.experiments_found(after(asked), 4, {9, 8}) == [found]
    assert projects.experiment_gone(after(asked, found), 8) == [ProjectExperimentGone(4, 8)]
    one_left = (asked, found, ProjectExperimentGone(4, 8))
    assert projects.experiment_gone(after(*one_left), 8) == []
    assert projects.experiment_gone(after(*one_left), 9) == [ProjectExperimentGone(4, 9), ProjectDeleted(4)]
    assert projects.experiment_gone(after(*one_left), 10) == []


def test_many_experiments_are_named_by_several_events() -> None:
    found = projects.experiments_found(after(ProjectDeletionRequested(4)), 4, range(1, 2 * EXPERIMENTS_MAX + 2))
    assert [len(event.experiments) for event in found if isinstance(event, ProjectExperimentsFound)] == [200, 200, 1]


def test_an_experiment_that_comes_into_a_project_too_late_is_deleted_too() -> None:
    asked, late = ProjectDeletionRequested(4), ProjectExperimentsFound(4, (9,))
    gone = (asked, ProjectDeleted(4))
    failed = (asked, ProjectExperimentsFound(4, (8,)), ProjectDeletionFailed(4, "no"))
    for before in ((asked,), gone, failed):
        assert projects.experiment_came(after(*before), 4, 9) == [late]
        assert projects.experiment_came(after(*before, late), 4, 9) == []
        assert ProjectExperimentGone(4, 9) in projects.experiment_gone(after(*before, late), 9)
        after(*before, late, ProjectExperimentGone(4, 9))
    assert projects.experiment_came(after(), 4, 9) == []


def test_a_deletion_that_failed_says_why_and_may_be_asked_for_again() -> None:
    asked, found = ProjectDeletionRequested(4), ProjectExperimentsFound(4, (8,))
    failed = ProjectDeletionFailed(4, "experiment 8: its storage is away")
    assert projects.deletion_failed(after(asked, found), 8, "its storage is away") == [failed]
    assert projects.deletion_failed(after(asked, found, failed), 8, "again") == []
    assert decided(DeleteProject(4), asked, found, failed) == [asked]
    assert projects.experiments_found(after(asked, found, failed, asked), 4, {8}) == [found]
    assert decided(DeleteProject(4), asked) == [asked]
    assert decided(DeleteProject(4), ProjectArchived(4)) == [asked]
    assert projects.experiments_found(after(ProjectArchived(4), asked, asked), 4, ()) == [ProjectDeleted(4)]


def test_what_is_being_deleted_is_not_changed() -> None:
    asked = (WorkspaceDeletionRequested(3), ProjectDeletionRequested(4))
    for command in (
        *(ArchiveWorkspace(3), PinWorkspace(3, 7), ChangeWorkspace(3, {"name": "n"}), CreateProject(3, "n", "", 7)),
        *(ArchiveProject(4), SetProjectNotes(4, (Note("a", "b"),)), MoveProject(4, 2), MoveProject(2, 3)),
        ChangeProject(4, {"name": "n"}),
    ):
        assert "is being deleted" in refused(command, *asked)


def test_a_workspace_goes_when_its_projects_are_gone() -> None:
    asked = WorkspaceDeletionRequested(2)
    assert decided(DeleteWorkspace(2)) == [asked]
    assert workspaces.delete_projects(after(asked), 2) == [ProjectDeletionRequested(2), ProjectDeletionRequested(3)]
    one = (asked, ProjectDeletionRequested(2), ProjectDeleted(2), ProjectDeletionRequested(3))
    assert workspaces.finish_deletion(after(*one), 2, models=0) == []
    both = (*one, ProjectDeleted(3))
    assert workspaces.finish_deletion(after(*both), 2, models=0) == [WorkspaceDeleted(2)]
    with pytest.raises(NotFound):
        decided(DeleteWorkspace(2), *both, WorkspaceDeleted(2))
    assert workspaces.finish_deletion(after(*both, WorkspaceDeleted(2)), 2, models=0) == []
    [created, _] = decided(CreateWorkspace("vision", 7), *both, WorkspaceDeleted(2))
    assert created == WorkspaceCreated(4, "vision", 7)


def test_a_workspace_that_a_project_or_a_model_keeps_says_why_and_may_be_deleted_again() -> None:
    asked = WorkspaceDeletionRequested(3)
    failed = WorkspaceDeletionFailed(3, "project 'digits': no")
    assert workspaces.deletion_failed(after(asked), 3, failed.reason) == [failed]
    assert workspaces.deletion_failed(after(asked, failed), 3, "again") == []
    assert decided(DeleteWorkspace(3), asked, failed) == [asked]
    assert workspaces.deletion_failed(after(asked, failed, asked), 3, failed.reason) == [failed]
    assert decided(DeleteWorkspace(3), asked) == [asked]
    assert decided(DeleteWorkspace(3), WorkspaceArchived(3)) == [asked]
    empty = (WorkspaceArchived(3), asked, asked, ProjectDeletionRequested(4), ProjectDeleted(4))
    [kept] = workspaces.finish_deletion(after(*empty), 3, models=1)
    assert kept == WorkspaceDeletionFailed(3, "workspace (3) contains models; move or delete models first")


def test_an_archived_project_still_takes_notes() -> None:
    [noted] = decided(AddProjectNote(2, Note("why", "it is over")), ProjectArchived(2))
    assert noted == ProjectNotesSet(2, (Note("why", "it is over"),))
    assert after(ProjectArchived(2), noted).project(2).notes == (Note("why", "it is over"),)
