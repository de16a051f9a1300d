"""What can be asked about the job queue: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import asyncpg

from resolute.api.experiments.projection import WORKSPACE_OF_EXPERIMENT
from resolute.api.kernel.listing import Where
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.queue.order import PoolOrders, by_keys, of_latest
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState


@dataclass(frozen=True, slots=True)
class Standing:
    """How a job stands in the queue of its pool."""

    scheduled: bool
    """Whether any of its allocations holds its slots."""
    ahead: int
    """How many jobs that wait come before."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the progress of an experiment is reckoned from."""

    state: str
    of_search: float | None
    of_trials: float | None
    trials: int
    max_trials: str | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """All that one job asks for or holds in one pool."""

    job_id: str
    pool: str
    name: str
    """Of the experiment, or of the task."""
    owner: str
    owner_id: int | None
    workspace_id: int | None
    kind: str
    """The type of its tasks."""
    experiment_id: int | None
    task_id: str
    submitted_at: datetime
    priority: int
    weight: float
    requested: int
    """Slots, as are those that are `allocated`."""
    allocated: int
    standing: Standing
    progress: Progress | None
    """None for a task that belongs to no experiment."""


@dataclass(frozen=True, slots=True)
class WantedJobs:
    """Which jobs: those that fulfil all of this."""

    pool: str = ""
    scheduled: frozenset[bool] | None = None
    """Whether they are scheduled; None for all jobs."""


@dataclass(frozen=True, slots=True)
class WaitedRow:
    pool: str
    day: str
    """In UTC: `2026-01-31`."""
    seconds: float


class QueueQueries(Protocol):
    """A job has one place in each pool, by `resolute.proto.queue.order_of`; jobs that are scheduled come first."""

    async def jobs(
        self, scope: Scope, orders: PoolOrders, wanted: WantedJobs, *, descending: bool, window: Window
    ) -> Listed[JobRow]:
        """The jobs within the scope that ask for slots or hold some: pool by pool, in the order of the queue."""

    async def job(self, orders: PoolOrders, job_id: str) -> JobRow | None:
        """None for a job that asks for nothing now. Of a job in several pools, the part in the first pool by name."""

    async def standing(self, orders: PoolOrders, job_id: str) -> Standing | None:
        """As for `job`. A job that is scheduled in any pool is scheduled."""

    async def waited(self, since: datetime) -> Sequence[WaitedRow]:
        """How long what was given its slots since then had waited, on average, by pool and day."""

    async def job_named(self, text: str) -> str:
        """The id of a job; that of an experiment's where `text` is a number, which is easier to remember."""


# ---------------------------------------------------------------- Postgres

# $1 to $3: see `PoolOrders`. `live` are the jobs that ask for slots or hold some, one row for each job and pool;
# `keyed` the same rows with the keys of the order.
KEYED = f"""live AS (
    SELECT a.job_id, a.pool, min(a.name) AS name, min(a.owner) AS owner, min(a.task_type) AS kind,
        {of_latest("a.priority")} AS priority, {of_latest("a.weight")} AS weight,
        min(a.requested_at) AS requested_at, sum(a.slots)::int AS requested,
        coalesce(sum(a.slots) FILTER (WHERE a.state <> '{AllocationState.QUEUED}'), 0)::int AS allocated,
        bool_or(a.state <> '{AllocationState.QUEUED}') AS scheduled, min(a.task_id) AS task_id,
        min(a.experiment_id) AS experiment_id
    FROM read_tasks.allocations a WHERE a.ended_at IS NULL GROUP BY a.job_id, a.pool),
keyed AS (
    SELECT l.*, j.place,
        CASE WHEN l.requested = 0 OR l.pool = ANY($1::text[]) THEN l.priority ELSE 0 END AS rank,
        CASE WHEN l.requested = 0 THEN 0
            WHEN l.pool = ANY($2::text[]) THEN l.allocated / l.weight
            WHEN l.pool = ANY($3::text[]) THEN sum(l.allocated) OVER (PARTITION BY l.pool, l.owner)
            ELSE 0 END AS share
    FROM live l JOIN read_queue.jobs j USING (job_id, pool))"""

RANKED = f"""WITH {KEYED},
ranked AS (
    SELECT k.*,
        count(*) FILTER (WHERE NOT scheduled) OVER (
            PARTITION BY pool, requested = 0 ORDER BY {by_keys("k")}
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead,
        row_number() OVER (ORDER BY k.pool, k.scheduled DESC, {by_keys("k")}) AS number
    FROM keyed k)"""

COUNT = f"{RANKED} SELECT count(*) FROM ranked q"

# Only the jobs of the page are put together.
_SHOWN = """
SELECT q.*, e.name AS experiment, e.state, d.trials, e.started_at AS submitted_at, p.workspace_id, u.id AS owner_id,
    f.config #>> '{searcher,max_trials}' AS max_trials, g.progress, e.search_progress
FROM page q
LEFT JOIN read_experiments.experiments e ON e.id = q.experiment_id
LEFT JOIN read_experiments.experiment_configs f ON f.experiment_id = q.experiment_id
LEFT JOIN read_trials.standings d ON d.experiment_id = q.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_identity.users u ON u.username = q.owner
LEFT JOIN LATERAL (
    SELECT sum(n.progress) AS progress FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    WHERE t.experiment_id = q.experiment_id) g ON true"""

STANDING = f"{RANKED} SELECT scheduled, ahead FROM ranked WHERE job_id = $4 ORDER BY number"

LIVE = f"""SELECT bool_or(state <> '{AllocationState.QUEUED}') AS scheduled FROM read_tasks.allocations
WHERE job_id = $1 AND ended_at IS NULL HAVING count(*) > 0"""

WAITED = """SELECT pool, to_char(assigned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
    avg(extract(epoch FROM assigned_at - requested_at))::float8 AS seconds
FROM read_tasks.allocations WHERE assigned_at >= $1 GROUP BY pool, day ORDER BY pool, day"""

OF_NUMBER = "SELECT job_id FROM read_experiments.experiments WHERE id = $1"


class PostgresQueue:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def jobs(
        self, scope: Scope, orders: PoolOrders, wanted: WantedJobs, *, descending: bool, window: Window
    ) -> Listed[JobRow]:
        where = _conditions(scope, orders, wanted)
        page = window.of(int(await self._tables.value(COUNT + where.sql, *where.args)))
        if page.start == page.end:
            return Listed([], page)
        direction = "DESC" if descending else "ASC"
        cut = f" ORDER BY q.number {direction} OFFSET {page.start} LIMIT {page.end - page.start}"
        rows = await self._tables.rows(_selecting(where.sql, cut, direction), *where.args)
        return Listed([_job(row) for row in rows], page)

    async def job(self, orders: PoolOrders, job_id: str) -> JobRow | None:
        row = await self._tables.row(_selecting("WHERE q.job_id = $4"), *orders.arguments, job_id)
        return None if row is None else _job(row)

    async def standing(self, orders: PoolOrders, job_id: str) -> Standing | None:
        scheduled = await self._tables.value(LIVE, job_id)
        if scheduled is None or scheduled:
            return None if scheduled is None else Standing(scheduled=True, ahead=0)
        # Only for a job that waits are the places of all jobs looked at.
        row = await self._tables.row(STANDING, *orders.arguments, job_id)
        return None if row is None else _standing(row)

    async def waited(self, since: datetime) -> Sequence[WaitedRow]:
        return [WaitedRow(**row) for row in await self._tables.rows(WAITED, since)]

    async def job_named(self, text: str) -> str:
        if (number := experiment_number(text)) is None:
            return text
        return await self._tables.value(OF_NUMBER, number) or text


def experiment_number(text: str) -> int | None:
    """The number of an experiment that `text` may be."""
    return int(text) if text.isdecimal() and len(text) <= 9 else None


def _selecting(condition: str, cut: str = "ORDER BY q.number", direction: str = "ASC") -> str:
    """The statement for the jobs that `condition` lets through."""
    page = f"{RANKED}, page AS (SELECT * FROM ranked q {condition} {cut})"
    return f"{page} {_SHOWN} ORDER BY q.number {direction}"


def _conditions(scope: Scope, orders: PoolOrders, wanted: WantedJobs) -> Where:
    where = Where(scope, WORKSPACE_OF_EXPERIMENT.format("q.experiment_id"), list(orders.arguments))
    if wanted.pool:
        where.add("q.pool = ?", wanted.pool)
    if wanted.scheduled is not None:
        where.add("q.scheduled = ANY(?::bool[])", sorted(wanted.scheduled))
    return where


def _job(row: asyncpg.Record) -> JobRow:
    return JobRow(
        job_id=row["job_id"],
        pool=row["pool"],
        name=row["experiment"] or row["name"],
        owner=row["owner"],
        owner_id=row["owner_id"],
        workspace_id=row["workspace_id"],
        kind=row["kind"],
        experiment_id=row["experiment_id"],
        task_id=row["task_id"],
        submitted_at=row["submitted_at"] or row["requested_at"],
        priority=row["priority"],
        weight=row["weight"],
        requested=row["requested"],
        allocated=row["allocated"],
        standing=_standing(row),
        progress=_progress(row) if row["state"] else None,
    )


def _standing(row: asyncpg.Record) -> Standing:
    return Standing(scheduled=row["scheduled"], ahead=0 if row["scheduled"] else row["ahead"])


def _progress(row: asyncpg.Record) -> Progress:
    return Progress(row["state"], row["search_progress"], row["progress"], row["trials"] or 0, row["max_trials"])


QUERIES: Port[QueueQueries] = Port(PostgresQueue)
