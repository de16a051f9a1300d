"""Users, workspaces and projects: what may be done with them, and what is true after it.

All users are one stream, `user-directory`, and all workspaces with their projects another, `workspace-directory`:
names are unique among them, and ids count up, so that a decision must see all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from resolute.config.pools import POSIX_ID_MAX
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.identity import (
    PasswordChanged,
    ProjectCreated,
    UserChanged,
    UserCreated,
    WorkspaceChanged,
    WorkspaceCreated,
)
from resolute.proto.message import Event

USERNAME = re.compile(r"[A-Za-z0-9_.@+$-]{1,64}")

RESERVED = frozenset({"admin", "determined"})
"""The first users' names: nobody else is shown under one of them."""

NAME_CHARS_MAX = 80


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
    by_id: dict[int, User] = field(default_factory=dict)

    def named(self, username: str) -> User | None:
        return next((user for user in self.by_id.values() if user.username == username), None)

    def get(self, user_id: int) -> User:
        if (user := self.by_id.get(user_id)) is None:
            raise NotFound(f"user {user_id} not found")
        return user


def create_user(
    users: Users, username: str, *, admin: bool, active: bool, display_name: str = "", remote: bool = False
) -> list[Event]:
    _check_username(users, username)
    check_display_name(username, display_name)
    user_id = max(users.by_id, default=0) + 1
    return [UserCreated(user_id, username, admin, active, display_name, remote)]


def change_user(users: Users, user_id: int, changes: Mapping[str, Any]) -> list[Event]:
    """`changes` by field; what is so already is left out."""
    user = users.get(user_id)
    real = {name: value for name, value in changes.items() if getattr(user, name) != value}
    if "username" in real:
        _check_username(users, real["username"])
    check_display_name(real.get("username", user.username), real.get("display_name", ""))
    if "agent_user_group" in real:
        check_agent_user(real["agent_user_group"])
    if user.admin and not _admins_left(users, user_id, real):
        raise refuse(f"change user {user.username}", "no active administrator would be left", "make another one first")
    return [UserChanged(user_id, real)] if real else []


def change_password(users: Users, user_id: int, *, blank: bool) -> list[Event]:
    return [PasswordChanged(users.get(user_id).user_id, blank)]


def check_display_name(username: str, display_name: str) -> None:
    """Raises InvalidConfig for the name of a first user, for anybody else."""
    asked = display_name.strip().casefold()
    if asked in RESERVED and asked != username.casefold():
        raise InvalidConfig(f"displayName: {display_name!r} is kept for the user {asked}; choose another")


def check_agent_user(group: Any) -> None:
    """Raises InvalidConfig unless `group` names a user and a group, each with its number; or is empty, for none."""
    if not isinstance(group, Mapping):
        raise InvalidConfig(f"agentUserGroup: expected an object; found {group!r}")
    for name, number in (("agentUser", "agentUid"), ("agentGroup", "agentGid")) if group else ():
        if not isinstance(group.get(name), str) or not group[name].strip():
            raise InvalidConfig(f"agentUserGroup.{name}: expected a name; found {group.get(name)!r}")
        value = group.get(number)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= POSIX_ID_MAX:
            raise InvalidConfig(f"agentUserGroup.{number}: expected a number from 0 to {POSIX_ID_MAX}; found {value!r}")


def _check_username(users: Users, username: str) -> None:
    if not USERNAME.fullmatch(username):
        raise InvalidConfig(f"username: {username!r} will not do: use 1 to 64 letters, digits and any of . _ @ + $ -")
    if users.named(username.lower()) or users.named(username):
        raise refuse(f"name a user {username}", "that user exists already", "choose another name")


def _admins_left(users: Users, user_id: int, changes: Mapping[str, Any]) -> bool:
    changed = {**users.by_id, user_id: replace(users.by_id[user_id], **changes)}
    return any(user.admin and user.active for user in changed.values())


def evolve_users(users: Users, event: Event) -> Users:
    match event:
        case UserCreated(user_id, username, admin, active, display_name, remote):
            users.by_id[user_id] = User(user_id, username, admin, active, display_name, remote)
        case UserChanged(user_id=user_id, changes=changes):
            users.by_id[user_id] = replace(users.by_id[user_id], **changes)
    return users


# ---------------------------------------------------------------- workspaces and projects


@dataclass(slots=True)
class Workspaces:
    names: dict[int, str] = field(default_factory=dict)
    projects: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By id: the workspace and the name."""
    immutable: set[int] = field(default_factory=set)
    settings: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By id: what the workspace says of the experiments in it."""


def create_workspace(
    workspaces: Workspaces,
    name: str,
    owner_id: int,
    settings: Mapping[str, Any] = MappingProxyType({}),
    *,
    immutable: bool = False,
) -> list[Event]:
    """`settings`: the changes of WorkspaceChanged, but for the name."""
    _check_workspace_name(workspaces, name, f"create workspace {name!r}")
    workspace_id = max(workspaces.names, default=0) + 1
    said = {field: value for field, value in settings.items() if value}
    created = WorkspaceCreated(workspace_id, name, owner_id, immutable)
    return [created, *([WorkspaceChanged(workspace_id, said)] if said else [])]


def change_workspace(workspaces: Workspaces, workspace_id: int, changes: Mapping[str, Any]) -> list[Event]:
    """`changes` by field; what is so already is left out."""
    if workspace_id not in workspaces.names:
        raise NotFound(f"workspace {workspace_id} not found")
    name = workspaces.names[workspace_id]
    if workspace_id in workspaces.immutable:
        raise refuse(f"change workspace {name!r}", "it cannot be changed", "make another one")
    before = {"name": name, **workspaces.settings.get(workspace_id, {})}
    real = {field: value for field, value in changes.items() if (before.get(field) or None) != (value or None)}
    if "name" in real:
        others = {each: known for each, known in workspaces.names.items() if each != workspace_id}
        _check_workspace_name(replace(workspaces, names=others), real["name"], f"rename workspace {name!r}")
    return [WorkspaceChanged(workspace_id, real)] if real else []


def _check_workspace_name(workspaces: Workspaces, name: str, what: str) -> None:
    _check_name("workspace", name)
    if name.casefold() in map(str.casefold, workspaces.names.values()):
        raise refuse(what, "a workspace of that name exists, in this case or another", "choose another name")


def create_project(
    workspaces: Workspaces, workspace_id: int, name: str, description: str, owner_id: int, *, immutable: bool = False
) -> list[Event]:
    _check_name("project", name)
    if workspace_id not in workspaces.names:
        raise NotFound(f"workspace {workspace_id} not found")
    if workspace_id in workspaces.immutable and not immutable:
        raise refuse(f"create project {name!r}", f"workspace {workspace_id} takes no projects", "use another workspace")
    if (workspace_id, name) in workspaces.projects.values():
        raise refuse(f"create project {name!r}", "its workspace has one of that name", "choose another name")
    project_id = max(workspaces.projects, default=0) + 1
    return [ProjectCreated(project_id, workspace_id, name, description, owner_id, immutable)]


def _check_name(kind: str, name: str) -> None:
    if not name.strip() or len(name) > NAME_CHARS_MAX:
        raise InvalidConfig(f"name: a {kind} needs a name of 1 to {NAME_CHARS_MAX} characters; found {name!r}")


def evolve_workspaces(workspaces: Workspaces, event: Event) -> Workspaces:
    match event:
        case WorkspaceCreated(workspace_id=workspace_id, name=name, immutable=immutable):
            workspaces.names[workspace_id] = name
            if immutable:
                workspaces.immutable.add(workspace_id)
        case WorkspaceChanged(workspace_id=workspace_id, changes=changes):
            said = dict(changes)
            workspaces.names[workspace_id] = said.pop("name", workspaces.names[workspace_id])
            workspaces.settings.setdefault(workspace_id, {}).update(said)
        case ProjectCreated(project_id=project_id, workspace_id=workspace_id, name=name):
            workspaces.projects[project_id] = (workspace_id, name)
    return workspaces
