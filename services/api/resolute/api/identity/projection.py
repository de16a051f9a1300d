"""Users and the settings that the web app keeps for them: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Projection, Rows, Table
from resolute.proto import streams
from resolute.proto.identity import (
    PasswordChanged,
    SessionOpened,
    UserChanged,
    UserCreated,
    UserSettingsChanged,
    UserSettingsReset,
)
from resolute.proto.message import Event, Recorded


@dataclass(frozen=True, slots=True)
class User:
    id: int
    username: str
    admin: bool
    active: bool
    display_name: str
    remote: bool
    modified_at: datetime
    agent_user_group: Document = None
    blank_password: bool = True
    last_auth_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class UserSetting:
    user_id: int
    key: str
    storage_path: str
    value: str


USERS = Table("users", User, key=("id",))

USER_SETTINGS = Table("user_settings", UserSetting, key=("user_id", "key", "storage_path"), lookups=("user_id",))

CHANGEABLE = ("username", "admin", "active", "display_name", "remote", "agent_user_group")
"""Columns that UserChanged may name."""


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: UserCreated, recorded: Recorded, rows: Rows) -> None:
    user = User(
        id=created.user_id,
        username=created.username,
        admin=created.admin,
        active=created.active,
        display_name=created.display_name,
        remote=created.remote,
        modified_at=recorded.recorded_at,
    )
    rows.put(USERS, user)


def _changed(changed: UserChanged, recorded: Recorded, rows: Rows) -> None:
    columns = {name: changed.changes[name] for name in CHANGEABLE if name in changed.changes}
    rows.change(USERS, changed.user_id, modified_at=recorded.recorded_at, **columns)


def _password_changed(changed: PasswordChanged, recorded: Recorded, rows: Rows) -> None:
    rows.change(USERS, changed.user_id, blank_password=changed.blank, modified_at=recorded.recorded_at)


def _session_opened(opened: SessionOpened, recorded: Recorded, rows: Rows) -> None:
    rows.change(USERS, opened.user_id, last_auth_at=recorded.recorded_at)


def _settings_changed(changed: UserSettingsChanged, _: Recorded, rows: Rows) -> None:
    for setting in changed.settings:
        rows.put(USER_SETTINGS, UserSetting(changed.user_id, setting.key, setting.storage_path, setting.value))


def _settings_reset(reset: UserSettingsReset, _: Recorded, rows: Rows) -> None:
    for setting in rows.where(USER_SETTINGS, "user_id", reset.user_id):
        rows.remove(USER_SETTINGS, setting.user_id, setting.key, setting.storage_path)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    UserCreated: _created,
    UserChanged: _changed,
    PasswordChanged: _password_changed,
    SessionOpened: _session_opened,
    UserSettingsChanged: _settings_changed,
    UserSettingsReset: _settings_reset,
}

PROJECTION = Projection(
    slice="identity",
    version=1,
    tables=(USERS, USER_SETTINGS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.USER.name, streams.SETTINGS.name}),
    project=project,
    ids={"userId": (USERS, "id"), "username": (USERS, "username")},
)
