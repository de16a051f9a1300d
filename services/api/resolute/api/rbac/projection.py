"""Groups, their members and the roles that are held: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
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


@dataclass(frozen=True, slots=True)
class Group:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Member:
    group_id: int
    user_id: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """A role that a user or a group holds. 0 stands for none: where the group holds it, for the user; on the whole
    cluster, for the workspace."""

    user_id: int
    group_id: int
    role_id: int
    workspace_id: int


GROUPS = Table("groups", Group, key=("id",))

MEMBERS = Table("members", Member, key=("group_id", "user_id"), lookups=("group_id",))

ASSIGNMENTS = Table(
    "assignments",
    Assignment,
    key=("user_id", "group_id", "role_id", "workspace_id"),
    lookups=("group_id", "workspace_id"),
)


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, rows)


def _created(created: GroupCreated, rows: Rows) -> None:
    rows.put(GROUPS, Group(created.group_id, created.name))


def _renamed(renamed: GroupRenamed, rows: Rows) -> None:
    rows.change(GROUPS, renamed.group_id, name=renamed.name)


def _joined(joined: GroupMembersAdded, rows: Rows) -> None:
    for user_id in joined.user_ids:
        rows.put(MEMBERS, Member(joined.group_id, user_id))


def _left(left: GroupMembersRemoved, rows: Rows) -> None:
    for user_id in left.user_ids:
        rows.remove(MEMBERS, left.group_id, user_id)


def _deleted(deleted: GroupDeleted, rows: Rows) -> None:
    for member in rows.where(MEMBERS, "group_id", deleted.group_id):
        rows.remove(MEMBERS, member.group_id, member.user_id)
    for held in rows.where(ASSIGNMENTS, "group_id", deleted.group_id):
        rows.remove(ASSIGNMENTS, *ASSIGNMENTS.key_of(held))
    rows.remove(GROUPS, deleted.group_id)


def _assigned(assigned: RolesAssigned, rows: Rows) -> None:
    for one in assigned.assignments:
        rows.put(ASSIGNMENTS, row_of(one))


def _unassigned(unassigned: RolesUnassigned, rows: Rows) -> None:
    for one in unassigned.assignments:
        rows.remove(ASSIGNMENTS, *ASSIGNMENTS.key_of(row_of(one)))


def row_of(one: RoleAssignment) -> Assignment:
    return Assignment(one.user_id or 0, one.group_id or 0, one.role_id, one.workspace_id or 0)


def _workspace_deleted(deleted: WorkspaceDeleted, rows: Rows) -> None:
    """No role can be assigned or removed on a workspace that is gone, so none is shown."""
    for held in rows.where(ASSIGNMENTS, "workspace_id", deleted.workspace_id):
        rows.remove(ASSIGNMENTS, *ASSIGNMENTS.key_of(held))


SHOWS: Mapping[type[Event], Callable[[Any, Rows], None]] = {
    GroupCreated: _created,
    GroupRenamed: _renamed,
    GroupMembersAdded: _joined,
    GroupMembersRemoved: _left,
    GroupDeleted: _deleted,
    RolesAssigned: _assigned,
    RolesUnassigned: _unassigned,
    WorkspaceDeleted: _workspace_deleted,
}

PROJECTION = Projection(
    slice="rbac",
    version=1,
    tables=(GROUPS, MEMBERS, ASSIGNMENTS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.RBAC.name, streams.WORKSPACE.name}),
    project=project,
    ids={"groupId": (GROUPS, "id")},
)
