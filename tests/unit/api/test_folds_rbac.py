"""What the gateway's rows of groups and roles come to."""

from __future__ import annotations

from resolute.api.rbac.projection import ASSIGNMENTS, GROUPS, MEMBERS, PROJECTION, Assignment, Group, Member
from resolute.proto.message import Event
from resolute.proto.rbac import (
    GroupCreated,
    GroupDeleted,
    GroupMembersAdded,
    GroupMembersRemoved,
    GroupRenamed,
    RoleAssignment,
    RolesAssigned,
    RolesUnassigned,
)
from resolute.proto.spaces import WorkspaceDeleted
from tests.unit.api.folding import Folding

VISION = (GroupCreated(1, "vision"), GroupMembersAdded(1, (3, 4)))
OF_USER = RoleAssignment(4, user_id=3, workspace_id=2)
OF_GROUP = RoleAssignment(5, group_id=1)
BOTH = RolesAssigned((OF_USER, OF_GROUP))
HELD_BY_USER = Assignment(user_id=3, group_id=0, role_id=4, workspace_id=2)
HELD_BY_GROUP = Assignment(user_id=0, group_id=1, role_id=5, workspace_id=0)


def after(*events: Event) -> Folding:
    folding = Folding(PROJECTION, "rbac-directory")
    folding.given(*events)
    return folding


def test_a_group_has_a_name_and_members() -> None:
    shown = after(*VISION, GroupRenamed(1, "images"), GroupMembersRemoved(1, (4,)))
    assert (shown.all(GROUPS), shown.all(MEMBERS)) == ([Group(1, "images")], [Member(1, 3)])


def test_a_role_is_held_until_it_is_taken_away() -> None:
    assert after(*VISION, BOTH).all(ASSIGNMENTS) == [HELD_BY_GROUP, HELD_BY_USER]
    assert after(*VISION, BOTH, RolesUnassigned((OF_USER,))).all(ASSIGNMENTS) == [HELD_BY_GROUP]


def test_a_group_goes_with_its_members_and_roles() -> None:
    shown = after(*VISION, BOTH, GroupDeleted(1))
    assert (shown.all(GROUPS), shown.all(MEMBERS)) == ([], [])
    assert shown.all(ASSIGNMENTS) == [HELD_BY_USER]


def test_no_role_is_held_on_a_workspace_that_is_gone() -> None:
    assert after(*VISION, BOTH, WorkspaceDeleted(2)).all(ASSIGNMENTS) == [HELD_BY_GROUP]
