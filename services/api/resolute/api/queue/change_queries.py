"""What a change of the queue asks: the port, and Postgres behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import asyncpg
import orjson

from resolute.api.kernel.ports import Port, Tables
from resolute.config import Slots, slots_of
from resolute.proto.queue import JobSetting


@dataclass(frozen=True, slots=True)
class ChangeableJob:
    """A job as a change of the queue needs to know it. A job that asks for nothing now is known by its experiment."""

    job_id: str
    experiment_id: int | None
    state: str | None
    """Of the experiment."""
    pool: str
    slots: Slots
    single_agent: bool
    priority: int | None
    """What it asks with now, else what its experiment is configured with."""
    live: bool
    """Whether it asks for something now, or holds it."""


class ChangeQueries(Protocol):
    async def changeable(self, job_id: str) -> ChangeableJob | None:
        """None for a job that is no experiment's and asks for nothing now."""

    async def is_agreed(self, experiment_id: int, setting: JobSetting) -> bool:
        """Whether all that the job of an experiment asks for or holds in its pool goes by the configuration."""


# ---------------------------------------------------------------- Postgres

CHANGEABLE = """SELECT e.id AS experiment_id, e.state, coalesce(l.pool, e.resource_pool) AS pool, l.slots, s.asked,
    coalesce(l.priority, s.priority) AS priority,
    s.single, l.pool IS NOT NULL AS live
FROM (SELECT $1::text AS job_id) j
LEFT JOIN read_experiments.experiments e ON e.job_id = j.job_id
LEFT JOIN LATERAL (
    SELECT min(a.pool) AS pool, max(a.slots) AS slots, min(a.priority) AS priority FROM read_tasks.allocations a
    WHERE a.job_id = j.job_id AND a.ended_at IS NULL HAVING count(*) > 0) l ON true
LEFT JOIN LATERAL (
    SELECT f.config #>> '{resources,slots_per_trial}' AS asked,
           (f.config #>> '{resources,is_single_node}')::bool AS single,
           (f.config #>> '{resources,priority}')::int AS priority
    FROM read_experiments.experiment_configs f WHERE f.experiment_id = e.id) s ON true
WHERE e.id IS NOT NULL OR l.pool IS NOT NULL"""

_AGREED = """SELECT NOT EXISTS (
    SELECT 1 FROM read_experiments.experiments e JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id
    JOIN read_tasks.allocations a ON a.job_id = e.job_id AND a.pool = e.resource_pool AND a.ended_at IS NULL
    WHERE e.id = $1 AND {} IS DISTINCT FROM {})"""

AGREED = {
    JobSetting.PRIORITY: _AGREED.format("a.priority", "(f.config #>> '{resources,priority}')::int"),
    JobSetting.WEIGHT: _AGREED.format("a.weight", "(f.config #>> '{resources,weight}')::float8"),
}


class PostgresChanges:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def changeable(self, job_id: str) -> ChangeableJob | None:
        row = await self._tables.row(CHANGEABLE, job_id)
        return None if row is None else _changeable(job_id, row)

    async def is_agreed(self, experiment_id: int, setting: JobSetting) -> bool:
        return bool(await self._tables.value(AGREED[setting], experiment_id))


def _changeable(job_id: str, row: asyncpg.Record) -> ChangeableJob:
    asked = row["slots"] or 0 if row["asked"] is None else orjson.loads(row["asked"])
    return ChangeableJob(
        job_id=job_id,
        experiment_id=row["experiment_id"],
        state=row["state"],
        pool=row["pool"],
        slots=slots_of({"slots_per_trial": asked}),
        single_agent=bool(row["single"]),
        priority=row["priority"],
        live=row["live"],
    )


QUERIES: Port[ChangeQueries] = Port(PostgresChanges)
