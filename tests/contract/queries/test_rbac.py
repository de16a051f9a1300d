"""What can be asked about groups and roles: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.rbac.memory import MemoryRbac
from resolute.api.rbac.projection import ASSIGNMENTS, GROUPS, MEMBERS, Assignment, Group, Member
from resolute.api.rbac.queries import GroupRow, PostgresRbac, RbacQueries
from resolute.api.scope import Outside
from resolute.api.workspaces.projection import WORKSPACES, Workspace
from resolute.config.rights import EVERYWHERE, Permission, Rights
from resolute.proto.rbac import RoleAssignment
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)

VISION = GroupRow(1, "vision", (2, 3))
SOUND = GroupRow(2, "sound", (3,))
EMPTY = GroupRow(5, "Vision", ())

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: tuple(User(number, f"user {number}", False, True, "", False, AT) for number in (1, 2, 3)),
    WORKSPACES: (Workspace(1, "Uncategorized", 1, True), Workspace(7, "vision", 2, False)),
    GROUPS: (Group(1, "vision"), Group(2, "sound"), Group(5, "Vision")),
    MEMBERS: (Member(1, 2), Member(1, 3), Member(2, 3)),
    ASSIGNMENTS: (
        Assignment(user_id=1, group_id=0, role_id=1, workspace_id=0),
        Assignment(user_id=3, group_id=0, role_id=4, workspace_id=7),
        Assignment(user_id=0, group_id=1, role_id=4, workspace_id=7),
        Assignment(user_id=0, group_id=2, role_id=4, workspace_id=0),
        Assignment(user_id=0, group_id=2, role_id=5, workspace_id=1),
    ),
}

OF_3 = RoleAssignment(4, user_id=3, workspace_id=7)
OF_VISION = RoleAssignment(4, group_id=1, workspace_id=7)
OF_SOUND = (RoleAssignment(4, group_id=2), RoleAssignment(5, group_id=2, workspace_id=1))


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[RbacQueries]:
    if database is None:
        yield MemoryRbac(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresRbac(await in_postgres(pool, ROWS))


async def test_a_user_has_the_rights_of_his_own_roles_and_of_those_of_his_groups(queries: RbacQueries) -> None:
    assert await queries.rights_of(3) == Rights(frozenset({(4, 7), (4, None), (5, 1)}))
    assert await queries.rights_of(2) == Rights(frozenset({(4, 7)}))
    assert await queries.rights_of(9) == Rights()
    administrator = await queries.rights_of(1)
    assert administrator.workspaces_with(Permission.ADMINISTRATE_USER) is EVERYWHERE


async def test_groups_are_listed_by_id_and_found_by_name_and_by_member(queries: RbacQueries) -> None:
    async def found(name: str = "", user_id: int = 0) -> Sequence[GroupRow]:
        return (await queries.groups(Outside(), name, user_id, Window())).rows

    assert await found() == [VISION, SOUND, EMPTY]
    assert await found("vision") == [VISION]
    assert await found(user_id=3) == [VISION, SOUND]
    assert await found("sound", 2) == []
    page = await queries.groups(Outside(), "", 0, Window(1, 1))
    assert (page.rows, page.page.total) == ([SOUND], 3)
    assert await queries.groups_with((5, 1, 9)) == [VISION, EMPTY]


async def test_it_is_known_who_holds_which_role_where(queries: RbacQueries) -> None:
    assert await queries.of_user(3) == [OF_VISION, OF_SOUND[0], OF_3, OF_SOUND[1]]
    assert await queries.of_group(2) == [*OF_SOUND]
    assert await queries.of_roles((5, 1)) == [RoleAssignment(1, user_id=1), OF_SOUND[1]]
    assert await queries.of_roles(()) == []
    assert await queries.on_workspace(7) == [OF_VISION, OF_3]


async def test_users_and_workspaces_that_do_not_exist_are_known(queries: RbacQueries) -> None:
    assert await queries.unknown_users((9, 3, 8, 9)) == [8, 9]
    assert await queries.unknown_users(()) == []
    assert await queries.unknown_workspaces({7, 2}) == [2]
