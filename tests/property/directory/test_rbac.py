"""Whatever is asked about groups and roles, in whatever order: what is decided can be folded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.directory import rbac
from resolute.directory.assignments import AssignmentCommand
from resolute.directory.groups import GroupCommand
from resolute.directory.rbac import Rbac
from resolute.proto.errors import ResoluteError
from resolute.proto.rbac import (
    AssignRoles,
    ChangeGroup,
    ChangeMemberships,
    CreateGroup,
    DeleteGroup,
    RoleAssignment,
    UnassignRoles,
)

Command = GroupCommand | AssignmentCommand

IDS = st.integers(1, 4)
SEVERAL = st.lists(IDS, max_size=3).map(tuple)
NAMES = st.sampled_from(("vision", "sound", "text"))
WORKSPACES = st.one_of(st.none(), st.integers(1, 2))
ROLES = st.sampled_from((1, 4, 5))
ASSIGNMENTS = st.lists(
    st.one_of(
        st.builds(RoleAssignment, ROLES, user_id=IDS, workspace_id=WORKSPACES),
        st.builds(RoleAssignment, ROLES, group_id=IDS, workspace_id=WORKSPACES),
    ),
    max_size=3,
).map(tuple)

COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(CreateGroup, NAMES, SEVERAL),
    st.builds(ChangeGroup, IDS, st.one_of(st.just(""), NAMES), SEVERAL, SEVERAL),
    st.builds(ChangeMemberships, SEVERAL, SEVERAL, SEVERAL),
    st.builds(DeleteGroup, IDS),
    st.builds(AssignRoles, ASSIGNMENTS),
    st.builds(UnassignRoles, ASSIGNMENTS),
)


@given(st.lists(COMMANDS, max_size=60))
@settings(max_examples=500, deadline=None)
def test_what_is_decided_about_groups_and_roles_can_always_be_folded(commands: Sequence[Command]) -> None:
    found = Rbac()
    for command in commands:
        try:
            events = rbac.decide(command, found)
        except ResoluteError:
            continue
        found = reduce(rbac.evolve, events, found)
        names = [group.name for group in found.groups.by_id.values()]
        assert len(names) == len(set(names))
        holders = {one.group_id for one in found.assignments.held} - {None}
        assert holders <= found.groups.by_id.keys()
