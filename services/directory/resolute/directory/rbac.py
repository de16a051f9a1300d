"""Groups together with the roles that are held: one stream, since a role is held by a group that exists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from resolute.directory import assignments, groups
from resolute.directory.assignments import AssignmentCommand, Assignments
from resolute.directory.groups import GroupCommand, Groups
from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.message import Event
from resolute.proto.rbac import (
    AssignRoles,
    ChangeGroup,
    ChangeMemberships,
    CreateGroup,
    DeleteGroup,
    GroupCreated,
    GroupDeleted,
    RoleAssignment,
    RolesAssigned,
    RolesUnassigned,
    UnassignRoles,
)


@dataclass(slots=True)
class Rbac:
    groups: Groups = field(default_factory=Groups)
    assignments: Assignments = field(default_factory=Assignments)


def decide(command: GroupCommand | AssignmentCommand, rbac: Rbac) -> list[Event]:
    """Raises InvalidConfig, NotFound and Refused."""
    match command:
        case AssignRoles(wanted) | UnassignRoles(wanted):
            for one in wanted:
                if one.group_id is not None:
                    rbac.groups.known(one.group_id)
            return assignments.decide(command, rbac.assignments)
        case _:
            return groups.decide(command, rbac.groups)


def creators(user_id: int, role_id: int) -> Callable[[int], AssignRoles]:
    """The command that gives a role on a workspace, by its number, to the user who creates it."""

    def role(workspace_id: int) -> AssignRoles:
        return AssignRoles((RoleAssignment(role_id, user_id=user_id, workspace_id=workspace_id),))

    return role


def evolve(rbac: Rbac, event: Event) -> Rbac:
    if isinstance(event, (RolesAssigned, RolesUnassigned, GroupDeleted)):
        assignments.evolve(rbac.assignments, event)
    if not isinstance(event, (RolesAssigned, RolesUnassigned)):
        groups.evolve(rbac.groups, event)
    return rbac


PART = Part(
    commands=frozenset({CreateGroup, ChangeGroup, ChangeMemberships, DeleteGroup, AssignRoles, UnassignRoles}),
    stream_of=lambda command: streams.RBAC_DIRECTORY,
    initial=Rbac,
    decide=decide,
    evolve=evolve,
    ids={GroupCreated: "group_id"},
)
