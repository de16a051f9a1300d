"""The twin of the queries about access tokens: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from resolute.api.access_tokens.messages import SortTokensBy
from resolute.api.access_tokens.projection import TOKENS, Token
from resolute.api.access_tokens.queries import BearerRow, TokenRow, Wanted
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Outside

KEYS: Mapping[SortTokensBy, Callable[[TokenRow], Any]] = {
    SortTokensBy.USER_ID: attrgetter("user_id"),
    SortTokensBy.EXPIRY: attrgetter("expires_at"),
    SortTokensBy.CREATED_AT: attrgetter("created_at"),
    SortTokensBy.REVOKED: attrgetter("revoked"),
    SortTokensBy.DESCRIPTION: attrgetter("description"),
}


@dataclass(frozen=True)
class MemoryTokens:
    tables: CachedRows
    hashes: dict[bytes, int] = field(default_factory=dict)
    """The ids of tokens by their hashes, which are kept beside the log."""

    async def tokens(
        self, bounds: Outside, wanted: Wanted, by: SortTokensBy, *, descending: bool, window: Window
    ) -> Listed[TokenRow]:
        found = [_shown(row) for row in self.tables.all(TOKENS) if self._is_wanted(row, wanted)]
        key = KEYS.get(by, attrgetter("id"))
        return cut(ordered(found, key, attrgetter("id"), descending=descending), window)

    def _is_wanted(self, row: Token, wanted: Wanted) -> bool:
        user = self.tables.get(USERS, row.user_id)
        return (
            (wanted.live_at is None or (not row.revoked and row.expires_at > wanted.live_at))
            and wanted.user_id in (None, row.user_id)
            and (not wanted.username or (user is not None and user.username == wanted.username))
            and (not wanted.ids or row.id in wanted.ids)
        )

    async def token(self, token_id: int) -> TokenRow | None:
        row = self.tables.get(TOKENS, token_id)
        return None if row is None else _shown(row)

    async def bearer(self, token_hash: bytes) -> BearerRow | None:
        token_id = self.hashes.get(token_hash)
        row = None if token_id is None else self.tables.get(TOKENS, token_id)
        user = None if row is None else self.tables.get(USERS, row.user_id)
        if row is None or user is None:
            return None
        return BearerRow(row.id, row.expires_at, row.revoked, user.id, user.username, user.admin, user.active)


def _shown(row: Token) -> TokenRow:
    return TokenRow(row.id, row.user_id, row.description, row.created_at, row.expires_at, row.revoked)
