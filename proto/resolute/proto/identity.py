"""Users, their sessions, workspaces and projects: the messages of the directory, which owns them.

Secrets are not facts: the gateway keeps the hashes of passwords and tokens in a store of their own. They never enter
the log, which is append-only and could not forget them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object


class DirectoryCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


class UserEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.USER.name


class SettingsEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.SETTINGS.name


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
    """Written to the user's own stream, `user-7`, as SessionClosed is."""

    user_id: int
    session_id: int
    expires_at: datetime
    opened_at: datetime | None = None
    """None in events of releases that did not say."""


@dataclass(frozen=True, slots=True)
class SessionClosed(UserEvent):
    user_id: int
    session_id: int


@dataclass(frozen=True, slots=True)
class UserSetting:
    """One setting that the web app keeps for a user: a text, under a key and a path."""

    key: str
    storage_path: str
    value: str


@dataclass(frozen=True, slots=True)
class UserSettingsChanged(SettingsEvent):
    """Written to a stream of the user's own, `settings-7`, as UserSettingsReset is. `settings` are those with a new
    value; the others stay."""

    user_id: int
    settings: tuple[UserSetting, ...]
    carried_over: bool = False
    """Whether they come from the table of a release that recorded no changes of settings."""


@dataclass(frozen=True, slots=True)
class UserSettingsReset(SettingsEvent):
    """The user has no settings any more."""

    user_id: int


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
    key: str = ""
    """Empty in events of releases that gave out no keys."""

    @property
    def shown_key(self) -> str:
        """A project of an earlier release has a key that is made of its number."""
        return self.key or f"P{self.project_id}"


# ---------------------------------------------------------------- commands

SESSIONS_MAX = 1_000
"""How many sessions one command closes, so that commands and appends stay small."""


@dataclass(frozen=True, slots=True)
class CreateUser(DirectoryCommand):
    """The reply's data has `user_id`."""

    username: str
    admin: bool
    active: bool
    display_name: str = ""
    remote: bool = False
    agent_user_group: Object = field(default_factory=dict)
    """Whom tasks of this user run as on agents; empty where nothing is said."""


@dataclass(frozen=True, slots=True)
class ChangeUser(DirectoryCommand):
    """`changes` as in UserChanged."""

    user_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ActivateUsers(DirectoryCommand):
    """Activate or deactivate users. The reply's data has `refused`: by id, why a user was not changed."""

    user_ids: tuple[int, ...]
    active: bool


@dataclass(frozen=True, slots=True)
class ChangePassword(DirectoryCommand):
    """The gateway has stored the hash of a user's new password, and ended these sessions of the user: at most
    `SESSIONS_MAX`, others are closed before."""

    user_id: int
    blank: bool
    sessions_ended: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenSession(DirectoryCommand):
    """The gateway has handed out a token for a new session."""

    user_id: int
    session_id: int
    opened_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class CloseSessions(DirectoryCommand):
    """At most `SESSIONS_MAX` of them. A session that is closed already is left alone."""

    user_id: int
    session_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChangeUserSettings(DirectoryCommand):
    """With `carried_over`, the settings come from the table of an earlier release: those that the user has changed
    since are left as they are."""

    user_id: int
    settings: tuple[UserSetting, ...]
    carried_over: bool = False


@dataclass(frozen=True, slots=True)
class ResetUserSettings(DirectoryCommand):
    user_id: int


@dataclass(frozen=True, slots=True)
class CreateWorkspace(DirectoryCommand):
    """`settings`: the changes of WorkspaceChanged, but for the name. The reply's data has `workspace_id`."""

    name: str
    owner_id: int
    settings: Object = field(default_factory=dict)
    creators_role: int | None = None
    """The id of the role on the workspace that the user who creates it gets; None for none."""


@dataclass(frozen=True, slots=True)
class ChangeWorkspace(DirectoryCommand):
    """`changes` as in WorkspaceChanged."""

    workspace_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class CreateProject(DirectoryCommand):
    """The reply's data has `project_id`."""

    workspace_id: int
    name: str
    description: str
    owner_id: int
    key: str = ""
    """The key that the project gets; where it is empty, the directory makes one of the name and of `seed`."""
    seed: int = 0
