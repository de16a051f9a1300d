"""Whatever is asked of workspaces and projects, in whatever order: what is decided can be folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.directory import projects, workspaces
from resolute.directory.spaces import Workspaces
from resolute.proto.errors import ResoluteError
from resolute.proto.identity import ChangeWorkspace, CreateProject, CreateWorkspace, ProjectCreated, WorkspaceCreated
from resolute.proto.message import Event
from resolute.proto.spaces import (
    AddProjectNote,
    ArchiveProject,
    ArchiveWorkspace,
    ChangeProject,
    DeleteProject,
    DeleteWorkspace,
    MoveProject,
    Note,
    PinWorkspace,
    SetProjectNotes,
    UnarchiveProject,
    UnarchiveWorkspace,
    UnpinWorkspace,
)

BEFORE: Sequence[Event] = (
    *workspaces.FIRST,
    WorkspaceCreated(2, "first", 1),
    WorkspaceCreated(3, "second", 1),
    ProjectCreated(2, 2, "one", "", 1, key="ONE"),
    ProjectCreated(3, 2, "two", "", 1, key="TWO"),
    ProjectCreated(4, 3, "three", "", 1, key="THREE"),
)

Step = Callable[[Workspaces], Sequence[Event]]

IDS = st.integers(1, 5)
NAMES = st.sampled_from(("vision", "sound", "Vision", "text"))


def asked(command: workspaces.WorkspaceCommand) -> Step:
    return partial(workspaces.decide, command)


COMMANDS: Sequence[st.SearchStrategy[workspaces.WorkspaceCommand]] = (
    st.builds(CreateWorkspace, NAMES, st.just(1)),
    st.builds(ChangeWorkspace, IDS, st.fixed_dictionaries({"name": NAMES})),
    st.builds(ArchiveWorkspace, IDS),
    st.builds(UnarchiveWorkspace, IDS),
    st.builds(PinWorkspace, IDS, IDS),
    st.builds(UnpinWorkspace, IDS, IDS),
    st.builds(DeleteWorkspace, IDS),
    st.builds(CreateProject, IDS, NAMES, st.just(""), st.just(1), key=st.sampled_from(("A", "B", "C"))),
    st.builds(ChangeProject, IDS, st.fixed_dictionaries({"name": NAMES})),
    st.builds(AddProjectNote, IDS, st.builds(Note, NAMES, NAMES)),
    st.builds(SetProjectNotes, IDS, st.lists(st.builds(Note, NAMES, NAMES), max_size=2).map(tuple)),
    st.builds(MoveProject, IDS, IDS),
    st.builds(ArchiveProject, IDS),
    st.builds(UnarchiveProject, IDS),
    st.builds(DeleteProject, IDS),
)

EXPERIMENTS = st.integers(1, 3)
MODELS = st.integers(0, 1)

REACTIONS: Sequence[st.SearchStrategy[Step]] = (
    st.builds(lambda id_: lambda spaces: workspaces.delete_projects(spaces, id_), IDS),
    st.builds(lambda id_, models: lambda spaces: workspaces.finish_deletion(spaces, id_, models), IDS, MODELS),
    st.builds(lambda id_: lambda spaces: workspaces.deletion_failed(spaces, id_, "a reason"), IDS),
    st.builds(
        lambda id_, found: lambda spaces: projects.experiments_found(spaces, id_, found), IDS, st.sets(EXPERIMENTS)
    ),
    st.builds(lambda id_, one: lambda spaces: projects.experiment_came(spaces, id_, one), IDS, EXPERIMENTS),
    st.builds(lambda one: lambda spaces: projects.experiment_gone(spaces, one), EXPERIMENTS),
    st.builds(lambda one: lambda spaces: projects.deletion_failed(spaces, one, "a reason"), EXPERIMENTS),
)

STEPS = st.one_of(*(command.map(asked) for command in COMMANDS), *REACTIONS)


@given(st.lists(STEPS, max_size=60))
@settings(max_examples=1000, deadline=None)
def test_what_is_decided_about_spaces_can_always_be_folded(steps: Sequence[Step]) -> None:
    spaces = reduce(workspaces.evolve, BEFORE, Workspaces())
    for step in steps:
        try:
            events = step(spaces)
        except ResoluteError:
            continue
        spaces = reduce(workspaces.evolve, events, spaces)
