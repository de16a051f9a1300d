"""How an allocation that waits stands now: the recorded reason that counts for it, the jobs that come first, and those
that hold the slots.

For each allocation in line the scheduler records once that it is in line. What the line waits for is recorded for its
first allocation. Places, holders and free slots are counted from the read model when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from resolute.api.queue.explain_queries import ExplainQueries
from resolute.api.queue.explain_rows import (
    NONE_AHEAD,
    AllocationRow,
    JobsAhead,
    RecordedReason,
    SlotCount,
    WaitingRow,
)
from resolute.api.queue.order import keys_of
from resolute.config.pools import Scheduler
from resolute.eventlog.waiting import WaitReason, effective_reason
from resolute.proto.queue import WaitRule

NAMED = 5
"""How many jobs are named."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why one allocation waits, as it stands now."""

    rule: str
    sentence: str
    since: datetime
    recorded: RecordedReason
    """The reason that counts."""
    first: WaitingRow | None
    """The allocation for which that reason was recorded; None where it is the same allocation."""
    free: int
    ahead: JobsAhead
    holders: Sequence[tuple[str, int]]


async def line_of(queries: ExplainQueries, pool: str, scheduler: Scheduler) -> Line:
    """The line of a pool as it stands now."""
    rows = await queries.with_reasons(pool)
    return Line(queries, pool, scheduler, {row.allocation_id: row for row in rows}, await queries.slots(pool))


class Line:
    """A pool's queue, as far as the allocations of one job need it. What was looked up for one is kept for all."""

    def __init__(
        self,
        queries: ExplainQueries,
        pool: str,
        scheduler: Scheduler,
        with_reasons: Mapping[str, WaitingRow],
        count: SlotCount,
    ) -> None:
        self._queries, self._pool, self._scheduler = queries, pool, scheduler
        self._with_reasons, self._count = with_reasons, count
        self._holders: dict[str | None, Sequence[tuple[str, int]]] = {}
        self._ahead: dict[tuple[str, bool], JobsAhead] = {}

    async def wait_of(self, row: AllocationRow) -> Wait:
        """Of an allocation of the pool that waits."""
        own = row.waits
        if own is None:
            nothing = RecordedReason("no reason is recorded", row.requested_at, "")
            return Wait("", nothing.reason, nothing.at, nothing, None, self._count.free, NONE_AHEAD, ())
        others = [_as_reason(one, one.waits) for one in self._with_reasons.values()]
        counts = effective_reason(_as_reason(row, own), others)
        about = counts.recorded_for.allocation_id
        first = self._with_reasons.get(about) if about != row.allocation_id else None
        recorded = first.waits if first is not None else own
        in_line = counts.rule == WaitRule.IN_LINE
        ahead = await self._jobs_ahead(row) if in_line else NONE_AHEAD
        return Wait(
            rule=counts.rule,
            sentence=_sentence(row, counts.rule, recorded.reason, first, ahead.count)
            + _room(row, counts.rule, self._count),
            since=_since(own) if in_line else max(_since(own), _since(recorded)),
            recorded=own if in_line else recorded,
            first=first,
            free=self._count.free,
            ahead=ahead,
            holders=await self._jobs_holding(row, counts.rule),
        )

    async def _jobs_holding(self, row: AllocationRow, rule: str) -> Sequence[tuple[str, int]]:
        if not row.slots:
            return ()
        alone = row.job_id if rule == WaitRule.MAX_SLOTS else None
        if alone not in self._holders:
            self._holders[alone] = await self._queries.holders(self._pool, alone, NAMED)
        return self._holders[alone]

    async def _jobs_ahead(self, row: AllocationRow) -> JobsAhead:
        key = row.job_id, row.slots > 0
        if key not in self._ahead:
            held_back = (one.waits for one in self._with_reasons.values() if one.waits.rule == WaitRule.NEVER_FITS)
            self._ahead[key] = await self._queries.ahead(
                self._pool,
                row.job_id,
                keys_of(self._scheduler, slots=row.slots > 0),
                needs_slots=row.slots > 0,
                never=[one.line or "" for one in held_back],
                most=NAMED,
            )
        return self._ahead[key]


def _as_reason(row: AllocationRow | WaitingRow, waits: RecordedReason) -> WaitReason:
    return WaitReason(row.allocation_id, row.job_id, row.slots, waits.line or "", waits.rule)


def _since(reason: RecordedReason) -> datetime:
    return reason.since if reason.since is not None else reason.at


def _sentence(row: AllocationRow, rule: str, reason: str, first: WaitingRow | None, ahead: int) -> str:
    if rule == WaitRule.IN_LINE:
        come = f"{ahead} {'job comes' if ahead == 1 else 'jobs come'} first" if ahead else "others come first"
        return f"{come}; {first.allocation_id} is first in line: {reason}" if first is not None else come
    return f"as {first.allocation_id}, which comes before it: {reason}" if first is not None else reason


def _room(row: AllocationRow, rule: str, count: SlotCount) -> str:
    if not row.slots or rule in (WaitRule.MAX_SLOTS, WaitRule.NEVER_FITS, WaitRule.NO_POOL, WaitRule.MAKING_ROOM):
        return ""
    total, free = count.slots, count.free
    return f"; {free} of {total} {'slot' if total == 1 else 'slots'} {'is' if free == 1 else 'are'} free"
