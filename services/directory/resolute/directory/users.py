"""Users: what may be done with them, and what is true afterwards.

All users are one stream, `user-directory`: names are unique among them, an administrator must be left, and ids count
up, so that a decision must see all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import reduce
from typing import Any

from resolute.config.agent_user import check_agent_user
from resolute.directory.part import Part, Seed
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, ResoluteError, refuse
from resolute.proto.identity import (
    ActivateUsers,
    ChangePassword,
    ChangeUser,
    CreateUser,
    PasswordChanged,
    UserChanged,
    UserCreated,
)
from resolute.proto.message import Event, Object

USERNAME = re.compile(r"[A-Za-z0-9_.@+$-]{1,64}")

RESERVED = frozenset({"admin", "determined"})
"""The names of the first users: no other user may be displayed under one of them."""

FIRST: Sequence[Event] = (
    UserCreated(1, "admin", admin=True, active=True),
    UserCreated(2, "determined", admin=False, active=True),
)
"""The users of a new cluster."""

State = Enum("State", "ABSENT PRESENT")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, UserCreated): State.PRESENT,
    (State.PRESENT, UserChanged): State.PRESENT,
    (State.PRESENT, PasswordChanged): State.PRESENT,
}
"""Of one user. Users are never deleted: experiments and the history go on naming them."""

UserCommand = CreateUser | ChangeUser | ActivateUsers | ChangePassword


@dataclass(frozen=True, slots=True)
class User:
    user_id: int
    username: str
    admin: bool
    active: bool
    display_name: str = ""
    remote: bool = False
    agent_user_group: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Users:
    """Every user, by id. Owned by the fold that grows it."""

    by_id: dict[int, User] = field(default_factory=dict)

    def named(self, username: str) -> User | None:
        return next((user for user in self.by_id.values() if user.username == username), None)

    def get(self, user_id: int) -> User:
        """Raises NotFound."""
        if (user := self.by_id.get(user_id)) is None:
            raise NotFound(f"user {user_id} not found")
        return user


def decide(command: UserCommand, users: Users) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateUser():
            return _create(command, users)
        case ChangeUser(user_id=user_id, changes=changes):
            return _change(users, user_id, changes)
        case ActivateUsers():
            return activate(command, users)[0]
        case ChangePassword(user_id=user_id, blank=blank):
            return [PasswordChanged(users.get(user_id).user_id, blank)]


def seed(users: Users) -> Sequence[Event]:
    """The first users, where there are none yet."""
    return () if users.by_id else FIRST


def activate(command: ActivateUsers, users: Users) -> tuple[list[Event], dict[int, str]]:
    """What happens, and why some of the users cannot be changed, by id: those are passed over. Each user is decided
    with the ones before it already changed, so that an active administrator is left."""
    events: list[Event] = []
    refused: dict[int, str] = {}
    after = Users(dict(users.by_id))
    for user_id in dict.fromkeys(command.user_ids):
        try:
            changed = _change(after, user_id, {"active": command.active})
        except ResoluteError as error:
            refused[user_id] = error.message
            continue
        after = reduce(evolve, changed, after)
        events += changed
    return events, refused


def _create(command: CreateUser, users: Users) -> list[Event]:
    _check_username(users, command.username)
    _check_display_name(command.username, command.display_name)
    check_agent_user(command.agent_user_group)
    user_id = max(users.by_id, default=0) + 1
    created = UserCreated(
        user_id, command.username, command.admin, command.active, command.display_name, command.remote
    )
    group = {"agent_user_group": command.agent_user_group}
    return [created, *([UserChanged(user_id, group)] if command.agent_user_group else [])]


def _change(users: Users, user_id: int, changes: Mapping[str, Any]) -> list[Event]:
    """`changes` holds new values by field; a value that the user has already is left out."""
    user = users.get(user_id)
    real: Object = {name: value for name, value in changes.items() if getattr(user, name) != value}
    if "username" in real:
        _check_username(users, real["username"])
    _check_display_name(real.get("username", user.username), real.get("display_name", ""))
    if "agent_user_group" in real:
        check_agent_user(real["agent_user_group"])
    if user.admin and not _admins_left(users, user_id, real):
        raise refuse(f"change user {user.username}", "no active administrator would be left", "make another one first")
    return [UserChanged(user_id, real)] if real else []


def _check_display_name(username: str, display_name: str) -> None:
    """Raises InvalidConfig where another user would be displayed under the name of a first user."""
    asked = display_name.strip().casefold()
    if asked in RESERVED and asked != username.casefold():
        raise InvalidConfig(f"displayName: {display_name!r} is kept for the user {asked}; choose another")


def _check_username(users: Users, username: str) -> None:
    if not USERNAME.fullmatch(username):
        raise InvalidConfig(f"username: {username!r} will not do: use 1 to 64 letters, digits and any of . _ @ + $ -")
    if users.named(username.lower()) or users.named(username):
        raise refuse(f"name a user {username}", "that user exists already", "choose another name")


def _admins_left(users: Users, user_id: int, changes: Mapping[str, Any]) -> bool:
    changed = {**users.by_id, user_id: replace(users.by_id[user_id], **changes)}
    return any(user.admin and user.active for user in changed.values())


def evolve(users: Users, event: Event) -> Users:
    match event:
        case UserCreated(user_id=user_id) | UserChanged(user_id=user_id) | PasswordChanged(user_id=user_id):
            before = State.PRESENT if user_id in users.by_id else State.ABSENT
            assert FLOW[before, type(event)] is State.PRESENT
            _learn(users, event)
            return users
    raise AssertionError(f"not an event of users: {event}")


def _learn(users: Users, event: Event) -> None:
    match event:
        case UserCreated(user_id, username, admin, active, display_name, remote):
            users.by_id[user_id] = User(user_id, username, admin, active, display_name, remote)
        case UserChanged(user_id=user_id, changes=changes):
            users.by_id[user_id] = replace(users.by_id[user_id], **changes)


PART = Part(
    commands=frozenset({CreateUser, ChangeUser, ActivateUsers, ChangePassword}),
    stream_of=lambda command: streams.USER_DIRECTORY,
    initial=Users,
    decide=decide,
    evolve=evolve,
    ids={UserCreated: "user_id"},
    seed=Seed(streams.USER_DIRECTORY, seed),
)
