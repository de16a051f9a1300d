"""The budgets of wrong passwords in Postgres, where all gateways share them, and the addresses that accounts know.

The rows are bounded: see `login_limits`. They stand beside the log (docs/decisions/0042), because a flood of failures
must not become a history that is kept for ever.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import asyncpg

from resolute.api.database import outages
from resolute.api.login_limits import Attempt, Cell, Charge, Counting, Decision, after, decide

KNOWN_ADDRESSES_MAX = 16
"""Of one account; the one that was not used for longest is forgotten first."""
KNOWN_FOR = timedelta(days=90)
NOTED_AGAIN_AFTER = timedelta(hours=1)

STORED = """SELECT budget, cell, extract(epoch FROM full_at)::float8 AS full_at FROM api.login_budgets
JOIN unnest($1::text[], $2::bigint[]) AS wanted(budget, cell) USING (budget, cell)"""

MAKE = """INSERT INTO api.login_budgets (budget, cell, full_at)
SELECT wanted.budget, wanted.cell, to_timestamp($3) FROM unnest($1::text[], $2::bigint[]) AS wanted(budget, cell)
ORDER BY 1, 2 ON CONFLICT DO NOTHING"""

LOCKED = f"{STORED} ORDER BY budget, cell FOR UPDATE OF login_budgets"

CHARGE = """UPDATE api.login_budgets b SET full_at = to_timestamp(charged.full_at)
FROM unnest($1::text[], $2::bigint[], $3::float8[]) AS charged(budget, cell, full_at)
WHERE b.budget = charged.budget AND b.cell = charged.cell"""

GIVE_BACK = """UPDATE api.login_budgets b SET full_at = b.full_at - make_interval(secs => charged.seconds)
FROM (SELECT b.budget, b.cell, charged.seconds FROM api.login_budgets b
      JOIN unnest($1::text[], $2::bigint[], $3::float8[]) AS charged(budget, cell, seconds) USING (budget, cell)
      ORDER BY budget, cell FOR UPDATE OF b) AS charged
WHERE b.budget = charged.budget AND b.cell = charged.cell"""

NOTE_ADDRESS = """INSERT INTO api.known_addresses (user_id, address_hash, seen_at) VALUES ($1, $2, $3)
ON CONFLICT (user_id, address_hash) DO UPDATE SET seen_at = EXCLUDED.seen_at"""

KEEP_THE_NEWEST = """DELETE FROM api.known_addresses WHERE user_id = $1 AND address_hash NOT IN (
    SELECT address_hash FROM api.known_addresses WHERE user_id = $1 ORDER BY seen_at DESC, address_hash LIMIT $2)"""


class LoginBudgets:
    def __init__(self, pool: asyncpg.Pool, counting: Counting, secret: bytes, now: Callable[[], datetime]) -> None:
        self._pool, self._counting, self._secret, self._now = pool, counting, secret, now

    async def charge(self, attempt: Attempt) -> Decision:
        """Count the attempt as a failure, which `give_back` undoes; or say how long it has to wait."""
        charges = self._counting.charges(attempt)
        now_s = self._now().timestamp()
        with outages():
            refused = decide(charges, await self._stored(charges), now_s)
            if refused.wait_s:  # a flood that is refused anyway writes nothing and waits for no lock
                return refused
            async with self._pool.acquire() as connection, connection.transaction():
                return await _charge(connection, charges, now_s)

    async def give_back(self, decision: Decision) -> None:
        with outages():
            await self._pool.execute(GIVE_BACK, *_columns(decision.charged))

    async def _stored(self, charges: tuple[Charge, ...]) -> dict[Cell, float]:
        return _cells(await self._pool.fetch(STORED, *_names(charges)))

    # ---------------------------------------------------------------- addresses

    def address_hash(self, address: str) -> bytes:
        """What is kept of an address: enough to know it again, and nothing that a reader of the table learns it by."""
        return hmac.digest(self._secret, f"address\0{address}".encode(), hashlib.sha256)[:16]

    async def note_address(self, user_id: int, address: str, seen_at: datetime | None) -> None:
        """The account has signed in from `address`; `seen_at` is when it did so before."""
        if not address or (seen_at is not None and self._now() - seen_at < NOTED_AGAIN_AFTER):
            return
        with outages():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(NOTE_ADDRESS, user_id, self.address_hash(address), self._now())
                await connection.execute(KEEP_THE_NEWEST, user_id, KNOWN_ADDRESSES_MAX)

    async def forget_addresses(self, user_id: int) -> None:
        """Whoever knew the old password is no longer known."""
        with outages():
            await self._pool.execute("DELETE FROM api.known_addresses WHERE user_id = $1", user_id)

    async def sweep(self) -> None:
        """Delete the budgets that are full, and the addresses that were not used for long."""
        now = self._now()
        with outages():
            await self._pool.execute("DELETE FROM api.login_budgets WHERE full_at < $1", now)
            await self._pool.execute("DELETE FROM api.known_addresses WHERE seen_at < $1", now - KNOWN_FOR)


async def _charge(connection: asyncpg.Connection, charges: tuple[Charge, ...], now_s: float) -> Decision:
    names = _names(charges)
    await connection.execute(MAKE, *names, now_s)
    stored = _cells(await connection.fetch(LOCKED, *names))
    decision = decide(charges, stored, now_s)
    await connection.execute(CHARGE, *_columns(after(stored, decision.charged, now_s)))
    return decision


def _names(charges: tuple[Charge, ...]) -> tuple[list[str], list[int]]:
    cells = sorted({cell for charge in charges for cell in charge.cells})
    return [cell.table for cell in cells], [cell.number for cell in cells]


def _columns(values: Mapping[Cell, float]) -> tuple[list[str], list[int], list[float]]:
    cells = sorted(values)
    return [cell.table for cell in cells], [cell.number for cell in cells], [values[cell] for cell in cells]


def _cells(rows: list[asyncpg.Record]) -> dict[Cell, float]:
    return {Cell(row["budget"], row["cell"]): row["full_at"] for row in rows}
