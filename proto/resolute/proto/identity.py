"""Users, workspaces and projects: the messages of the gateway, which owns them.

Secrets are not facts: password and token hashes live in a store of their own and never enter the log, which
is append-only and could not forget them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Event, Object


class UserEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.USER.name


class WorkspaceEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.WORKSPACE.name


@dataclass(frozen=True, slots=True)
class UserCreated(UserEvent):
    user_id: int
    username: str
    admin: bool
    active: bool
    display_name: str = ""
    remote: bool = False


@dataclass(frozen=True, slots=True)
class UserChanged(UserEvent):
    """`changes` holds the new values by field: username, admin, active, display_name, remote, agent_user_group."""

    user_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class PasswordChanged(UserEvent):
    user_id: int
    blank: bool


@dataclass(frozen=True, slots=True)
class SessionOpened(UserEvent):
    user_id: int
    session_id: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SessionClosed(UserEvent):
    user_id: int
    session_id: int


@dataclass(frozen=True, slots=True)
class WorkspaceCreated(WorkspaceEvent):
    workspace_id: int
    name: str
    owner_id: int
    immutable: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceChanged(WorkspaceEvent):
    """`changes` holds the new values by field: name, agent_user_group, checkpoint_storage, default_compute_pool,
    default_aux_pool. An empty one takes the setting away."""

    workspace_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ProjectCreated(WorkspaceEvent):
    """Written to its workspace's stream."""

    project_id: int
    workspace_id: int
    name: str
    description: str
    owner_id: int
    immutable: bool = False
