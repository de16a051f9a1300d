"""What can be asked about the reasons why a job waits, runs or ended: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import asyncpg
import orjson

from resolute.api.experiments.projection import WORKSPACE_OF_EXPERIMENT
from resolute.api.kernel.listing import Where
from resolute.api.kernel.ports import Port, Tables
from resolute.api.queue.explain_rows import (
    NONE_AHEAD,
    AllocationRow,
    ExperimentRow,
    JobName,
    JobsAhead,
    RecordedReason,
    ShareRow,
    SlotCount,
    WaitingRow,
)
from resolute.api.queue.order import Keys, before, by_keys, of_latest
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.proto.queue import WaitRule


class ExplainQueries(Protocol):
    async def experiment(self, job_id: str) -> ExperimentRow | None: ...

    async def allocations(self, job_id: str) -> Sequence[AllocationRow]:
        """All that a job asks for or holds now; of one that has nothing now, the latest that it had. A hundred at
        most."""

    async def previous(self, tasks: Sequence[str]) -> Sequence[AllocationRow]:
        """Of each task, the allocation that ended last."""

    async def shares(self, allocations: Sequence[str]) -> Sequence[ShareRow]: ...

    async def jobs_of(self, allocations: Sequence[str]) -> Mapping[str, str]:
        """The jobs of allocations."""

    async def names(self, scope: Scope, jobs: Sequence[str]) -> Sequence[JobName]:
        """Those within the scope. Jobs that are no experiment's are in the scope of everything alone."""

    async def with_reasons(self, pool: str) -> Sequence[WaitingRow]:
        """The allocations that wait in a pool, and for which another reason is recorded than that they are in line:
        the first of each line, and others that a limit of their own job holds."""

    async def slots(self, pool: str) -> SlotCount:
        """The slots of the pool that are enabled, and how many of them nothing holds."""

    async def holders(self, pool: str, job_id: str | None, most: int) -> Sequence[tuple[str, int]]:
        """The jobs that hold the most slots, and how many; with `job_id`, that job alone."""

    async def ahead(
        self, pool: str, job_id: str, keys: Keys, *, needs_slots: bool, never: Sequence[str], most: int
    ) -> JobsAhead:
        """The jobs that wait and come before `job_id`, and the first of them in order. `never` are lines that the pool
        cannot hold: no job waits for them, nor for jobs that a limit of their own holds."""


# ---------------------------------------------------------------- Postgres

EXPERIMENT = "SELECT id, state, reason, resource_pool FROM read_experiments.experiments WHERE job_id = $1"

ALLOCATIONS = """SELECT a.* FROM read_tasks.allocations a
WHERE a.job_id = $1 AND (a.ended_at IS NULL OR NOT EXISTS (
    SELECT FROM read_tasks.allocations l WHERE l.job_id = $1 AND l.ended_at IS NULL))
ORDER BY a.ended_at DESC NULLS FIRST, a.requested_at, a.allocation_id LIMIT 100"""

PREVIOUS = """SELECT DISTINCT ON (task_id) * FROM read_tasks.allocations
WHERE task_id = ANY($1::text[]) AND ended_at IS NOT NULL ORDER BY task_id, ended_at DESC, requested_at DESC"""

SHARES = """SELECT allocation_id, agent_id, slot_ids FROM read_tasks.placements
WHERE allocation_id = ANY($1::text[]) ORDER BY allocation_id, share"""

JOBS_OF = "SELECT allocation_id, job_id FROM read_tasks.allocations WHERE allocation_id = ANY($1::text[])"

NAMES = """SELECT j.job_id, e.id AS experiment_id, coalesce(e.name, l.name, '') AS name,
    coalesce(e.owner, l.owner, '') AS owner
FROM unnest($1::text[]) AS j(job_id)
LEFT JOIN read_experiments.experiments e ON e.job_id = j.job_id
LEFT JOIN LATERAL (SELECT name, owner FROM read_tasks.allocations a WHERE a.job_id = j.job_id LIMIT 1) l ON true"""

WITH_REASONS = f"""SELECT allocation_id, job_id, slots, waits FROM read_tasks.allocations
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

# $2 is the job that asks, $3 whether it needs slots, $4 to $6 the keys that count, $7 the lines that the pool cannot
# hold.
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


class PostgresExplain:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def experiment(self, job_id: str) -> ExperimentRow | None:
        row = await self._tables.row(EXPERIMENT, job_id)
        return None if row is None else ExperimentRow(**row)

    async def allocations(self, job_id: str) -> Sequence[AllocationRow]:
        return [_allocation(row) for row in await self._tables.rows(ALLOCATIONS, job_id)]

    async def previous(self, tasks: Sequence[str]) -> Sequence[AllocationRow]:
        return [_allocation(row) for row in await self._tables.rows(PREVIOUS, tasks)]

    async def shares(self, allocations: Sequence[str]) -> Sequence[ShareRow]:
        rows = await self._tables.rows(SHARES, allocations)
        return [ShareRow(row["allocation_id"], row["agent_id"], tuple(row["slot_ids"])) for row in rows]

    async def jobs_of(self, allocations: Sequence[str]) -> Mapping[str, str]:
        rows = await self._tables.rows(JOBS_OF, allocations)
        return {row["allocation_id"]: row["job_id"] for row in rows}

    async def names(self, scope: Scope, jobs: Sequence[str]) -> Sequence[JobName]:
        where = Where(scope, WORKSPACE_OF_EXPERIMENT.format("e.id"), [jobs])
        return [JobName(**row) for row in await self._tables.rows(NAMES + where.sql, *where.args)]

    async def with_reasons(self, pool: str) -> Sequence[WaitingRow]:
        return [_waiting(row) for row in await self._tables.rows(WITH_REASONS, pool)]

    async def slots(self, pool: str) -> SlotCount:
        (row,) = await self._tables.rows(SLOTS, pool)
        return SlotCount(row["slots"], row["free"])

    async def holders(self, pool: str, job_id: str | None, most: int) -> Sequence[tuple[str, int]]:
        return [(row["job_id"], row["slots"]) for row in await self._tables.rows(HOLDERS, pool, job_id, most)]

    async def ahead(
        self, pool: str, job_id: str, keys: Keys, *, needs_slots: bool, never: Sequence[str], most: int
    ) -> JobsAhead:
        counting = keys.priority, keys.share_of_user, keys.share_of_job
        rows = await self._tables.rows(AHEAD, pool, job_id, needs_slots, *counting, never, most)
        return JobsAhead(rows[0]["jobs"], tuple(row["job_id"] for row in rows)) if rows else NONE_AHEAD


def _allocation(row: asyncpg.Record) -> AllocationRow:
    return AllocationRow(
        allocation_id=row["allocation_id"],
        task_id=row["task_id"],
        trial_id=row["trial_id"],
        job_id=row["job_id"],
        pool=row["pool"],
        state=row["state"],
        slots=row["slots"],
        priority=row["priority"],
        weight=row["weight"],
        requested_at=row["requested_at"],
        ended_at=row["ended_at"],
        outcome=row["outcome"],
        exit_code=row["exit_code"],
        why=row["why"],
        waits=_reason(row["waits"]),
        placed=_reason(row["placed"]),
        preempted=_reason(row["preempted"]),
        killed=_reason(row["killed"]),
    )


def _reason(text: str | None) -> RecordedReason | None:
    return RecordedReason.of(orjson.loads(text)) if text else None


def _waiting(row: asyncpg.Record) -> WaitingRow:
    return WaitingRow(row["allocation_id"], row["job_id"], row["slots"], RecordedReason.of(orjson.loads(row["waits"])))


QUERIES: Port[ExplainQueries] = Port(PostgresExplain)
