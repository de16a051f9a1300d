"""What can be asked about access tokens: the port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import asyncpg

from resolute.api.access_tokens.messages import SortTokensBy
from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Outside


@dataclass(frozen=True, slots=True)
class TokenRow:
    id: int
    user_id: int
    description: str
    created_at: datetime
    expires_at: datetime
    revoked: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tokens a list has."""

    live_at: datetime | None = None
    """Those that were not revoked and have not expired by then; None for all."""
    user_id: int | None = None
    username: str = ""
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BearerRow:
    """A token and whom its bearer acts as."""

    token_id: int
    expires_at: datetime
    revoked: bool
    user_id: int
    username: str
    admin: bool
    active: bool


class TokenQueries(Protocol):
    async def tokens(
        self, bounds: Outside, wanted: Wanted, by: SortTokensBy, *, descending: bool, window: Window
    ) -> Listed[TokenRow]: ...

    async def token(self, token_id: int) -> TokenRow | None: ...

    async def bearer(self, token_hash: bytes) -> BearerRow | None:
        """Whose token has this hash; one that was revoked or has expired too."""


SELECT = "SELECT t.id, t.user_id, t.description, t.created_at, t.expires_at, t.revoked FROM read_access_tokens.tokens t"

COUNTED = "SELECT count(*) FROM read_access_tokens.tokens t"

COLUMNS = {
    SortTokensBy.USER_ID: "t.user_id",
    SortTokensBy.EXPIRY: "t.expires_at",
    SortTokensBy.CREATED_AT: "t.created_at",
    SortTokensBy.REVOKED: "t.revoked",
    SortTokensBy.DESCRIPTION: "t.description",
}
"""What lists are sorted by, other than the id; all tokens here are of one type."""

BEARER = """SELECT t.id AS token_id, t.expires_at, t.revoked, u.id AS user_id, u.username, u.admin, u.active
FROM api.access_tokens a JOIN read_access_tokens.tokens t ON t.id = a.token_id
JOIN read_identity.users u ON u.id = t.user_id WHERE a.token_hash = $1"""


class PostgresTokens:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def tokens(
        self, bounds: Outside, wanted: Wanted, by: SortTokensBy, *, descending: bool, window: Window
    ) -> Listed[TokenRow]:
        where = Where(bounds)
        if wanted.live_at is not None:
            where.add("NOT t.revoked AND t.expires_at > ?", wanted.live_at)
        if wanted.user_id is not None:
            where.add("t.user_id = ?", wanted.user_id)
        if wanted.username:
            where.add("t.user_id IN (SELECT id FROM read_identity.users WHERE username = ?)", wanted.username)
        if wanted.ids:
            where.add("t.id = ANY(?::int[])", wanted.ids)
        order = ordering(COLUMNS.get(by, "t.id"), "t.id", descending=descending)
        found = await listed_in(self._tables, SELECT, COUNTED, where, order, window)
        return Listed([_token(row) for row in found.rows], found.page)

    async def token(self, token_id: int) -> TokenRow | None:
        row = await self._tables.row(f"{SELECT} WHERE t.id = $1", token_id)
        return None if row is None else _token(row)

    async def bearer(self, token_hash: bytes) -> BearerRow | None:
        row = await self._tables.row(BEARER, token_hash)
        return None if row is None else BearerRow(**row)


def _token(row: asyncpg.Record) -> TokenRow:
    return TokenRow(**row)


QUERIES: Port[TokenQueries] = Port(PostgresTokens)
