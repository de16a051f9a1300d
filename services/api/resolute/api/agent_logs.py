"""Log lines that agents ship over the bus: kept for tasks that were placed on the agent, and for no others.

NATS sees to it that an agent speaks for itself; whether a task is one of its own is known here. So is whether the
task's allocation was given up: an agent that was cut off ships what it has once the link is back. What the task had
printed by then is kept, for it may tell why; what it printed afterwards is not (docs/decisions/0039).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from resolute.api import signals
from resolute.api.freshness import TRUSTED_S, Freshness
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.logs.shipping_queries import ShippingQueries
from resolute.api.signals import Signals
from resolute.proto.errors import Forbidden
from resolute.proto.pool import LogBatch, LogLine, LogsStored

log_ = structlog.get_logger()

REMEMBERED = 10_000

Share = tuple[str, str, str, str]
"""The agent, and the share of an allocation of a task that was placed on it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A share that was looked up. That it was placed never changes; what follows may."""

    given_up_at: datetime | None
    """When its allocation was given up, where nobody saw the share end."""
    deleted: bool
    about: tuple[str, ...]
    """Whose news ends the belief."""
    until_s: float
    heard: int

    def keeps(self, line: LogLine) -> bool:
        return not self.deleted and (self.given_up_at is None or line.at <= self.given_up_at)


class AgentLogs:
    def __init__(
        self,
        read: ReadModel,
        queries: ShippingQueries,
        store: Callable[[Sequence[LogLine]], Awaitable[None]],
        news: Signals,
        freshness: Freshness,
    ) -> None:
        self._read, self._queries, self._store = read, queries, store
        self._news, self._freshness = news, freshness
        self._placed: OrderedDict[Share, Placed] = OrderedDict()

    async def store(self, batch: LogBatch) -> LogsStored:
        """Durable when it answers; the agent keeps the lines until then. Answers how many were wanted.

        Raises Forbidden, having stored nothing, when a line is of a task that was never placed on its agent.
        """
        shares = {_share(line) for line in batch.lines}
        await self._look_up({share for share in shares if not self._is_believed(share)})
        for agent_id, resources_id, _, task_id in sorted(shares - self._placed.keys()):
            raise Forbidden(f"task {task_id!r} has no share {resources_id!r} on agent {agent_id!r}")
        kept = [line for line in batch.lines if self._placed[_share(line)].keeps(line)]
        if len(kept) < len(batch.lines):
            dropped = len(batch.lines) - len(kept)
            log_.info("lines of a given-up run or of a deleted trial are not kept", lines=dropped)
        await self._store(kept)
        return LogsStored(count=len(kept))

    def _is_believed(self, share: Share) -> bool:
        known = self._placed.get(share)
        return known is not None and known.until_s > time.monotonic() and self._news.heard(*known.about) <= known.heard

    async def _look_up(self, shares: set[Share]) -> None:
        if not shares:
            return
        heard = {share: self._news.heard(*self._about(share)) for share in shares}
        await self._freshness.ensure()
        await self._read.reached(max(heard.values()))
        if missing := shares - await self._ask(heard):  # the agent may be faster than this gateway's read model
            await self._read.catch_up()
            await self._ask({share: heard[share] for share in missing})
        while len(self._placed) > REMEMBERED + len(shares):
            self._placed.popitem(last=False)

    def _about(self, share: Share) -> tuple[str, ...]:
        known = self._placed.get(share)
        return known.about if known is not None else (share[2],)

    async def _ask(self, heard: dict[Share, int]) -> set[Share]:
        """Which of the shares there are; what is known of them is remembered."""
        found = set()
        for row in await self._queries.shares({resources_id for _, resources_id, _, _ in heard}):
            share = (row.agent_id, row.resources_id, row.allocation_id, row.task_id)
            if share in heard:
                about = (share[2], signals.deletion(row.experiment_id))
                until_s = time.monotonic() + TRUSTED_S
                self._placed[share] = Placed(row.given_up_at, row.deleted, about, until_s, heard[share])
                self._placed.move_to_end(share)
                found.add(share)
        return found


def _share(line: LogLine) -> Share:
    return line.agent_id, line.container_id, line.allocation_id, line.task_id
