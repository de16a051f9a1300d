"""Users, their settings, workspaces and projects: event -> rows."""

from __future__ import annotations

from typing import Any

from resolute.api.projections.statement import Statement, document, insert, statement, update
from resolute.proto.identity import (
    PasswordChanged,
    ProjectCreated,
    SessionOpened,
    UserChanged,
    UserCreated,
    UserSettingsChanged,
    UserSettingsReset,
    WorkspaceChanged,
    WorkspaceCreated,
)
from resolute.proto.message import Recorded

COLUMNS = ("username", "admin", "active", "display_name", "remote", "agent_user_group")

WORKSPACE_COLUMNS = ("name", "agent_user_group", "checkpoint_storage", "default_compute_pool", "default_aux_pool")
WORKSPACE_DOCUMENTS = frozenset({"agent_user_group", "checkpoint_storage"})

DIRECTORY = ("directory",)
"""Names are unique over all of them, so their order matters among all of them."""


SET = """INSERT INTO read_v1.user_settings (user_id, key, storage_path, value) VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, key, storage_path) DO UPDATE SET value = EXCLUDED.value"""

RESET = "DELETE FROM read_v1.user_settings WHERE user_id = $1"


def project(recorded: Recorded) -> list[Statement]:
    match recorded.event:
        case UserCreated() as created:
            return [
                insert(
                    "users",
                    DIRECTORY,
                    id=created.user_id,
                    username=created.username,
                    admin=created.admin,
                    active=created.active,
                    display_name=created.display_name,
                    remote=created.remote,
                    modified_at=recorded.recorded_at,
                )
            ]
        case UserChanged(user_id=user_id, changes=changes):
            columns = {name: changes[name] for name in COLUMNS if name in changes}
            if "agent_user_group" in columns:
                columns["agent_user_group"] = document(columns["agent_user_group"])
            return [_user(user_id, **columns, modified_at=recorded.recorded_at)]
        case PasswordChanged(user_id=user_id, blank=blank):
            return [
                update(
                    "users", "id", user_id, touches=DIRECTORY, blank_password=blank, modified_at=recorded.recorded_at
                )
            ]
        case SessionOpened(user_id=user_id):
            return [_user(user_id, last_auth_at=recorded.recorded_at)]
        case UserSettingsChanged(user_id=user_id, settings=settings):
            touches = _settings_of(user_id)
            return [statement(SET, user_id, one.key, one.storage_path, one.value, touches=touches) for one in settings]
        case UserSettingsReset(user_id=user_id):
            return [statement(RESET, user_id, touches=_settings_of(user_id))]
        case WorkspaceCreated(workspace_id=workspace_id, name=name, owner_id=owner_id, immutable=immutable):
            return [insert("workspaces", DIRECTORY, id=workspace_id, name=name, owner_id=owner_id, immutable=immutable)]
        case WorkspaceChanged(workspace_id=workspace_id, changes=changes):
            columns = {name: changes[name] for name in WORKSPACE_COLUMNS if name in changes}
            for name in WORKSPACE_DOCUMENTS & columns.keys():
                columns[name] = document(columns[name]) if columns[name] else None
            return [update("workspaces", "id", workspace_id, touches=DIRECTORY, **columns)] if columns else []
        case ProjectCreated() as made:
            return [
                insert(
                    "projects",
                    DIRECTORY,
                    id=made.project_id,
                    workspace_id=made.workspace_id,
                    name=made.name,
                    description=made.description,
                    owner_id=made.owner_id,
                    immutable=made.immutable,
                )
            ]
    return []


def _settings_of(user_id: int) -> tuple[str, ...]:
    return (f"user_settings:{user_id}",)


def _user(user_id: int, **columns: Any) -> Statement:
    return update("users", "id", user_id, touches=DIRECTORY, **columns)
