"""The twin of the queries about logs: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.logs.retention import Removed, Retention
from resolute.api.trials.tables import TRIALS, Trial


@dataclass(frozen=True)
class MemoryLogs:
    """`tables`: those of experiments and trials."""

    tables: CachedRows

    async def retention(self, trial_id: int, default_days: int) -> Retention | None:
        trial = self.tables.get(TRIALS, trial_id)
        experiment = None if trial is None else self.tables.get(EXPERIMENTS, trial.experiment_id)
        if trial is None or experiment is None:
            return None
        said = (trial.log_retention_days, experiment.log_retention_days)
        days = next((days for days in said if days is not None), default_days)
        return Retention(trial.ended_at, days, _removed(trial))

    async def removed(self, task_id: str) -> Removed | None:
        trial = next((row for row in self.tables.all(TRIALS) if row.task_id == task_id), None)
        return None if trial is None else _removed(trial)


def _removed(trial: Trial) -> Removed | None:
    if trial.logs_removed_at is None:
        return None
    assert trial.logs_removed_after_days is not None, "these three are set together"
    assert trial.logs_removed_lines is not None, "these three are set together"
    return Removed(trial.logs_removed_at, trial.logs_removed_after_days, trial.logs_removed_lines)
