"""Groups, and the roles that users and groups hold: what may be done with them."""

from __future__ import annotations

from functools import reduce

import pytest

from resolute.directory import rbac
from resolute.directory.assignments import AssignmentCommand
from resolute.directory.groups import GroupCommand
from resolute.directory.rbac import Rbac
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event
from resolute.proto.rbac import (
    AssignRoles,
    ChangeGroup,
    ChangeMemberships,
    CreateGroup,
    DeleteGroup,
    GroupCreated,
    GroupDeleted,
    GroupMembersAdded,
    GroupMembersRemoved,
    GroupRenamed,
    RoleAssignment,
    RolesAssigned,
    RolesUnassigned,
    UnassignRoles,
)

VISION = (GroupCreated(1, "vision"), GroupMembersAdded(1, (3, 4)))
SOUND = GroupCreated(2, "sound")
VIEWER, EDITOR = 4, 5


def after(*events: Event) -> Rbac:
    return reduce(rbac.evolve, events, Rbac())


def decided(command: GroupCommand | AssignmentCommand, *before: Event) -> list[Event]:
    events = rbac.decide(command, after(*before))
    after(*before, *events)  # can be folded
    return events


def test_groups_are_numbered_and_no_number_is_given_twice() -> None:
    assert decided(CreateGroup("vision", (3, 4, 3))) == [*VISION]
    assert decided(CreateGroup("new"), *VISION, SOUND, GroupDeleted(2)) == [GroupCreated(3, "new")]


@pytest.mark.parametrize("name", ["", "  ", "n" * 256, "7DeterminedPersonalGroup"])
def test_a_name_that_will_not_do_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^name: "):
        decided(CreateGroup(name))
    if name:
        with pytest.raises(InvalidConfig, match=r"^name: "):
            decided(ChangeGroup(1, name), *VISION)


def test_a_name_is_unique_and_free_again_once_its_group_is_gone() -> None:
    with pytest.raises(Refused, match="a group of that name exists"):
        decided(CreateGroup("vision"), *VISION)
    with pytest.raises(Refused, match="cannot rename group 'sound'"):
        decided(ChangeGroup(2, "vision"), *VISION, SOUND)
    assert decided(CreateGroup("vision"), *VISION, GroupDeleted(1))
    assert decided(CreateGroup("vision"), *VISION, GroupRenamed(1, "images"))


def test_a_change_says_all_of_it_at_once() -> None:
    assert decided(ChangeGroup(1, "images", (5,), (3,)), *VISION) == [
        GroupRenamed(1, "images"),
        GroupMembersAdded(1, (5,)),
        GroupMembersRemoved(1, (3,)),
    ]
    assert decided(ChangeGroup(1, "vision"), *VISION) == []


def test_who_is_a_member_cannot_join_and_who_is_none_cannot_leave() -> None:
    with pytest.raises(Refused, match="user 4 is a member already"):
        decided(ChangeGroup(1, "images", (5, 4)), *VISION)
    with pytest.raises(NotFound, match="user '5' is not a member"):
        decided(ChangeGroup(1, "", (), (3, 5)), *VISION)
    with pytest.raises(InvalidConfig, match="found 5 in both"):
        decided(ChangeGroup(1, "", (5,), (5,)), *VISION)


def test_users_join_and_leave_several_groups_whatever_they_are_in_already() -> None:
    assert decided(ChangeMemberships((3, 5), joined=(1, 2)), *VISION, SOUND) == [
        GroupMembersAdded(1, (5,)),
        GroupMembersAdded(2, (3, 5)),
    ]
    assert decided(ChangeMemberships((3, 5), left=(1, 2)), *VISION, SOUND) == [GroupMembersRemoved(1, (3,))]
    with pytest.raises(InvalidConfig, match="found 1 in both"):
        decided(ChangeMemberships((3,), (1,), (1,)), *VISION)


@pytest.mark.parametrize(
    "command",
    [
        ChangeGroup(9, "name"),
        DeleteGroup(9),
        ChangeMemberships((1,), joined=(9,)),
        ChangeMemberships((1,), left=(9,)),
        AssignRoles((RoleAssignment(VIEWER, group_id=9),)),
        UnassignRoles((RoleAssignment(VIEWER, group_id=9),)),
    ],
)
def test_an_unknown_group_is_not_found(command: GroupCommand | AssignmentCommand) -> None:
    with pytest.raises(NotFound, match="group '9' not found"):
        decided(command, *VISION)


OF_USER = RoleAssignment(VIEWER, user_id=3, workspace_id=2)
OF_GROUP = RoleAssignment(EDITOR, group_id=1)


def test_roles_are_assigned_to_users_and_groups_on_the_cluster_and_on_workspaces() -> None:
    assert decided(AssignRoles((OF_USER, OF_GROUP, OF_USER)), *VISION) == [RolesAssigned((OF_USER, OF_GROUP))]


def test_a_role_that_is_held_is_not_assigned_again_and_nothing_else_of_the_request_is() -> None:
    with pytest.raises(Refused, match="role Viewer of user 3 on workspace 2: the role is assigned already"):
        decided(AssignRoles((OF_GROUP, OF_USER)), *VISION, RolesAssigned((OF_USER,)))


def test_a_role_that_is_not_held_cannot_be_removed() -> None:
    before = (*VISION, RolesAssigned((OF_USER,)))
    assert decided(UnassignRoles((OF_USER,)), *before) == [RolesUnassigned((OF_USER,))]
    with pytest.raises(NotFound, match="role Editor of group 1 on the cluster: the role is not assigned"):
        decided(UnassignRoles((OF_USER, OF_GROUP)), *before)


@pytest.mark.parametrize("role_id", [1, 3, 8, 10])
def test_a_role_of_the_cluster_cannot_be_held_on_a_workspace(role_id: int) -> None:
    with pytest.raises(InvalidConfig, match="a global-only permission cannot be assigned to a local scope"):
        decided(AssignRoles((RoleAssignment(role_id, user_id=3, workspace_id=2),)))
    assert decided(AssignRoles((RoleAssignment(role_id, user_id=3),)))


def test_there_is_no_eleventh_role() -> None:
    with pytest.raises(NotFound, match="role '11' not found"):
        decided(AssignRoles((RoleAssignment(11, user_id=3),)))


def test_a_request_says_which_roles_and_whose() -> None:
    with pytest.raises(InvalidConfig, match="at least one role"):
        decided(AssignRoles(()))
    with pytest.raises(InvalidConfig, match="either a user or a group"):
        decided(AssignRoles((RoleAssignment(VIEWER),)))


def test_the_roles_of_a_group_go_with_it() -> None:
    found = after(*VISION, RolesAssigned((OF_USER, OF_GROUP)), *decided(DeleteGroup(1), *VISION))
    assert found.assignments.held == {OF_USER, *Rbac().assignments.held}


def test_a_new_cluster_has_one_administrator_who_can_lose_the_role() -> None:
    administrator = RoleAssignment(role_id=1, user_id=1)
    assert Rbac().assignments.held == {administrator}
    assert decided(UnassignRoles((administrator,))) == [RolesUnassigned((administrator,))]
    with pytest.raises(Refused):
        decided(AssignRoles((administrator,)))
