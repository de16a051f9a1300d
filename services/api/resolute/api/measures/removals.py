"""Removing the logs of trials, and the metrics of deleted ones: in steps, each a short transaction.

What is to go, and how much has gone, is noted in the transaction of each step, so that the gateway that goes on after
a crash neither forgets nor counts twice. Steps of one trial are taken one after another, however many gateways take
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import asyncpg

from resolute.api.database import outages
from resolute.api.measures.metrics import MetricStore

STEP_ROWS = 5_000
"""Rows of one transaction: some 20 ms of work, which the lines that arrive meanwhile do not wait for."""

LOCK = 7_201_101

# The lines up to `$5` are those that were there when the trial's log was found to be due.
REMOVE_LINES = f"""WITH page AS (
    SELECT max(id) AS last FROM (
        SELECT id FROM measures.task_logs WHERE task_id = $1 AND id <= $5 ORDER BY id LIMIT {STEP_ROWS}) next
), gone AS (
    DELETE FROM measures.task_logs l USING page WHERE l.task_id = $1 AND l.id <= page.last RETURNING 1
), noted AS (
    INSERT INTO measures.removals (task_id, trial_id, experiment_id, retention_days, lines)
    SELECT $1, $2, $3, $4, count(*) FROM gone HAVING count(*) > 0
    ON CONFLICT (task_id) DO UPDATE SET lines = removals.lines + EXCLUDED.lines)
SELECT count(*) FROM gone"""

ENQUEUE = """INSERT INTO measures.removals (task_id, trial_id, experiment_id)
SELECT *, $3 FROM unnest($1::text[], $2::bigint[])
ON CONFLICT (task_id) DO UPDATE SET retention_days = NULL"""

BEGUN = "SELECT * FROM measures.removals WHERE (retention_days IS NULL) = $1 ORDER BY trial_id"

DONE = "DELETE FROM measures.removals WHERE removal_id = $1"


@dataclass(frozen=True, slots=True)
class Due:
    """A trial whose log is to go."""

    trial_id: int
    task_id: str
    experiment_id: int
    days: int | None
    """For how many days it was kept after the trial's end; None where the experiment was deleted."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A removal of which at least one step was taken."""

    due: Due
    removal_id: UUID
    lines: int


class Removals:
    def __init__(self, pool: asyncpg.Pool, measured: MetricStore) -> None:
        self._pool, self._measured = pool, measured

    async def step(self, due: Due, newest_id: int) -> int:
        """Remove the next lines, up to that with `newest_id`; answers how many. Fewer than STEP_ROWS are the last."""
        arguments = (due.task_id, due.trial_id, due.experiment_id, due.days, newest_id)
        with outages():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1, hashtext($2))", LOCK, due.task_id)
                return int(await connection.fetchval(REMOVE_LINES, *arguments))

    async def metrics_step(self, due: Due) -> int:
        return await self._measured.delete_some(due.trial_id, STEP_ROWS)

    async def enqueue(self, experiment_id: int, trials: dict[int, str]) -> None:
        """Note that the logs and the metrics of these trials, tasks by trial, are to be removed."""
        with outages():
            await self._pool.execute(ENQUEUE, list(trials.values()), list(trials), experiment_id)

    async def begun(self, *, deleted: bool) -> list[Begun]:
        """Those that are not at their end: of deleted experiments, or of those whose logs had expired."""
        with outages():
            rows = await self._pool.fetch(BEGUN, deleted)
        return [
            Begun(
                Due(row["trial_id"], row["task_id"], row["experiment_id"], row["retention_days"]),
                row["removal_id"],
                row["lines"],
            )
            for row in rows
        ]

    async def done(self, removal: Begun) -> None:
        with outages():
            await self._pool.execute(DONE, removal.removal_id)
