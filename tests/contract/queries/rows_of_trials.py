"""Trials, their runs and the allocations of those, for tests of queries: only what a test names differs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from resolute.api.tasks.tables import Allocation
from resolute.api.trials.tables import Run, Trial
from tests.contract.queries import rows_of_jobs
from tests.contract.queries.rows_of_jobs import AT


def at(minutes: int) -> datetime:
    return AT + timedelta(minutes=minutes)


def trial(id_: int, experiment_id: int, **columns: Any) -> Trial:
    """An active trial in its first run; it was created as many minutes after the first one as its number says."""
    task_id = f"t-{id_}"
    plain = Trial(id_, experiment_id, f"r-{id_}", task_id, {"lr": id_}, 0, None, "ACTIVE", at(id_), run_id=1)
    return replace(plain, **columns)


def run(trial_id: int, run_id: int = 1, **columns: Any) -> Run:
    return Run(trial_id, run_id, 1, f"t-{trial_id}.{run_id}", None, 0, AT, **columns)


def allocation(trial_id: int, run_id: int = 1, **columns: Any) -> Allocation:
    """That of the run of the same numbers."""
    return rows_of_jobs.allocation(f"t-{trial_id}.{run_id}", "job", task_id=f"t-{trial_id}", **columns)
