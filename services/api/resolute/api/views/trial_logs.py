"""For how long the log of a trial is kept, and whether it was removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import asyncpg

from resolute.api.kernel.readmodel import ReadModel
from resolute.proto.errors import NotFound

LOG = """SELECT t.ended_at, coalesce(t.log_retention_days, e.log_retention_days, $2) AS days, t.logs_removed_at,
    t.logs_removed_after_days, t.logs_removed_lines
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id WHERE """


@dataclass(frozen=True, slots=True)
class Removed:
    at: datetime
    after_days: int
    lines: int

    def __str__(self) -> str:
        kept = "1 day" if self.after_days == 1 else f"{self.after_days} days"
        lines = "1 line was" if self.lines == 1 else f"{self.lines:,} lines were"
        return (
            f"{lines} removed from this log on {self.at:%Y-%m-%d at %H:%M} UTC: it was to be kept for {kept} after the "
            "trial's end (retention_policy.log_retention_days)"
        )


@dataclass(frozen=True, slots=True)
class Retention:
    ended_at: datetime | None
    days: int
    """After the trial's end; -1 is for ever."""
    removed: Removed | None

    def remaining_days(self, now: datetime) -> int | None:
        """-1 for ever; None while the trial has not ended."""
        if self.ended_at is None:
            return None
        return -1 if self.days < 0 else max(0, self.days - max(0, (now - self.ended_at).days))


async def retention_of(read: ReadModel, trial_id: int, default_days: int) -> Retention:
    """Raises NotFound."""
    row = await read.row(LOG + "t.id = $1", trial_id, default_days)
    if row is None:
        raise NotFound(f"trial {trial_id} not found")
    return Retention(row["ended_at"], row["days"], _removed(row))


async def removed_from(read: ReadModel, task_id: str) -> Removed | None:
    """What of the task's log was removed last; None where nothing was, or where it is no trial's task."""
    row = await read.row(LOG + "t.task_id = $1", task_id, -1)
    return None if row is None else _removed(row)


def _removed(row: asyncpg.Record) -> Removed | None:
    if row["logs_removed_at"] is None:
        return None
    return Removed(row["logs_removed_at"], row["logs_removed_after_days"], row["logs_removed_lines"])
