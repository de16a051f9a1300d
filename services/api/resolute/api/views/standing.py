"""How one that waits stands now: the recorded reason that counts for it, who comes first, who holds the slots.

Whoever is in line was told so once. What its line waits for is what the first of it was told last; places, holders and
free slots are counted from the read model as it is when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.views.queue_order import before, by_keys, keys_of, of_latest
from resolute.config.pools import Scheduler
from resolute.eventlog.waiting import WaitReason, effective_reason
from resolute.proto.queue import WaitRule

NAMED = 5
"""How many jobs are named."""

# All that wait in a pool and were told anything else than that they are in line: the first of each line, and others
# whom something holds that is their own.
TOLD = f"""SELECT allocation_id, job_id, slots, waits FROM read_tasks.allocations
WHERE pool = $1 AND state = '{AllocationState.QUEUED}' AND waits ->> 'rule' <> '{WaitRule.IN_LINE}'
ORDER BY requested_at, allocation_id"""

HOLDERS = f"""SELECT job_id, sum(slots)::int AS slots FROM read_tasks.allocations
WHERE pool = $1 AND ended_at IS NULL AND state <> '{AllocationState.QUEUED}' AND ($2::text IS NULL OR job_id = $2)
GROUP BY job_id HAVING sum(slots) > 0 ORDER BY sum(slots) DESC, job_id COLLATE "C" LIMIT $3"""

SLOTS = f"""SELECT count(*)::int AS slots, count(*) FILTER (WHERE NOT EXISTS (
    SELECT FROM read_tasks.placements p
    WHERE p.agent_id = s.agent_id AND p.state <> '{ShareState.EXITED}' AND s.slot_id = ANY(p.slot_ids)))::int AS free
FROM read_pools.slots s JOIN read_pools.agents a USING (agent_id, pool)
WHERE a.pool = $1 AND a.alive AND a.enabled AND s.enabled"""

# Jobs of which something is served before, in the order of `queue_order`: $2 the job that asks, $3 whether it needs
# slots, $4 to $6 the keys that count (`keys_of`), $7 the lines that the pool cannot hold: no job waits for them, nor
# for those that a limit of their own holds.
AHEAD = f"""
WITH live AS (
    SELECT job_id, min(owner) AS owner, {of_latest("a.priority")} AS priority, {of_latest("a.weight")} AS weight,
        coalesce(sum(slots) FILTER (WHERE state <> '{AllocationState.QUEUED}'), 0) AS held,
        bool_or(state = '{AllocationState.QUEUED}' AND (slots > 0) = $3
            AND waits ->> 'line' <> ALL($7::text[])) AS waits,
        bool_or(state = '{AllocationState.QUEUED}' AND waits ->> 'rule' = '{WaitRule.MAX_SLOTS}') AS limited
    FROM read_tasks.allocations a WHERE pool = $1 AND ended_at IS NULL GROUP BY job_id),
keyed AS (
    SELECT l.*, j.place, CASE WHEN $4 THEN l.priority ELSE 0 END AS rank,
        CASE WHEN $5 THEN sum(l.held) OVER (PARTITION BY l.owner)::float8
            WHEN $6 THEN l.held / l.weight ELSE 0 END AS share
    FROM live l JOIN read_queue.jobs j ON j.job_id = l.job_id AND j.pool = $1)
SELECT k.job_id, count(*) OVER ()::int AS jobs FROM keyed k, keyed mine
WHERE mine.job_id = $2 AND k.waits AND NOT k.limited
    AND {before("k", "mine")}
ORDER BY {by_keys("k")} LIMIT $8"""


@dataclass(frozen=True, slots=True)
class Waits:
    """Why one waits, as it stands now."""

    rule: str
    sentence: str
    since: str
    recorded: dict[str, Any]
    """The reason that counts, with when it was told and by whose doing."""
    first: asyncpg.Record | None
    """Who was told that; None where it was itself."""
    free: int
    jobs_ahead: int
    ahead: tuple[str, ...]
    holders: tuple[tuple[str, int], ...]


class Line:
    """A pool's queue, as far as those of one job who ask need it. What was looked up for one is known for all."""

    def __init__(self, read: ReadModel, pool: str, scheduler: Scheduler) -> None:
        self._read, self._pool, self._scheduler = read, pool, scheduler
        self._known: dict[tuple[Any, ...], Sequence[asyncpg.Record]] = {}

    async def waits(self, row: asyncpg.Record) -> Waits:
        """Of an allocation of the pool that waits."""
        [count] = await self._rows(SLOTS, self._pool)
        if row["waits"] is None:
            nothing = {"at": row["requested_at"].isoformat(), "actor": "", "reason": "no reason is recorded"}
            return Waits("", nothing["reason"], nothing["at"], nothing, None, count["free"], 0, (), ())
        others = {other["allocation_id"]: other for other in await self._rows(TOLD, self._pool)}
        counts = effective_reason(_told(row), map(_told, others.values()))
        about = counts.recorded_for.allocation_id
        first = others.get(about) if about != row["allocation_id"] else None
        own = orjson.loads(row["waits"])
        recorded = orjson.loads(first["waits"]) if first is not None else own
        in_line = counts.rule == WaitRule.IN_LINE
        ahead = await self._ahead(row, others.values()) if in_line else []
        jobs = ahead[0]["jobs"] if ahead else 0
        return Waits(
            rule=counts.rule,
            sentence=_sentence(row, counts.rule, recorded["reason"], first, jobs) + _room(row, counts.rule, count),
            since=own["since"] if in_line else max(own["since"], recorded["since"]),
            recorded=own if in_line else recorded,
            first=first,
            free=count["free"],
            jobs_ahead=jobs,
            ahead=tuple(one["job_id"] for one in ahead),
            holders=await self._holders(row, counts.rule),
        )

    async def _rows(self, statement: str, *arguments: Any) -> Sequence[asyncpg.Record]:
        asked = statement, *map(str, arguments)
        if asked not in self._known:
            self._known[asked] = await self._read.rows(statement, *arguments)
        return self._known[asked]

    async def _holders(self, row: asyncpg.Record, rule: str) -> tuple[tuple[str, int], ...]:
        if not row["slots"]:
            return ()
        found = await self._rows(HOLDERS, self._pool, row["job_id"] if rule == WaitRule.MAX_SLOTS else None, NAMED)
        return tuple((holder["job_id"], holder["slots"]) for holder in found)

    async def _ahead(self, row: asyncpg.Record, told: Iterable[asyncpg.Record]) -> Sequence[asyncpg.Record]:
        needs_slots = row["slots"] > 0
        never = [one.line for one in map(_told, told) if one.rule == WaitRule.NEVER_FITS]
        keys = keys_of(self._scheduler, slots=needs_slots)
        return await self._rows(AHEAD, self._pool, row["job_id"], needs_slots, *keys, never, NAMED)


def _told(row: asyncpg.Record) -> WaitReason:
    waits = orjson.loads(row["waits"])
    return WaitReason(row["allocation_id"], row["job_id"], row["slots"], waits.get("line", ""), waits["rule"])


def _sentence(row: asyncpg.Record, rule: str, reason: str, first: asyncpg.Record | None, ahead: int) -> str:
    if rule == WaitRule.IN_LINE:
        come = f"{ahead} {'job comes' if ahead == 1 else 'jobs come'} first" if ahead else "others come first"
        return f"{come}; {first['allocation_id']} is first in line: {reason}" if first is not None else come
    return f"as {first['allocation_id']}, which comes before it: {reason}" if first is not None else reason


def _room(row: asyncpg.Record, rule: str, count: asyncpg.Record) -> str:
    if not row["slots"] or rule in (WaitRule.MAX_SLOTS, WaitRule.NEVER_FITS, WaitRule.NO_POOL, WaitRule.MAKING_ROOM):
        return ""
    total, free = count["slots"], count["free"]
    return f"; {free} of {total} {'slot' if total == 1 else 'slots'} {'is' if free == 1 else 'are'} free"
