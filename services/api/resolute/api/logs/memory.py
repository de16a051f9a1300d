"""The twin of the queries about logs: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.logs.queries import ExpiredRow
from resolute.api.logs.retention import Removed, Retention
from resolute.api.trials.tables import TRIALS, Trial


@dataclass(frozen=True)
class MemoryLogs:
    """`tables`: those of experiments and trials."""

    tables: CachedRows

    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        trial = self.tables.get(TRIALS, trial_id)
        days = None if trial is None else self._days(trial, default_days)
        return None if trial is None or days is None else Retention(trial.ended_at, days, _removed(trial))

    def _days(self, trial: Trial, default_days: int) -> int | None:
        """For how long the trial's log is kept; None where the experiment does not exist."""
        experiment = self.tables.get(EXPERIMENTS, trial.experiment_id)
        if experiment is None:
            return None
        said = (trial.log_retention_days, experiment.log_retention_days)
        return next((days for days in said if days is not None), default_days)

    async def removed(self, task_id: str) -> Removed | None:
        trial = next((row for row in self.tables.all(TRIALS) if row.task_id == task_id), None)
        return None if trial is None else _removed(trial)

    async def expired(self, beyond: int, default_days: int, now: datetime, limit: int) -> Sequence[ExpiredRow]:
        ended = ((row, self._days(row, default_days)) for row in self.tables.all(TRIALS) if row.id > beyond)
        due = [
            ExpiredRow(row.id, row.task_id, row.experiment_id, days)
            for row, days in ended
            if days is not None and days >= 0 and row.ended_at is not None and row.ended_at + timedelta(days) <= now
        ]
        return due[:limit]


def _removed(trial: Trial) -> Removed | None:
    if trial.logs_removed_at is None:
        return None
    assert trial.logs_removed_after_days is not None, "these three are set together"
    assert trial.logs_removed_lines is not None, "these three are set together"
    return Removed(trial.logs_removed_at, trial.logs_removed_after_days, trial.logs_removed_lines)
