"""Task tokens: what a running task shows to be let in to its own routes.

A token lives as long as its allocation and a little longer: what a task said last may arrive after the news of its
exit, and what a host says on that was given up as lost must not be taken for ever (docs/decisions/0010).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg

from resolute.api.readmodel import ReadModel
from resolute.api.routing import Principal, TaskClaims
from resolute.service import tokens

TRUSTED_S = 1.0

CACHED_MAX = 10_000

ALLOCATION = """SELECT a.task_id, a.trial_id, a.experiment_id, a.owner, a.ended_at, coalesce(u.id, 0) AS owner_id
FROM read_v1.allocations a LEFT JOIN read_v1.users u ON u.username = a.owner
WHERE a.allocation_id = $1"""


@dataclass(frozen=True, slots=True)
class Known:
    until_s: float
    principal: Principal


class TaskTokens:
    def __init__(self, secret: bytes, read: ReadModel, now: Callable[[], datetime], grace_s: float) -> None:
        """`grace_s`: how long a token is good for after its allocation's exit."""
        assert secret, "an empty secret would let anyone make task tokens"
        self._secret, self._read, self._now = secret, read, now
        self._grace = timedelta(seconds=grace_s)
        self._cache: OrderedDict[str, Known] = OrderedDict()

    @staticmethod
    def looks_like(token: str) -> bool:
        return token.startswith(f"{tokens.VERSION}.")

    async def principal(self, token: str) -> Principal | None:
        """The task that carries `token`; None when it is forged, or its allocation is over for good."""
        known = self._cache.get(token)
        if known and known.until_s > time.monotonic():
            return known.principal
        claims = tokens.verify(self._secret, token)
        row = claims and await self._allocation(claims.allocation_id)
        if not claims or not row or row["task_id"] != claims.task_id or self._is_over(row["ended_at"]):
            self._cache.pop(token, None)
            return None
        task = TaskClaims(claims.task_id, claims.allocation_id, row["trial_id"], row["experiment_id"])
        return self._remember(token, Principal(row["owner_id"], row["owner"], task=task))

    def _is_over(self, ended_at: datetime | None) -> bool:
        return ended_at is not None and ended_at + self._grace < self._now()

    async def _allocation(self, allocation_id: str) -> asyncpg.Record | None:
        row = await self._read.row(ALLOCATION, allocation_id)
        if row is None:  # the task may be faster than this gateway's read model
            await self._read.catch_up()
            row = await self._read.row(ALLOCATION, allocation_id)
        return row

    def _remember(self, token: str, principal: Principal) -> Principal:
        self._cache[token] = Known(time.monotonic() + TRUSTED_S, principal)
        self._cache.move_to_end(token)
        while len(self._cache) > CACHED_MAX:
            self._cache.popitem(last=False)
        return principal
