"""What the gateway asks to decide who a caller is: accounts with their passwords, and sessions. The port, and Postgres
behind it.

Users are rows of the read model. Passwords, sessions and known addresses are kept beside the log, in tables of their
own (`migrations/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A user whose password is kept here."""

    id: int
    active: bool
    password_hash: str | None = field(repr=False)
    """None for a blank password."""
    changed_at: datetime
    """When the password was set."""
    seen_at: datetime | None
    """When this user last signed in from the address of the request; None for an address that the user never had."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    session_id: int
    user_id: int | None
    """None while the tables do not show the session's user yet."""
    username: str
    admin: bool
    active: bool


class AccountQueries(Protocol):
    async def account(self, username: str, address_hash: bytes) -> AccountRow | None:
        """None also for users that another system vouches for: they have no password here, whatever is stored."""

    async def session(self, token_hash: bytes, now: datetime) -> SessionRow | None:
        """The session of a token, unless it has ended or expired."""

    async def blank(self) -> Sequence[str]:
        """The names of the active users whose password is blank, by their ids. A user that was never given a password
        cannot sign in, and is not among them."""


ACCOUNT = """SELECT u.id, u.active, c.password_hash, c.changed_at, a.seen_at
FROM read_identity.users u JOIN api.credentials c ON c.user_id = u.id
LEFT JOIN api.known_addresses a ON a.user_id = u.id AND a.address_hash = $2
WHERE u.username = $1 AND NOT u.remote"""

SESSION = """SELECT s.session_id, u.id AS user_id, coalesce(u.username, '') AS username,
    coalesce(u.admin, false) AS admin, coalesce(u.active, false) AS active
FROM api.sessions s LEFT JOIN read_identity.users u ON u.id = s.user_id
WHERE s.token_hash = $1 AND s.expires_at > $2"""

BLANK = """SELECT u.username FROM read_identity.users u JOIN api.credentials c ON c.user_id = u.id
WHERE u.active AND NOT u.remote AND c.password_hash IS NULL ORDER BY u.id"""


class PostgresAccounts:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def account(self, username: str, address_hash: bytes) -> AccountRow | None:
        row = await self._tables.row(ACCOUNT, username, address_hash)
        return None if row is None else AccountRow(**row)

    async def session(self, token_hash: bytes, now: datetime) -> SessionRow | None:
        row = await self._tables.row(SESSION, token_hash, now)
        return None if row is None else SessionRow(**row)

    async def blank(self) -> Sequence[str]:
        return [row["username"] for row in await self._tables.rows(BLANK)]


ACCOUNTS: Port[AccountQueries] = Port(PostgresAccounts)
