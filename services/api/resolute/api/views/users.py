"""Users, as the wire shows them."""

from __future__ import annotations

from typing import Any

import asyncpg
import orjson

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.wire import timestamp
from resolute.config.pools import DefaultTask
from resolute.proto.errors import NotFound
from resolute.proto.experiment import AgentUser

SELECT = """SELECT id, username, admin, active, display_name, remote, agent_user_group, last_auth_at, modified_at
FROM read_identity.users"""


def user_json(row: asyncpg.Record) -> dict[str, Any]:
    group = row["agent_user_group"]
    shown: dict[str, Any] = {
        "id": row["id"],
        "username": row["username"],
        "admin": row["admin"],
        "active": row["active"],
        "displayName": row["display_name"],
        "remote": row["remote"],
        "agentUserGroup": orjson.loads(group) if group else None,
        "modifiedAt": timestamp(row["modified_at"]),
    }
    if row["last_auth_at"] is not None:
        shown["lastAuthAt"] = timestamp(row["last_auth_at"])
    return shown


async def user_of(read: ReadModel, user_id: int) -> dict[str, Any]:
    row = await read.row(f"{SELECT} WHERE id = $1", user_id)
    if row is None:
        raise NotFound(f"user {user_id} not found")
    return user_json(row)


async def agent_user_of(read: ReadModel, user_id: int, default: DefaultTask | None) -> AgentUser | None:
    """Whom the user's tasks run as: the user of the host that an administrator has linked, or `default`."""
    row = await read.row(f"{SELECT} WHERE id = $1", user_id)
    group = orjson.loads(row["agent_user_group"]) if row is not None and row["agent_user_group"] else {}
    uid, gid = group.get("agentUid"), group.get("agentGid")
    if uid is None or gid is None:
        return AgentUser(default.user, default.uid, default.group, default.gid) if default is not None else None
    return AgentUser(group.get("agentUser") or "", uid, group.get("agentGroup") or "", gid)
