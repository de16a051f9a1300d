"""Groups of users, and the roles that users and groups hold. The directory owns both.

All of them are one stream, `rbac-directory`: names of groups are unique, and a role is held once. The roles themselves
are fixed: `resolute.config.rights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event


class RbacEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.RBAC.name


class RbacCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class RoleAssignment:
    """That a user or a group holds a role: one of the two is given."""

    role_id: int
    user_id: int | None = None
    group_id: int | None = None
    workspace_id: int | None = None
    """Where the role counts; None for the whole cluster."""


@dataclass(frozen=True, slots=True)
class GroupCreated(RbacEvent):
    sentence: ClassVar[str] = "group {group_id} ({name}) was created"
    group_id: int
    name: str


@dataclass(frozen=True, slots=True)
class GroupRenamed(RbacEvent):
    sentence: ClassVar[str] = "group {group_id} was renamed to {name}"
    group_id: int
    name: str


@dataclass(frozen=True, slots=True)
class GroupMembersAdded(RbacEvent):
    sentence: ClassVar[str] = "users {user_ids} joined group {group_id}"
    group_id: int
    user_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupMembersRemoved(RbacEvent):
    sentence: ClassVar[str] = "users {user_ids} left group {group_id}"
    group_id: int
    user_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupDeleted(RbacEvent):
    """The roles that it held go with it."""

    sentence: ClassVar[str] = "group {group_id} was deleted"
    group_id: int


@dataclass(frozen=True, slots=True)
class RolesAssigned(RbacEvent):
    assignments: tuple[RoleAssignment, ...]


@dataclass(frozen=True, slots=True)
class RolesUnassigned(RbacEvent):
    assignments: tuple[RoleAssignment, ...]


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateGroup(RbacCommand):
    """The reply's data has `group_id`."""

    name: str
    user_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeGroup(RbacCommand):
    """Refused as a whole where one of `joining` is a member already, or one of `leaving` is none."""

    group_id: int
    name: str = ""
    """Empty: the name stays."""
    joining: tuple[int, ...] = ()
    leaving: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DeleteGroup(RbacCommand):
    group_id: int


@dataclass(frozen=True, slots=True)
class ChangeMemberships(RbacCommand):
    """Lets each user join some groups and leave others. Those who have joined, or left, already stay as they are."""

    user_ids: tuple[int, ...]
    joined: tuple[int, ...] = ()
    left: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class AssignRoles(RbacCommand):
    """All of them, or none where one is held already."""

    assignments: tuple[RoleAssignment, ...]


@dataclass(frozen=True, slots=True)
class UnassignRoles(RbacCommand):
    """All of them, or none where one is not held."""

    assignments: tuple[RoleAssignment, ...]
