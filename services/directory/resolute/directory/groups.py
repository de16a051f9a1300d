"""Groups of users: what may be done with them, and what is true afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.message import Event
from resolute.proto.rbac import (
    ChangeGroup,
    ChangeMemberships,
    CreateGroup,
    DeleteGroup,
    GroupCreated,
    GroupDeleted,
    GroupMembersAdded,
    GroupMembersRemoved,
    GroupRenamed,
)

NAME_CHARS_MAX = 255

RESERVED = "DeterminedPersonalGroup"
"""Determined keeps what a user holds directly in a group of such a name: `7DeterminedPersonalGroup`. Clients that know
its groups by their names must not meet another one."""

State = Enum("State", "ABSENT PRESENT DELETED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, GroupCreated): State.PRESENT,
    (State.PRESENT, GroupRenamed): State.PRESENT,
    (State.PRESENT, GroupMembersAdded): State.PRESENT,
    (State.PRESENT, GroupMembersRemoved): State.PRESENT,
    (State.PRESENT, GroupDeleted): State.DELETED,
}
"""Of one group. A deleted one is forgotten, but for its number."""

GroupCommand = CreateGroup | ChangeGroup | ChangeMemberships | DeleteGroup


@dataclass(slots=True)
class Group:
    """Owned by the fold that grows it."""

    name: str
    members: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Groups:
    """Every group that was not deleted, by id. Owned by the fold that grows it."""

    by_id: dict[int, Group] = field(default_factory=dict)
    last_id: int = 0

    def known(self, group_id: int) -> Group:
        """Raises NotFound."""
        if (group := self.by_id.get(group_id)) is None:
            raise NotFound(f"group '{group_id}' not found")
        return group


def decide(command: GroupCommand, groups: Groups) -> list[Event]:
    """Raises InvalidConfig for a name that will not do, NotFound, and Refused."""
    match command:
        case CreateGroup(name, user_ids):
            _check_name(name, groups, f"create group {name!r}")
            group_id = groups.last_id + 1
            return [GroupCreated(group_id, name), *_joined(group_id, dict.fromkeys(user_ids))]
        case ChangeGroup():
            return _change(command, groups)
        case ChangeMemberships():
            return _change_memberships(command, groups)
        case DeleteGroup(group_id):
            groups.known(group_id)
            return [GroupDeleted(group_id)]


def _change(command: ChangeGroup, groups: Groups) -> list[Event]:
    group_id, name = command.group_id, command.name
    group = groups.known(group_id)
    renamed: list[Event] = []
    if name and name != group.name:
        _check_name(name, groups, f"rename group {group.name!r}")
        renamed = [GroupRenamed(group_id, name)]
    joining, leaving = dict.fromkeys(command.joining), dict.fromkeys(command.leaving)
    what = f"change group {group.name!r}"
    if both := joining.keys() & leaving.keys():
        raise InvalidConfig(f"addUsers, removeUsers: expected each user in one of them; found {min(both)} in both")
    if members := joining.keys() & group.members:
        raise refuse(what, f"user {min(members)} is a member already", "leave that user out")
    if strangers := leaving.keys() - group.members:
        raise NotFound(f"cannot {what}: user '{min(strangers)}' is not a member of it")
    return [*renamed, *_joined(group_id, joining), *_left(group_id, leaving)]


def _change_memberships(command: ChangeMemberships, groups: Groups) -> list[Event]:
    if both := set(command.joined) & set(command.left):
        raise InvalidConfig(f"addGroups, removeGroups: expected each group in one of them; found {min(both)} in both")
    events: list[Event] = []
    for group_id in dict.fromkeys(command.joined):
        members = groups.known(group_id).members
        events += _joined(group_id, dict.fromkeys(one for one in command.user_ids if one not in members))
    for group_id in dict.fromkeys(command.left):
        members = groups.known(group_id).members
        events += _left(group_id, dict.fromkeys(one for one in command.user_ids if one in members))
    return events


def _joined(group_id: int, user_ids: Iterable[int]) -> list[Event]:
    joined = tuple(user_ids)
    return [GroupMembersAdded(group_id, joined)] if joined else []


def _left(group_id: int, user_ids: Iterable[int]) -> list[Event]:
    left = tuple(user_ids)
    return [GroupMembersRemoved(group_id, left)] if left else []


def _check_name(name: str, groups: Groups, what: str) -> None:
    if not name.strip() or len(name) > NAME_CHARS_MAX:
        raise InvalidConfig(f"name: expected 1 to {NAME_CHARS_MAX} characters, not only spaces; found {name!r}")
    if RESERVED in name:
        raise InvalidConfig(f"name: expected a name without {RESERVED!r}, which is reserved; found {name!r}")
    if any(group.name == name for group in groups.by_id.values()):
        raise refuse(what, "a group of that name exists", "choose another name")


def evolve(groups: Groups, event: Event) -> Groups:
    match event:
        case GroupCreated(group_id, name):
            assert FLOW[_state(groups, group_id), type(event)] is State.PRESENT
            groups.by_id[group_id] = Group(name)
            groups.last_id = group_id
        case GroupRenamed(group_id, name):
            assert FLOW[_state(groups, group_id), type(event)] is State.PRESENT
            groups.by_id[group_id].name = name
        case GroupMembersAdded(group_id, user_ids):
            assert FLOW[_state(groups, group_id), type(event)] is State.PRESENT
            groups.by_id[group_id].members.update(user_ids)
        case GroupMembersRemoved(group_id, user_ids):
            assert FLOW[_state(groups, group_id), type(event)] is State.PRESENT
            groups.by_id[group_id].members.difference_update(user_ids)
        case GroupDeleted(group_id):
            assert FLOW[_state(groups, group_id), type(event)] is State.DELETED
            del groups.by_id[group_id]
        case _:
            raise AssertionError(f"not an event of groups: {event}")
    return groups


def _state(groups: Groups, group_id: int) -> State:
    return State.PRESENT if group_id in groups.by_id else State.ABSENT
