"""What can be asked about access tokens: Postgres and the twin in memory answer alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from resolute.api.access_tokens.memory import MemoryTokens
from resolute.api.access_tokens.messages import SortTokensBy
from resolute.api.access_tokens.projection import TOKENS, Token
from resolute.api.access_tokens.queries import BearerRow, PostgresTokens, TokenQueries, Wanted
from resolute.api.identity.projection import USERS
from resolute.api.kernel.paging import Window
from resolute.api.kernel.rows import Table
from resolute.api.scope import Outside
from tests.contract.queries.filled import in_memory, in_postgres
from tests.contract.queries.test_workspaces import user

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)

ROWS: Mapping[Table[Any], Sequence[Any]] = {
    USERS: (user(1, "ann"), user(2, "bob")),
    TOKENS: (
        Token(1, 2, "nightly", NOW - 2 * DAY, NOW + 9 * DAY, False),
        Token(2, 1, "ci", NOW - DAY, NOW + DAY, False),
        Token(3, 1, "old", NOW - 9 * DAY, NOW, False),
        Token(4, 2, "", NOW, NOW + 30 * DAY, True),
    ),
}
HASHES = {b"of 1": 1, b"of 4": 4}


@pytest.fixture
async def queries(database: str | None) -> AsyncIterator[TokenQueries]:
    if database is None:
        yield MemoryTokens(in_memory(ROWS), HASHES)
        return
    async with asyncpg.create_pool(database, min_size=1, max_size=2) as pool:
        await pool.executemany(
            "INSERT INTO api.access_tokens (token_hash, token_id) VALUES ($1, $2)", list(HASHES.items())
        )
        yield PostgresTokens(await in_postgres(pool, ROWS))


async def ids(queries: TokenQueries, by: SortTokensBy = SortTokensBy.UNSPECIFIED, **wanted: Any) -> list[int]:
    found = await queries.tokens(Outside(), Wanted(**wanted), by, descending=False, window=Window())
    assert found.page.total == len(found.rows)
    return [row.id for row in found.rows]


async def test_tokens_are_found_by_what_is_wanted_of_them(queries: TokenQueries) -> None:
    assert await ids(queries) == [1, 2, 3, 4]
    assert await ids(queries, live_at=NOW) == [1, 2]
    assert await ids(queries, user_id=1) == [2, 3]
    assert await ids(queries, username="bob") == [1, 4]
    assert await ids(queries, username="bo") == []
    assert await ids(queries, ids=(4, 2, 9), live_at=NOW) == [2]


async def test_tokens_are_sorted_by_each_column(queries: TokenQueries) -> None:
    assert await ids(queries, SortTokensBy.USER_ID) == [2, 3, 1, 4]
    assert await ids(queries, SortTokensBy.EXPIRY) == [3, 2, 1, 4]
    assert await ids(queries, SortTokensBy.CREATED_AT) == [3, 1, 2, 4]
    assert await ids(queries, SortTokensBy.REVOKED) == [1, 2, 3, 4]
    assert await ids(queries, SortTokensBy.DESCRIPTION) == [4, 2, 1, 3]


async def test_a_token_is_found_by_its_number_and_its_bearer_by_its_hash(queries: TokenQueries) -> None:
    token = await queries.token(4)
    assert token is not None
    assert (token.user_id, token.revoked) == (2, True)
    assert await queries.token(9) is None
    bearer = await queries.bearer(b"of 4")
    assert bearer == BearerRow(4, NOW + 30 * DAY, True, 2, "bob", bearer.admin if bearer else False, True)
    assert await queries.bearer(b"of 9") is None
