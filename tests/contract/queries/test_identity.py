"""What can be asked about users and their settings: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.identity.memory import MemoryIdentity
from resolute.api.identity.messages import SortUsersBy
from resolute.api.identity.projection import USER_SETTINGS, USERS, User, UserSetting
from resolute.api.identity.queries import IdentityQueries, PostgresIdentity, SettingRow, Wanted
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.rbac.projection import ASSIGNMENTS, Assignment
from resolute.api.scope import Outside
from tests.contract.queries.filled import in_memory, in_postgres

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (
        User(1, "admin", True, True, "", False, AT + timedelta(hours=2), last_auth_at=AT),
        User(2, "bob", False, True, "zed", False, AT, agent_user_group={"agentUid": 7, "agentUser": "b"}),
        User(3, "cy_n", False, False, "", True, AT + timedelta(hours=1), last_auth_at=AT + timedelta(days=1)),
        User(4, "dora", True, True, "Ann", False, AT),
    ),
    ASSIGNMENTS: (Assignment(2, 0, 4, 3), Assignment(2, 0, 5, 0), Assignment(4, 0, 5, 1), Assignment(0, 3, 6, 0)),
    USER_SETTINGS: (
        UserSetting(1, "b", "x/y", "1"),
        UserSetting(1, "b", "", "2"),
        UserSetting(1, "a", "z", "3"),
        UserSetting(2, "a", "", "4"),
    ),
}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[IdentityQueries]:
    if database is None:
        yield MemoryIdentity(in_memory(ROWS))
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        yield PostgresIdentity(await in_postgres(pool, ROWS))


async def names(queries: IdentityQueries, by: SortUsersBy, *, descending: bool = False) -> list[str]:
    found = await queries.users(Outside(), Wanted(), by, descending=descending, window=Window())
    return [row.username for row in found.rows]


async def test_a_user_is_shown_with_all_that_is_known(queries: IdentityQueries) -> None:
    bob = await queries.user(2)
    assert bob is not None
    assert bob == await queries.user_named("bob")
    assert (bob.username, bob.admin, bob.active, bob.display_name, bob.remote) == ("bob", False, True, "zed", False)
    assert (bob.agent_user_group, bob.modified_at, bob.last_auth_at) == ({"agentUid": 7, "agentUser": "b"}, AT, None)
    assert await queries.user(9) is None
    assert await queries.users_with((2, 9)) == [bob]
    assert await queries.user_named("BOB") is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), ["admin", "bob", "cy_n", "dora"]),
        (Wanted(active=False), ["cy_n"]),
        (Wanted(admin=True, active=True), ["admin", "dora"]),
        (Wanted(name_part="A"), ["admin", "dora"]),
        (Wanted(role_ids=(4, 5)), ["bob", "dora"]),
        (Wanted(role_ids=(6,)), []),
        (Wanted(name_part="ZED"), ["bob"]),
        (Wanted(name_part="_"), ["cy_n"]),
        (Wanted(name_part="%"), []),
    ],
)
async def test_users_are_found_by_all_that_is_wanted(
    queries: IdentityQueries, wanted: Wanted, found: list[str]
) -> None:
    listed = await queries.users(Outside(), wanted, SortUsersBy.UNSPECIFIED, descending=False, window=Window())
    assert ([row.username for row in listed.rows], listed.page.total) == (found, len(found))


async def test_users_are_listed_in_the_order_that_is_asked_for(queries: IdentityQueries) -> None:
    assert await names(queries, SortUsersBy.USER_NAME, descending=True) == ["dora", "cy_n", "bob", "admin"]
    assert await names(queries, SortUsersBy.MODIFIED_TIME) == ["bob", "dora", "cy_n", "admin"]
    assert await names(queries, SortUsersBy.ADMIN) == ["bob", "cy_n", "admin", "dora"]
    assert await names(queries, SortUsersBy.ACTIVE, descending=True) == ["dora", "bob", "admin", "cy_n"]
    assert await names(queries, SortUsersBy.REMOTE) == ["admin", "bob", "dora", "cy_n"]


async def test_users_who_never_logged_in_come_last(queries: IdentityQueries) -> None:
    assert await names(queries, SortUsersBy.LAST_AUTH_TIME) == ["admin", "cy_n", "bob", "dora"]
    assert await names(queries, SortUsersBy.LAST_AUTH_TIME, descending=True) == ["cy_n", "admin", "dora", "bob"]


async def test_settings_are_each_users_own_and_in_order(queries: IdentityQueries) -> None:
    own = [SettingRow("a", "z", "3"), SettingRow("b", "", "2"), SettingRow("b", "x/y", "1")]
    assert list(await queries.settings(1)) == own
    assert list(await queries.settings(9)) == []
