"""The twin of the queries about users: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from resolute.api.identity.messages import SortUsersBy
from resolute.api.identity.projection import USER_SETTINGS, USERS, User
from resolute.api.identity.queries import SettingRow, UserRow, Wanted
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.rbac.projection import ASSIGNMENTS
from resolute.api.scope import Outside

KEYS: Mapping[SortUsersBy, Callable[[UserRow], Any]] = {
    SortUsersBy.DISPLAY_NAME: attrgetter("display_name"),
    SortUsersBy.USER_NAME: attrgetter("username"),
    SortUsersBy.ADMIN: attrgetter("admin"),
    SortUsersBy.ACTIVE: attrgetter("active"),
    SortUsersBy.MODIFIED_TIME: attrgetter("modified_at"),
    SortUsersBy.NAME: lambda row: row.display_name or row.username,
    SortUsersBy.LAST_AUTH_TIME: attrgetter("last_auth_at"),
    SortUsersBy.REMOTE: attrgetter("remote"),
}


@dataclass(frozen=True)
class MemoryIdentity:
    """`tables`: those of users, and of roles that are held. Texts are compared as the database `C` compares them."""

    tables: CachedRows

    async def users(
        self, bounds: Outside, wanted: Wanted, by: SortUsersBy, *, descending: bool, window: Window
    ) -> Listed[UserRow]:
        found = [row for row in map(_row, self.tables.all(USERS)) if _fulfils(row, wanted) and self._holds(row, wanted)]
        ident = attrgetter("id")
        return cut(ordered(found, KEYS.get(by, ident), ident, descending=descending), window)

    def _holds(self, row: UserRow, wanted: Wanted) -> bool:
        if not wanted.role_ids:
            return True
        held = {one.role_id for one in self.tables.all(ASSIGNMENTS) if one.user_id == row.id}
        return not held.isdisjoint(wanted.role_ids)

    async def user(self, user_id: int) -> UserRow | None:
        return next((_row(row) for row in self.tables.all(USERS) if row.id == user_id), None)

    async def users_with(self, user_ids: Collection[int]) -> Sequence[UserRow]:
        return [_row(row) for row in self.tables.all(USERS) if row.id in user_ids]

    async def user_named(self, username: str) -> UserRow | None:
        return next((_row(row) for row in self.tables.all(USERS) if row.username == username), None)

    async def settings(self, user_id: int) -> Sequence[SettingRow]:
        own = [
            SettingRow(row.key, row.storage_path, row.value)
            for row in self.tables.where(USER_SETTINGS, "user_id", user_id)
        ]
        return sorted(own, key=attrgetter("key", "storage_path"))


def _row(row: User) -> UserRow:
    return UserRow(
        id=row.id,
        username=row.username,
        admin=row.admin,
        active=row.active,
        display_name=row.display_name,
        remote=row.remote,
        agent_user_group=row.agent_user_group,
        modified_at=row.modified_at,
        last_auth_at=row.last_auth_at,
    )


def _fulfils(row: UserRow, wanted: Wanted) -> bool:
    part = wanted.name_part.lower()
    return (
        wanted.active in (None, row.active)
        and wanted.admin in (None, row.admin)
        and (part in row.username.lower() or part in row.display_name.lower())
    )
