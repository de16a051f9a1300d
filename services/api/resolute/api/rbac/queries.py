"""What can be asked about groups and roles: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import asyncpg

from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Outside
from resolute.config.rights import Rights
from resolute.proto.rbac import RoleAssignment


@dataclass(frozen=True, slots=True)
class GroupRow:
    id: int
    name: str
    member_ids: tuple[int, ...]
    """In ascending order."""


class RbacQueries(Protocol):
    """Groups and roles lie outside of workspaces. Assignments come in the order of role, user, group and workspace."""

    async def rights_of(self, user_id: int) -> Rights:
        """What the user may do by the roles that he holds himself, and by those of his groups."""

    async def groups(self, bounds: Outside, name: str, user_id: int, window: Window) -> Listed[GroupRow]:
        """By id. `name`: the whole of it, empty for any; `user_id`: of a member, 0 for any."""

    async def groups_with(self, group_ids: Collection[int]) -> Sequence[GroupRow]:
        """Those of these groups that exist, by id."""

    async def of_user(self, user_id: int) -> Sequence[RoleAssignment]:
        """The roles that the user holds himself, and those of his groups."""

    async def of_group(self, group_id: int) -> Sequence[RoleAssignment]: ...

    async def of_roles(self, role_ids: Collection[int]) -> Sequence[RoleAssignment]:
        """Who holds one of these roles."""

    async def on_workspace(self, workspace_id: int) -> Sequence[RoleAssignment]:
        """Who holds a role on this workspace. Who holds one on the whole cluster is not among them."""

    async def unknown_users(self, user_ids: Collection[int]) -> Sequence[int]:
        """Those of `user_ids` that no user has, in ascending order."""

    async def unknown_workspaces(self, workspace_ids: Collection[int]) -> Sequence[int]:
        """Those of `workspace_ids` that no workspace has, in ascending order."""


MEMBER_IDS = "array(SELECT m.user_id FROM read_rbac.members m WHERE m.group_id = g.id ORDER BY 1)"

SELECT = f"SELECT g.id, g.name, {MEMBER_IDS} AS member_ids FROM read_rbac.groups g"

COUNTED = "SELECT count(*) FROM read_rbac.groups g"

HELD = "SELECT a.role_id, a.user_id, a.group_id, a.workspace_id FROM read_rbac.assignments a"

# Two parts, each by an index: OR would have Postgres look at every assignment.
OF_USER = f"""{HELD} WHERE a.user_id = $1
UNION ALL
{HELD} JOIN read_rbac.members m ON m.group_id = a.group_id WHERE m.user_id = $1"""

SORTED = " ORDER BY role_id, user_id, group_id, workspace_id"


class PostgresRbac:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def rights_of(self, user_id: int) -> Rights:
        rows = await self._tables.rows(OF_USER, user_id)
        return Rights(frozenset((row["role_id"], row["workspace_id"] or None) for row in rows))

    async def groups(self, bounds: Outside, name: str, user_id: int, window: Window) -> Listed[GroupRow]:
        where = Where(bounds)
        if name:
            where.add("g.name = ?", name)
        if user_id:
            where.add("g.id IN (SELECT m.group_id FROM read_rbac.members m WHERE m.user_id = ?)", user_id)
        found = await listed_in(
            self._tables, SELECT, COUNTED, where, ordering("g.id", "g.id", descending=False), window
        )
        return Listed([_group(row) for row in found.rows], found.page)

    async def groups_with(self, group_ids: Collection[int]) -> Sequence[GroupRow]:
        rows = await self._tables.rows(f"{SELECT} WHERE g.id = ANY($1::int[]) ORDER BY g.id", list(group_ids))
        return [_group(row) for row in rows]

    async def of_user(self, user_id: int) -> Sequence[RoleAssignment]:
        return await self._held(OF_USER, user_id)

    async def of_group(self, group_id: int) -> Sequence[RoleAssignment]:
        return await self._held(f"{HELD} WHERE a.group_id = $1", group_id)

    async def of_roles(self, role_ids: Collection[int]) -> Sequence[RoleAssignment]:
        return await self._held(f"{HELD} WHERE a.role_id = ANY($1::int[])", list(role_ids))

    async def on_workspace(self, workspace_id: int) -> Sequence[RoleAssignment]:
        return await self._held(f"{HELD} WHERE a.workspace_id = $1", workspace_id)

    async def _held(self, sql: str, *args: object) -> Sequence[RoleAssignment]:
        return [_assignment(row) for row in await self._tables.rows(sql + SORTED, *args)]

    async def unknown_users(self, user_ids: Collection[int]) -> Sequence[int]:
        return await self._unknown("read_identity.users", user_ids)

    async def unknown_workspaces(self, workspace_ids: Collection[int]) -> Sequence[int]:
        return await self._unknown("read_workspaces.workspaces", workspace_ids)

    async def _unknown(self, table: str, ids: Collection[int]) -> Sequence[int]:
        sql = f"SELECT DISTINCT id FROM unnest($1::int[]) id WHERE id NOT IN (SELECT id FROM {table}) ORDER BY id"
        return [row["id"] for row in await self._tables.rows(sql, list(ids))]


def _group(row: asyncpg.Record) -> GroupRow:
    return GroupRow(row["id"], row["name"], tuple(row["member_ids"]))


def _assignment(row: asyncpg.Record) -> RoleAssignment:
    return RoleAssignment(row["role_id"], row["user_id"] or None, row["group_id"] or None, row["workspace_id"] or None)


QUERIES: Port[RbacQueries] = Port(PostgresRbac)
