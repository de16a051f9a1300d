"""What can be asked about users and their settings: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.identity.messages import SortUsersBy
from resolute.api.kernel.listing import Where, listed_in, ordering, pattern
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Outside


@dataclass(frozen=True, slots=True)
class UserRow:
    id: int
    username: str
    admin: bool
    active: bool
    display_name: str
    remote: bool
    agent_user_group: Mapping[str, Any] | None
    modified_at: datetime
    last_auth_at: datetime | None


@dataclass(frozen=True, slots=True)
class SettingRow:
    key: str
    storage_path: str
    value: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which users: those that fulfil all of this."""

    active: bool | None = None
    admin: bool | None = None
    name_part: str = ""
    """Of the name or of the displayed name, in any case of letters."""
    role_ids: tuple[int, ...] = ()
    """Those who hold one of these roles themselves, wherever; empty: whatever roles they hold."""


class IdentityQueries(Protocol):
    """Users lie outside of workspaces. Lists are in the order that is asked for, and by id where that leaves two alike;
    what is missing comes last."""

    async def users(
        self, bounds: Outside, wanted: Wanted, by: SortUsersBy, *, descending: bool, window: Window
    ) -> Listed[UserRow]: ...

    async def user(self, user_id: int) -> UserRow | None: ...

    async def users_with(self, user_ids: Collection[int]) -> Sequence[UserRow]:
        """Those of these users that exist, by id."""

    async def user_named(self, username: str) -> UserRow | None: ...

    async def settings(self, user_id: int) -> Sequence[SettingRow]:
        """All of one user, in the order of their keys and paths."""


SELECT = """SELECT id, username, admin, active, display_name, remote, agent_user_group, last_auth_at, modified_at
FROM read_identity.users"""

COUNTED = "SELECT count(*) FROM read_identity.users"

COLUMNS = {
    SortUsersBy.DISPLAY_NAME: "display_name",
    SortUsersBy.USER_NAME: "username",
    SortUsersBy.ADMIN: "admin",
    SortUsersBy.ACTIVE: "active",
    SortUsersBy.MODIFIED_TIME: "modified_at",
    SortUsersBy.NAME: "coalesce(nullif(display_name, ''), username)",
    SortUsersBy.LAST_AUTH_TIME: "last_auth_at",
    SortUsersBy.REMOTE: "remote",
}
"""What lists are sorted by, other than the id."""

# Those of an earlier release besides, until they are carried over into the log.
SETTINGS = """SELECT key, storage_path, value FROM read_identity.user_settings WHERE user_id = $1
UNION ALL
SELECT key, storage_path, value FROM api.user_settings o
WHERE user_id = $1 AND NOT carried_over AND NOT EXISTS (
    SELECT FROM read_identity.user_settings n
    WHERE n.user_id = o.user_id AND n.key = o.key AND n.storage_path = o.storage_path)
ORDER BY key, storage_path"""


class PostgresIdentity:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def users(
        self, bounds: Outside, wanted: Wanted, by: SortUsersBy, *, descending: bool, window: Window
    ) -> Listed[UserRow]:
        order = ordering(COLUMNS.get(by, "id"), "id", descending=descending)
        found = await listed_in(self._tables, SELECT, COUNTED, _conditions(bounds, wanted), order, window)
        return Listed([_user(row) for row in found.rows], found.page)

    async def user(self, user_id: int) -> UserRow | None:
        row = await self._tables.row(f"{SELECT} WHERE id = $1", user_id)
        return None if row is None else _user(row)

    async def users_with(self, user_ids: Collection[int]) -> Sequence[UserRow]:
        rows = await self._tables.rows(f"{SELECT} WHERE id = ANY($1::int[]) ORDER BY id", list(user_ids))
        return [_user(row) for row in rows]

    async def user_named(self, username: str) -> UserRow | None:
        row = await self._tables.row(f"{SELECT} WHERE username = $1", username)
        return None if row is None else _user(row)

    async def settings(self, user_id: int) -> Sequence[SettingRow]:
        rows = await self._tables.rows(SETTINGS, user_id)
        return [SettingRow(row["key"], row["storage_path"], row["value"]) for row in rows]


def _conditions(bounds: Outside, wanted: Wanted) -> Where:
    where = Where(bounds)
    if wanted.active is not None:
        where.add("active = ?", wanted.active)
    if wanted.admin is not None:
        where.add("admin = ?", wanted.admin)
    if wanted.name_part:
        where.add("(username ILIKE ? OR display_name ILIKE ?)", pattern(wanted.name_part))
    if wanted.role_ids:
        where.add("id IN (SELECT user_id FROM read_rbac.assignments WHERE role_id = ANY(?::int[]))", wanted.role_ids)
    return where


def _user(row: asyncpg.Record) -> UserRow:
    group = row["agent_user_group"]
    return UserRow(
        id=row["id"],
        username=row["username"],
        admin=row["admin"],
        active=row["active"],
        display_name=row["display_name"],
        remote=row["remote"],
        agent_user_group=orjson.loads(group) if group else None,
        modified_at=row["modified_at"],
        last_auth_at=row["last_auth_at"],
    )


QUERIES: Port[IdentityQueries] = Port(PostgresIdentity)
