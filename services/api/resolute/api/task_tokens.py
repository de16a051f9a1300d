"""Task tokens: what a running task shows to be let in to its own routes.

A token lives as long as its allocation, and a little longer where the task ended by itself: what the task said last may
arrive after the news of its exit. An allocation that was given up has no such time: its task may run on, on a host
that cannot be reached, and must not write beside the run that follows it (docs/decisions/0010 and 0039).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from resolute.api import signals
from resolute.api.freshness import TRUSTED_S, Freshness
from resolute.api.kernel.newest import looked_for
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.routing import Principal, TaskClaims
from resolute.api.signals import Signals
from resolute.api.tasks.token_queries import BearerRow, TokenQueries
from resolute.service import tokens

CACHED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Known:
    principal: Principal
    until_s: float
    about: tuple[str, ...]
    """Whose news ends the belief."""
    heard: int
    """The newest news of these that the belief rests on."""


class TaskTokens:
    def __init__(
        self,
        secret: bytes,
        read: ReadModel,
        queries: TokenQueries,
        now: Callable[[], datetime],
        grace_s: float,
        news: Signals,
        freshness: Freshness,
    ) -> None:
        """`grace_s`: how long a token is good for after its allocation's exit."""
        assert secret, "an empty secret would let anyone make task tokens"
        self._secret, self._read, self._queries, self._now = secret, read, queries, now
        self._news, self._freshness = news, freshness
        self._grace = timedelta(seconds=grace_s)
        self._cache: OrderedDict[str, Known] = OrderedDict()

    @staticmethod
    def looks_like(token: str) -> bool:
        return token.startswith(f"{tokens.VERSION}.")

    async def principal(self, token: str) -> Principal | None:
        """The task that carries `token`, with whether its run was given up; None when the token is forged, or when its
        allocation has ended and the time for last reports is over."""
        known = self._cache.get(token)
        if known and known.until_s > time.monotonic() and self._news.heard(*known.about) <= known.heard:
            return known.principal
        found = await self._looked_up(token, known)
        if found is None:
            self._cache.pop(token, None)
            return None
        return self._remember(token, found)

    async def _looked_up(self, token: str, known: Known | None) -> Known | None:
        claims = tokens.verify(self._secret, token)
        if claims is None:
            return None
        heard = self._news.heard(*(known.about if known else (claims.allocation_id,)))
        await self._freshness.ensure()
        await self._read.reached(heard)
        row = await looked_for(self._read, lambda: self._queries.bearer(claims.allocation_id))
        if row is None or row.task_id != claims.task_id:
            return None
        task = task_of(claims, row)
        if not (task.given_up or task.deleted) and self._is_over(row.ended_at):
            return None
        principal = Principal(row.owner_id, row.owner, task=task)
        return Known(principal, time.monotonic() + TRUSTED_S, _about(task), heard)

    def _is_over(self, ended_at: datetime | None) -> bool:
        return ended_at is not None and ended_at + self._grace < self._now()

    def _remember(self, token: str, known: Known) -> Principal:
        self._cache[token] = known
        self._cache.move_to_end(token)
        while len(self._cache) > CACHED_MAX:
            self._cache.popitem(last=False)
        return known.principal


def task_of(claims: tokens.TaskClaims, row: BearerRow) -> TaskClaims:
    """What the token claims, and what the log says of it."""
    return TaskClaims(
        claims.task_id,
        claims.allocation_id,
        row.trial_id,
        row.experiment_id,
        given_up=_given_up(claims.allocation_id, row),
        deleted=row.deleted,
    )


def _given_up(allocation_id: str, row: BearerRow) -> str:
    if row.newer_run is not None:
        return f"run {row.newer_run} of trial {row.trial_id} has taken over from allocation {allocation_id}"
    if row.given_up:
        return f"allocation {allocation_id} was given up at {row.ended_at:%H:%M:%S} UTC: {row.why}"
    return ""


def _about(task: TaskClaims) -> tuple[str, ...]:
    about = [task.allocation_id]
    if task.trial_id is not None:
        about.append(signals.trial(task.trial_id))
    if task.experiment_id is not None:
        about.append(signals.deletion(task.experiment_id))
    return tuple(about)
