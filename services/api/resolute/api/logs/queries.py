"""What can be asked about the logs of trials besides their lines: the port, and Postgres behind it.

The lines themselves are in a store of their own, `resolute.api.measures.logs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import asyncpg

from resolute.api.kernel.ports import Port, Tables
from resolute.api.logs.retention import Removed, Retention


@dataclass(frozen=True, slots=True)
class ExpiredRow:
    """A trial whose log was kept for long enough."""

    trial_id: int
    task_id: str
    experiment_id: int
    days: int
    """For how many days it was to be kept after the trial's end."""


class LogQueries(Protocol):
    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        """For how long the log of a trial is kept: for `default_days`, where neither the trial nor its experiment says
        it. None where there is no such trial."""

    async def removed(self, task_id: str) -> Removed | None:
        """What of a task's log was removed last; None where nothing was, or where the task is no trial's."""

    async def expired(self, beyond: int, default_days: int, now: datetime, limit: int) -> Sequence[ExpiredRow]:
        """The next trials after that with the id `beyond`, in the order of their ids, that ended so long before `now`
        that their logs are due for removal, whether they have any lines or not."""


RETENTION = """SELECT t.ended_at, coalesce(t.log_retention_days, e.log_retention_days, $2) AS days, t.logs_removed_at,
    t.logs_removed_after_days, t.logs_removed_lines
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id WHERE t.id = $1"""

REMOVED = """SELECT logs_removed_at, logs_removed_after_days, logs_removed_lines
FROM read_trials.trials WHERE task_id = $1"""

# `$2` is the cluster's own retention.
EXPIRED = """SELECT trial_id, task_id, experiment_id, days FROM (
    SELECT t.id AS trial_id, t.task_id, t.experiment_id, t.ended_at,
           coalesce(t.log_retention_days, e.log_retention_days, $2) AS days
    FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
    WHERE t.id > $1 AND t.ended_at IS NOT NULL) ended
WHERE days >= 0 AND ended_at + days * interval '1 day' <= $3
ORDER BY trial_id LIMIT $4"""


class PostgresLogs:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        row = await self._tables.row(RETENTION, trial_id, default_days)
        return None if row is None else Retention(row["ended_at"], row["days"], _removed(row))

    async def removed(self, task_id: str) -> Removed | None:
        row = await self._tables.row(REMOVED, task_id)
        return None if row is None else _removed(row)

    async def expired(self, beyond: int, default_days: int, now: datetime, limit: int) -> Sequence[ExpiredRow]:
        return [ExpiredRow(**row) for row in await self._tables.rows(EXPIRED, beyond, default_days, now, limit)]


def _removed(row: asyncpg.Record) -> Removed | None:
    if row["logs_removed_at"] is None:
        return None
    return Removed(row["logs_removed_at"], row["logs_removed_after_days"], row["logs_removed_lines"])


QUERIES: Port[LogQueries] = Port(PostgresLogs)
