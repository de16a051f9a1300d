"""Whether a name and a password are somebody's: budgets are charged first, then the password is looked at.

Names that nobody has, accounts that have no password here and wrong passwords take the same time and get the same
answer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from weakref import WeakValueDictionary

import asyncpg

from resolute.api import devices, passwords, wire
from resolute.api.identity.account_queries import AccountQueries, AccountRow
from resolute.api.login_budgets import LoginBudgets
from resolute.api.login_limits import Attempt, Counting, Limits
from resolute.api.password_work import PasswordWork
from resolute.api.routing import Principal
from resolute.api.settings import ApiSettings
from resolute.api.wire import WireError


@dataclass(frozen=True, slots=True)
class Claim:
    """Who somebody says they are, and what the request shows besides."""

    username: str
    form: str
    """The password, as clients send it."""
    address: str
    """As limits count it; empty where it cannot be told."""
    principal: Principal
    device: str
    """The device cookie, as it came."""


@dataclass(frozen=True, slots=True)
class Account:
    user_id: int
    active: bool


class Logins:
    def __init__(
        self,
        pool: asyncpg.Pool,
        accounts: AccountQueries,
        settings: ApiSettings,
        now: Callable[[], datetime],
        work: PasswordWork,
    ) -> None:
        self._accounts, self._now, self._work = accounts, now, work
        self._secret = settings.secret.get_secret_value().encode()
        counting = Counting(self._secret, Limits.of(settings.login_failures_max))
        self.budgets = LoginBudgets(pool, counting, self._secret, now)
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def account(self, claim: Claim) -> Account:
        """The account whose name and password these are. Raises WireError: 401, or 429 for who has to wait."""
        row = await self._accounts.account(claim.username, self.budgets.address_hash(claim.address))
        attempt = self._attempt(claim, row)
        # Several right passwords at once must not look like several wrong ones: they are charged one by one.
        async with self._turns.setdefault((claim.username, claim.address), asyncio.Lock()):
            return await self._tried(claim, attempt, row)

    async def _tried(self, claim: Claim, attempt: Attempt, row: AccountRow | None) -> Account:
        decision = await self.budgets.charge(attempt)
        if decision.wait_s:
            raise _too_many(decision.wait_s)
        known = attempt.session_id is not None or attempt.device or attempt.address_is_known
        line = self._work.known if known else self._work.strangers
        right = await line.run(passwords.matches, claim.form, row.password_hash if row is not None else passwords.NONE)
        if not right or row is None:
            raise WireError(wire.UNAUTHENTICATED, "invalid credentials")
        await self.budgets.give_back(decision)
        await self.budgets.note_address(row.id, claim.address, row.seen_at)
        return Account(row.id, row.active)

    def _attempt(self, claim: Claim, row: AccountRow | None) -> Attempt:
        if row is None:
            return Attempt(claim.username, None, claim.address)
        own_session = claim.principal.user_id == row.id and claim.principal.task is None
        seen_at = row.seen_at
        return Attempt(
            username=claim.username,
            user_id=row.id,
            address=claim.address,
            session_id=claim.principal.session_id if own_session else None,
            device=devices.device_of(self._secret, claim.device, row.id, row.changed_at, self._now()),
            address_is_known=bool(claim.address) and seen_at is not None,
        )

    def device_cookie(self, user_id: int) -> str:
        return devices.issue(self._secret, user_id, self._now())


def _too_many(wait_s: float) -> WireError:
    wait = math.ceil(wait_s)
    return WireError(
        wire.RESOURCE_EXHAUSTED,
        f"too many failed logins for this user from here: wait {wait} seconds, or sign in from a browser or an address "
        "that has signed in as this user before",
        retry_after_s=wait,
    )
