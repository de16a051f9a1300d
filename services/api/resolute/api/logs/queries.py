"""What can be asked about the logs of trials besides their lines: the port, and Postgres behind it.

The lines themselves are in a store of their own, `resolute.api.measures.logs`.
"""

from __future__ import annotations

from typing import Protocol

import asyncpg

from resolute.api.kernel.ports import Port, Tables
from resolute.api.logs.retention import Removed, Retention


class LogQueries(Protocol):
    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        """For how long the log of a trial is kept: for `default_days`, where neither the trial nor its experiment says
        it. None where there is no such trial."""

    async def removed(self, task_id: str) -> Removed | None:
        """What of a task's log was removed last; None where nothing was, or where the task is no trial's."""


RETENTION = """SELECT t.ended_at, coalesce(t.log_retention_days, e.log_retention_days, $2) AS days, t.logs_removed_at,
    t.logs_removed_after_days, t.logs_removed_lines
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id WHERE t.id = $1"""

REMOVED = """SELECT logs_removed_at, logs_removed_after_days, logs_removed_lines
FROM read_trials.trials WHERE task_id = $1"""


class PostgresLogs:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        row = await self._tables.row(RETENTION, trial_id, default_days)
        return None if row is None else Retention(row["ended_at"], row["days"], _removed(row))

    async def removed(self, task_id: str) -> Removed | None:
        row = await self._tables.row(REMOVED, task_id)
        return None if row is None else _removed(row)


def _removed(row: asyncpg.Record) -> Removed | None:
    if row["logs_removed_at"] is None:
        return None
    return Removed(row["logs_removed_at"], row["logs_removed_after_days"], row["logs_removed_lines"])


QUERIES: Port[LogQueries] = Port(PostgresLogs)
