"""The tables of trials: their rows, and by what rows are found. `tables.sql` creates them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from resolute.api.kernel.rows import Document, Table


@dataclass(frozen=True, slots=True)
class Trial:
    id: int
    experiment_id: int
    request_id: str
    task_id: str
    hparams: Document
    seed: int
    warm_start: str | None
    """The checkpoint that its first run begins from."""
    state: str
    started_at: datetime
    reason: str = ""
    restarts: int = 0
    log_policy_matched: str | None = None
    """The latest."""
    run_id: int = 0
    """The latest run's; 0 before the first."""
    continued_after_run: int = 0
    """The last run before the trial was continued; 0 when it never was."""
    ended_at: datetime | None = None
    best_metric: float | None = None
    best_steps: int | None = None
    latest_metric: float | None = None
    latest_steps: int | None = None
    target: int | None = None
    target_reached: bool = False
    log_retention_days: int | None = None
    logs_removed_at: datetime | None = None
    logs_removed_after_days: int | None = None
    logs_removed_lines: int | None = None
    metadata: Document = None
    archived: bool = False
    """By itself; its experiment may be archived as a whole."""


@dataclass(frozen=True, slots=True)
class Run:
    trial_id: int
    run_id: int
    experiment_id: int
    allocation_id: str
    checkpoint: str | None
    """The one that the run begins from."""
    steps_completed: int
    requested_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    stop_asked: bool = False
    outcome: str | None = None
    exit_code: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    trial_id: int
    steps_completed: int
    run_id: int
    experiment_id: int
    metric: float | None
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How the trials of one experiment stand."""

    experiment_id: int
    trials: int
    smaller_is_better: bool
    best_trial_id: int | None
    best_metric: float | None


TRIALS = Table("trials", Trial, key=("id",), lookups=("experiment_id",))
RUNS = Table("runs", Run, key=("trial_id", "run_id"), lookups=("trial_id", "experiment_id"))
VALIDATIONS = Table(
    "validations", Validation, key=("trial_id", "steps_completed"), lookups=("trial_id", "experiment_id")
)
STANDINGS = Table("standings", Standing, key=("experiment_id",))
