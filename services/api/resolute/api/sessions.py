"""Sessions and credentials: who holds which token, kept as hashes in tables of their own, beside the log."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import asyncpg

from resolute.api import passwords, wire
from resolute.api.access_tokens.queries import TokenQueries
from resolute.api.database import outages
from resolute.api.identity.account_queries import AccountQueries
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.password_work import PasswordWork
from resolute.api.routing import Principal
from resolute.api.settings import ApiSettings
from resolute.api.wire import WireError
from resolute.service.credentials import as_shown

TRUSTED_S = 1.0
"""How long a verified token is believed without asking again: the longest that another gateway's revocation takes."""

CACHED_MAX = 10_000

ACCESS_TOKEN = "rat~"
"""What the text of an access token begins with (Resolute access token), so that people and programs that look for
secrets know one when they see one. Tokens of sessions have no `~`."""

SET_TOKEN = """INSERT INTO api.access_tokens (token_id, token_hash) VALUES ($1, $2)
ON CONFLICT (token_id) DO UPDATE SET token_hash = EXCLUDED.token_hash"""

FIRST_PASSWORD = """INSERT INTO api.credentials (user_id, password_hash, changed_at) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING"""

SET_PASSWORD = """INSERT INTO api.credentials (user_id, password_hash, changed_at) VALUES ($1, $2, $3)
ON CONFLICT (user_id) DO UPDATE SET password_hash = EXCLUDED.password_hash, changed_at = EXCLUDED.changed_at"""


class Sessions:
    def __init__(
        self,
        pool: asyncpg.Pool,
        settings: ApiSettings,
        now: Callable[[], datetime],
        read: ReadModel,
        accounts: AccountQueries,
        tokens: TokenQueries,
        work: PasswordWork,
    ) -> None:
        self._pool, self._now, self._work = pool, now, work
        self._read, self._accounts, self._tokens = read, accounts, tokens
        self._lifetime = timedelta(days=settings.session_lifetime_days)
        self._cache: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()

    async def open(self, user_id: int, session_id: int, now: datetime) -> tuple[str, datetime]:
        """A fresh token for the user, which nothing but its bearer will know, and when it ends."""
        token = secrets.token_urlsafe(32)
        expires_at = now + self._lifetime
        with outages():
            await self._pool.execute(
                "INSERT INTO api.sessions (session_id, user_id, token_hash, expires_at) VALUES ($1, $2, $3, $4)",
                session_id,
                user_id,
                _hash(token),
                expires_at,
            )
        return token, expires_at

    async def close(self, session_id: int) -> None:
        with outages():
            await self._pool.execute("DELETE FROM api.sessions WHERE session_id = $1", session_id)
        self.forget()

    async def close_all(self, user_id: int, *, but: int | None = None) -> list[int]:
        """End the user's sessions, apart from `but`; their ids."""
        with outages():
            rows = await self._pool.fetch(
                "DELETE FROM api.sessions WHERE user_id = $1 AND session_id IS DISTINCT FROM $2 RETURNING session_id",
                user_id,
                but,
            )
        self.forget()
        return [row["session_id"] for row in rows]

    async def sweep(self) -> None:
        """Delete what has expired."""
        with outages():
            await self._pool.execute("DELETE FROM api.sessions WHERE expires_at < $1", self._now())

    def forget(self) -> None:
        """Believe no token without asking again: somebody's rights have changed."""
        self._cache.clear()

    async def principal(self, token: str) -> Principal | None:
        """Who holds `token`; None when nobody does any more."""
        key = _hash(token)
        known = self._cache.get(key)
        if known and known[0] > time.monotonic():
            return known[1]
        principal = await (self._bearer(key) if token.startswith(ACCESS_TOKEN) else self._look_up(key))
        if principal is not None:
            self._remember(key, principal)
        return principal

    async def _look_up(self, key: bytes) -> Principal | None:
        row = await self._accounts.session(key, self._now())
        if row is not None and row.user_id is None:  # no user is ever deleted: the tables do not show this one yet
            await self._read.catch_up()
            row = await self._accounts.session(key, self._now())
        if row is None or row.user_id is None or not row.active:
            return None
        return Principal(row.user_id, row.username, row.admin, session_id=row.session_id)

    async def _bearer(self, key: bytes) -> Principal | None:
        """Raises WireError for a token that was revoked or has expired."""
        row = await self._tokens.bearer(key)
        if row is None or not row.active:
            return None
        if row.revoked or row.expires_at <= self._now():
            why = "revoked" if row.revoked else "expired"
            raise WireError(wire.UNAUTHENTICATED, f"user access token {why}: create another one, or log in")
        return Principal(row.user_id, row.username, row.admin, token_id=row.token_id)

    def _remember(self, key: bytes, principal: Principal) -> None:
        self._cache[key] = (time.monotonic() + TRUSTED_S, principal)
        self._cache.move_to_end(key)
        while len(self._cache) > CACHED_MAX:
            self._cache.popitem(last=False)

    # ---------------------------------------------------------------- access tokens

    async def keep_token(self, token_id: int) -> str:
        """A fresh text of an access token, which nothing but its bearer will know. A text that the token had before,
        because its creation was asked for twice, counts no more."""
        text = ACCESS_TOKEN + secrets.token_urlsafe(32)
        with outages():
            await self._pool.execute(SET_TOKEN, token_id, _hash(text))
        return text

    # ---------------------------------------------------------------- passwords

    async def set_password(self, user_id: int, form: str) -> None:
        """Keep the hash of a password in client form."""
        await self._keep(user_id, form, SET_PASSWORD)

    async def set_first_password(self, user_id: int, form: str) -> None:
        """The same, unless the user has been given one before."""
        with outages():
            known = await self._pool.fetchval("SELECT 1 FROM api.credentials WHERE user_id = $1", user_id)
        if not known:
            await self._keep(user_id, form, FIRST_PASSWORD)

    async def _keep(self, user_id: int, form: str, sql: str) -> None:
        kept = await self._work.known.run(passwords.hash_of, form)
        with outages():
            await self._pool.execute(sql, user_id, kept, self._now())

    async def blank(self) -> Sequence[str]:
        """The active users whose password is blank. One that has none, cut off while being made, cannot log in."""
        return await self._accounts.blank()


def _hash(token: str) -> bytes:
    return hashlib.sha256(as_shown(token)).digest()
