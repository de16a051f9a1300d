"""The roles that users and groups hold: what may be done with them, and what is true afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from resolute.config.rights import CLUSTER_ADMIN, ROLES, Role
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.message import Event
from resolute.proto.rbac import AssignRoles, GroupDeleted, RoleAssignment, RolesAssigned, RolesUnassigned, UnassignRoles

State = Enum("State", "ABSENT HELD")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, RolesAssigned): State.HELD,
    (State.HELD, RolesUnassigned): State.ABSENT,
    (State.HELD, GroupDeleted): State.ABSENT,
}
"""Of one role that one user or group may hold on the cluster or on one workspace."""

AssignmentCommand = AssignRoles | UnassignRoles


FIRST = RoleAssignment(role_id=CLUSTER_ADMIN.id, user_id=1)
"""What every cluster begins with, without an event: the user `admin` may do everything. An event of its own would stop
gateways of an earlier release, which may still serve the cluster while it is upgraded."""


@dataclass(slots=True)
class Assignments:
    """Owned by the fold that grows it."""

    held: set[RoleAssignment] = field(default_factory=lambda: {FIRST})


def decide(command: AssignmentCommand, assignments: Assignments) -> list[Event]:
    """Raises InvalidConfig, NotFound, and Refused for a role that is held already."""
    wanted = tuple(dict.fromkeys(command.assignments))
    if not wanted:
        raise InvalidConfig("expected at least one role to assign or to remove; found none")
    match command:
        case AssignRoles():
            for one in wanted:
                _check_fits(one)
                if one in assignments.held:
                    raise refuse(f"assign {_said(one)}", "the role is assigned already", "leave it out")
            return [RolesAssigned(wanted)]
        case UnassignRoles():
            for one in wanted:
                if one not in assignments.held:
                    raise NotFound(f"cannot remove {_said(one)}: the role is not assigned")
            return [RolesUnassigned(wanted)]


def _check_fits(one: RoleAssignment) -> None:
    """Raises InvalidConfig for a role of the cluster on a workspace, NotFound for an unknown role."""
    if (one.user_id is None) == (one.group_id is None):
        raise InvalidConfig("expected either a user or a group to assign a role to")
    role = _role(one.role_id)
    if one.workspace_id is not None and not role.may_be_on_a_workspace:
        raise InvalidConfig(
            f"a global-only permission cannot be assigned to a local scope: role {role.name} can only be assigned on "
            "the whole cluster"
        )


def _role(role_id: int) -> Role:
    if (role := ROLES.get(role_id)) is None:
        raise NotFound(f"role '{role_id}' not found")
    return role


def _said(one: RoleAssignment) -> str:
    name = ROLES[one.role_id].name if one.role_id in ROLES else one.role_id
    whom = f"user {one.user_id}" if one.group_id is None else f"group {one.group_id}"
    where = "the cluster" if one.workspace_id is None else f"workspace {one.workspace_id}"
    return f"role {name} of {whom} on {where}"


def evolve(assignments: Assignments, event: Event) -> Assignments:
    match event:
        case RolesAssigned(assigned):
            for one in assigned:
                assert FLOW[_state(assignments, one), type(event)] is State.HELD
                assignments.held.add(one)
        case RolesUnassigned(unassigned):
            for one in unassigned:
                assert FLOW[_state(assignments, one), type(event)] is State.ABSENT
                assignments.held.remove(one)
        case GroupDeleted(group_id):
            for one in [one for one in assignments.held if one.group_id == group_id]:
                assert FLOW[_state(assignments, one), type(event)] is State.ABSENT
                assignments.held.remove(one)
        case _:
            raise AssertionError(f"not an event of roles that are held: {event}")
    return assignments


def _state(assignments: Assignments, one: RoleAssignment) -> State:
    return State.HELD if one in assignments.held else State.ABSENT
