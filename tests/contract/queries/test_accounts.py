"""What is asked to decide who a caller is: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.identity.account_memory import Credential, KnownSession, MemoryAccounts
from resolute.api.identity.account_queries import AccountQueries, AccountRow, PostgresAccounts, SessionRow
from resolute.api.identity.projection import USERS
from resolute.api.kernel.rows import Table
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import user

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
HOME, CAFE = b"home", b"cafe"

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (
        user(1, "ann"),
        replace(user(2, "bob"), active=False, admin=True),
        replace(user(3, "cy"), remote=True),
        user(4, "dora"),
        user(5, "eve"),
    )
}
CREDENTIALS = {
    1: Credential("hash of ann", AT),
    2: Credential(None, AT),
    3: Credential(None, AT),
    4: Credential(None, AT),
    9: Credential(None, AT),
}
SESSIONS = {
    b"token of ann": KnownSession(11, 1, AT + timedelta(days=1)),
    b"token of bob": KnownSession(12, 2, AT + timedelta(days=1)),
    b"token of somebody new": KnownSession(19, 9, AT + timedelta(days=1)),
}
ADDRESSES = {(1, HOME): AT - timedelta(days=1)}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[AccountQueries]:
    if database is None:
        yield MemoryAccounts(in_memory(ROWS), CREDENTIALS, SESSIONS, ADDRESSES)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        await pool.executemany(
            "INSERT INTO api.credentials (user_id, password_hash, changed_at) VALUES ($1, $2, $3)",
            [(user_id, one.password_hash, one.changed_at) for user_id, one in CREDENTIALS.items()],
        )
        await pool.executemany(
            "INSERT INTO api.sessions (session_id, user_id, token_hash, expires_at) VALUES ($1, $2, $3, $4)",
            [(one.session_id, one.user_id, token, one.expires_at) for token, one in SESSIONS.items()],
        )
        await pool.executemany(
            "INSERT INTO api.known_addresses (user_id, address_hash, seen_at) VALUES ($1, $2, $3)",
            [(user_id, address, seen_at) for (user_id, address), seen_at in ADDRESSES.items()],
        )
        yield PostgresAccounts(await in_postgres(pool, ROWS))


async def test_an_account_has_its_password_and_whether_the_address_is_known(queries: AccountQueries) -> None:
    assert await queries.account("ann", HOME) == AccountRow(1, True, "hash of ann", AT, AT - timedelta(days=1))
    assert await queries.account("ann", CAFE) == AccountRow(1, True, "hash of ann", AT, None)
    assert await queries.account("bob", HOME) == AccountRow(2, False, None, AT, None)


async def test_a_name_without_a_password_of_its_own_here_is_no_account(queries: AccountQueries) -> None:
    assert await queries.account("cy", HOME) is None, "another system vouches for this user"
    assert await queries.account("eve", HOME) is None, "this user was never given a password"
    assert await queries.account("stranger", HOME) is None


async def test_a_session_says_whose_it_is_until_it_expires(queries: AccountQueries) -> None:
    assert await queries.session(b"token of ann", AT) == SessionRow(11, 1, "ann", admin=False, active=True)
    assert await queries.session(b"token of bob", AT) == SessionRow(12, 2, "bob", admin=True, active=False)
    assert await queries.session(b"token of ann", AT + timedelta(days=1)) is None
    assert await queries.session(b"no token", AT) is None


async def test_a_session_of_a_user_that_the_tables_do_not_show_yet_names_no_user(queries: AccountQueries) -> None:
    found = await queries.session(b"token of somebody new", AT)
    assert found is not None
    assert (found.session_id, found.user_id, found.active) == (19, None, False)


async def test_blank_passwords_count_of_active_users_that_sign_in_here(queries: AccountQueries) -> None:
    assert await queries.blank() == ["dora"]
