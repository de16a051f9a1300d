"""The twin of what the gateway asks to decide who a caller is: the same answers, from what is in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from resolute.api.identity.account_queries import AccountRow, SessionRow
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows


@dataclass(frozen=True, slots=True)
class Credential:
    password_hash: str | None = field(repr=False)
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class KnownSession:
    session_id: int
    user_id: int
    expires_at: datetime


@dataclass(frozen=True)
class MemoryAccounts:
    """`tables`: those of users. The rest is what is kept beside the log."""

    tables: CachedRows
    credentials: dict[int, Credential] = field(default_factory=dict)
    """By user."""
    sessions: dict[bytes, KnownSession] = field(default_factory=dict)
    """By the hash of the token."""
    addresses: dict[tuple[int, bytes], datetime] = field(default_factory=dict)
    """By user and hash of the address, when the user last signed in from there."""

    async def account(self, username: str, address_hash: bytes) -> AccountRow | None:
        for user in self.tables.all(USERS):
            known = self.credentials.get(user.id)
            if user.username == username and not user.remote and known is not None:
                seen_at = self.addresses.get((user.id, address_hash))
                return AccountRow(user.id, user.active, known.password_hash, known.changed_at, seen_at)
        return None

    async def session(self, token_hash: bytes, now: datetime) -> SessionRow | None:
        known = self.sessions.get(token_hash)
        if known is None or known.expires_at <= now:
            return None
        user = self.tables.get(USERS, known.user_id)
        if user is None:
            return SessionRow(known.session_id, None, "", admin=False, active=False)
        return SessionRow(known.session_id, user.id, user.username, user.admin, user.active)

    async def blank(self) -> Sequence[str]:
        return [
            user.username
            for user in self.tables.all(USERS)
            if user.active and not user.remote and self._is_blank(user.id)
        ]

    def _is_blank(self, user_id: int) -> bool:
        known = self.credentials.get(user_id)
        return known is not None and known.password_hash is None
