"""The twin of the queries about groups and roles: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.kernel.rows import Table
from resolute.api.rbac.projection import ASSIGNMENTS, GROUPS, MEMBERS, Assignment, Group
from resolute.api.rbac.queries import GroupRow
from resolute.api.scope import Outside
from resolute.api.workspaces.projection import WORKSPACES
from resolute.config.rights import Rights
from resolute.proto.rbac import RoleAssignment


@dataclass(frozen=True)
class MemoryRbac:
    tables: CachedRows

    async def rights_of(self, user_id: int) -> Rights:
        held = await self.of_user(user_id)
        return Rights(frozenset((one.role_id, one.workspace_id) for one in held))

    async def groups(self, bounds: Outside, name: str, user_id: int, window: Window) -> Listed[GroupRow]:
        found = [
            row
            for row in map(self._row, self.tables.all(GROUPS))
            if name in ("", row.name) and (not user_id or user_id in row.member_ids)
        ]
        return cut(found, window)

    async def groups_with(self, group_ids: Collection[int]) -> Sequence[GroupRow]:
        return [self._row(group) for group in self.tables.all(GROUPS) if group.id in group_ids]

    def _row(self, group: Group) -> GroupRow:
        members = self.tables.where(MEMBERS, "group_id", group.id)
        return GroupRow(group.id, group.name, tuple(member.user_id for member in members))

    async def of_user(self, user_id: int) -> Sequence[RoleAssignment]:
        own = {member.group_id for member in self.tables.all(MEMBERS) if member.user_id == user_id}
        return self._held(lambda one: one.user_id == user_id or one.group_id in own)

    async def of_group(self, group_id: int) -> Sequence[RoleAssignment]:
        return self._held(lambda one: one.group_id == group_id)

    async def of_roles(self, role_ids: Collection[int]) -> Sequence[RoleAssignment]:
        return self._held(lambda one: one.role_id in role_ids)

    async def on_workspace(self, workspace_id: int) -> Sequence[RoleAssignment]:
        return self._held(lambda one: one.workspace_id == workspace_id)

    def _held(self, wanted: Callable[[Assignment], bool]) -> Sequence[RoleAssignment]:
        rows = [row for row in self.tables.all(ASSIGNMENTS) if wanted(row)]
        rows.sort(key=lambda row: (row.role_id, row.user_id, row.group_id, row.workspace_id))
        return [
            RoleAssignment(row.role_id, row.user_id or None, row.group_id or None, row.workspace_id or None)
            for row in rows
        ]

    async def unknown_users(self, user_ids: Collection[int]) -> Sequence[int]:
        return self._unknown(USERS, user_ids)

    async def unknown_workspaces(self, workspace_ids: Collection[int]) -> Sequence[int]:
        return self._unknown(WORKSPACES, workspace_ids)

    def _unknown(self, table: Table[Any], ids: Collection[int]) -> Sequence[int]:
        return sorted(one for one in set(ids) if self.tables.get(table, one) is None)
