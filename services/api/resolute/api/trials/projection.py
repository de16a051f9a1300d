"""Trials, their runs and what the searcher saw of them: which rows the log comes to.

Which validation of a trial is its best, and which trial of an experiment, is in `ranking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from resolute.api.experiments.projection import WHOSE, whose
from resolute.api.interactive.projection import WHOSE_TASK, whose_task
from resolute.api.kernel.rows import Place, Projection, Rows, Thing, WholeRows
from resolute.api.trials.ranking import best_trial, best_validation
from resolute.api.trials.tables import RUNS, STANDINGS, TRIALS, VALIDATIONS, Run, Standing, Trial, Validation
from resolute.proto import streams
from resolute.proto.experiment import (
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentEdited,
    TrialArchived,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialLogRemoved,
    TrialLogRetentionSet,
    TrialMetadataChanged,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialUnarchived,
    TrialValidated,
)
from resolute.proto.message import Recorded
from resolute.proto.states import RunOutcome, TrialState, is_stopping, stopping


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


# ------------------------------------------------------------ the experiment


def _experiment_created(created: ExperimentCreated, _: Recorded, rows: Rows) -> None:
    searcher = created.config.get("searcher") or {}
    smaller_is_better = bool(searcher.get("smaller_is_better", True))
    rows.put(STANDINGS, Standing(created.experiment_id, 0, smaller_is_better, None, None))


def _experiment_edited(edited: ExperimentEdited, recorded: Recorded, rows: Rows) -> None:
    """What is set for the experiment counts for all its trials, whatever was set for one of them before."""
    if "log_retention_days" in edited.changes:
        for trial in rows.where(TRIALS, "experiment_id", int(recorded.key)):
            rows.change(TRIALS, trial.id, log_retention_days=None)


def _experiment_deleted(_: ExperimentDeleted, recorded: Recorded, rows: Rows) -> None:
    experiment_id = int(recorded.key)
    for trial in rows.where(TRIALS, "experiment_id", experiment_id):
        rows.remove(TRIALS, trial.id)
    for run in rows.where(RUNS, "experiment_id", experiment_id):
        rows.remove(RUNS, run.trial_id, run.run_id)
    for validation in rows.where(VALIDATIONS, "experiment_id", experiment_id):
        rows.remove(VALIDATIONS, validation.trial_id, validation.steps_completed)
    rows.remove(STANDINGS, experiment_id)


# ------------------------------------------------------------ the trial


def _created(created: TrialCreated, recorded: Recorded, rows: Rows) -> None:
    experiment_id = int(recorded.key)
    trial = Trial(
        id=created.trial_id,
        experiment_id=experiment_id,
        request_id=created.request_id,
        task_id=created.task_id,
        hparams=created.hparams,
        seed=created.seed,
        warm_start=created.source_checkpoint,
        state=TrialState.ACTIVE,
        started_at=recorded.recorded_at,
    )
    rows.put(TRIALS, trial)
    standing = rows.get(STANDINGS, experiment_id)
    if standing is not None:
        rows.change(STANDINGS, experiment_id, trials=standing.trials + 1)


def _continued(continued: TrialContinued, _: Recorded, rows: Rows) -> None:
    trial = rows.get(TRIALS, continued.trial_id)
    if trial is not None:
        rows.change(
            TRIALS,
            trial.id,
            state=TrialState.ACTIVE,
            reason="",
            restarts=0,
            ended_at=None,
            archived=False,
            continued_after_run=trial.run_id,
            hparams=trial.hparams if continued.hparams is None else continued.hparams,
        )


def _archived(archived: TrialArchived, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, archived.trial_id, archived=True)


def _unarchived(unarchived: TrialUnarchived, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, unarchived.trial_id, archived=False)


def _target_set(target: TrialTargetSet, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, target.trial_id, target=target.length, target_reached=False)


def _target_reached(reached: TrialTargetReached, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, reached.trial_id, target_reached=True)


def _log_policy_matched(matched: TrialLogPolicyMatched, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, matched.trial_id, log_policy_matched=matched.policy)


def _log_retention_set(kept: TrialLogRetentionSet, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, kept.trial_id, log_retention_days=kept.days)


def _log_removed(removed: TrialLogRemoved, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        TRIALS,
        removed.trial_id,
        logs_removed_at=recorded.recorded_at,
        logs_removed_after_days=removed.retention_days,
        logs_removed_lines=removed.lines,
    )


def _metadata_changed(changed: TrialMetadataChanged, _: Recorded, rows: Rows) -> None:
    rows.change(TRIALS, changed.trial_id, metadata=changed.metadata)


def _ended(ended: TrialEnded, recorded: Recorded, rows: Rows) -> None:
    at = recorded.recorded_at
    rows.change(TRIALS, ended.trial_id, state=ended.outcome, reason=ended.reason, ended_at=at)


# ------------------------------------------------------------ its runs


def _run_requested(requested: TrialRunRequested, recorded: Recorded, rows: Rows) -> None:
    run = Run(
        trial_id=requested.trial_id,
        run_id=requested.run_id,
        experiment_id=int(recorded.key),
        allocation_id=requested.allocation_id,
        checkpoint=requested.checkpoint,
        steps_completed=requested.steps_completed,
        requested_at=recorded.recorded_at,
    )
    rows.put(RUNS, run)
    trial = rows.get(TRIALS, requested.trial_id)
    if trial is not None:
        restarts = trial.restarts + _is_restart(trial, requested.run_id, rows)
        rows.change(TRIALS, trial.id, run_id=requested.run_id, state=TrialState.ACTIVE, restarts=restarts)


def _is_restart(trial: Trial, run_id: int, rows: Rows) -> bool:
    """A run after one that failed is a restart. One after a pause or after its host was lost is not, nor is the first
    run of a trial that had ended and was continued."""
    before = run_id - 1
    if before == trial.continued_after_run:  # at the trial's very first run both are 0
        return False
    run = rows.get(RUNS, trial.id, before)
    return run is not None and run.outcome == RunOutcome.FAILED


def _run_started(started: TrialRunStarted, recorded: Recorded, rows: Rows) -> None:
    rows.change(RUNS, started.trial_id, started.run_id, started_at=recorded.recorded_at)


def _stop_requested(stop: TrialStopRequested, _: Recorded, rows: Rows) -> None:
    state = stopping(stop.then)
    if is_stopping(state):
        rows.change(TRIALS, stop.trial_id, state=state)
    for run in rows.where(RUNS, "trial_id", stop.trial_id):
        if run.allocation_id == stop.allocation_id:
            rows.change(RUNS, run.trial_id, run.run_id, stop_asked=True)


def _run_ended(ended: TrialRunEnded, recorded: Recorded, rows: Rows) -> None:
    rows.change(
        RUNS,
        ended.trial_id,
        ended.run_id,
        ended_at=recorded.recorded_at,
        outcome=ended.outcome,
        exit_code=ended.exit_code,
        reason=ended.reason,
    )
    rows.change(TRIALS, ended.trial_id, reason=ended.reason)


# ------------------------------------------------------------ what it reports


def _validated(validated: TrialValidated, recorded: Recorded, rows: Rows) -> None:
    """Of two validations of one step, by runs that repeat the steps after a checkpoint, the later counts."""
    experiment_id = int(recorded.key)
    validation = Validation(
        validated.trial_id,
        validated.steps_completed,
        validated.run_id,
        experiment_id,
        validated.metric,
        recorded.recorded_at,
    )
    rows.put(VALIDATIONS, validation)
    trial, standing = rows.get(TRIALS, validated.trial_id), rows.get(STANDINGS, experiment_id)
    if trial is not None and standing is not None:
        _rank(trial, validation, standing, rows)


def _rank(trial: Trial, validation: Validation, standing: Standing, rows: Rows) -> None:
    metric, steps = best_validation(trial, validation, standing.smaller_is_better, rows)
    rows.change(
        TRIALS,
        trial.id,
        latest_metric=validation.metric,
        latest_steps=validation.steps_completed,
        best_metric=metric,
        best_steps=steps,
    )
    best, trial_id = best_trial(trial.id, metric, standing, rows)
    if (best, trial_id) != (standing.best_metric, standing.best_trial_id):
        rows.change(STANDINGS, standing.experiment_id, best_metric=best, best_trial_id=trial_id)


SHOWS: Mapping[type, Callable[[Any, Recorded, Rows], None]] = {
    ExperimentCreated: _experiment_created,
    ExperimentEdited: _experiment_edited,
    ExperimentDeleted: _experiment_deleted,
    TrialCreated: _created,
    TrialRunRequested: _run_requested,
    TrialRunStarted: _run_started,
    TrialValidated: _validated,
    TrialTargetSet: _target_set,
    TrialTargetReached: _target_reached,
    TrialStopRequested: _stop_requested,
    TrialRunEnded: _run_ended,
    TrialContinued: _continued,
    TrialArchived: _archived,
    TrialUnarchived: _unarchived,
    TrialLogPolicyMatched: _log_policy_matched,
    TrialLogRetentionSet: _log_retention_set,
    TrialLogRemoved: _log_removed,
    TrialMetadataChanged: _metadata_changed,
    TrialEnded: _ended,
}
"""How each type of event is shown; others change nothing here."""


def _whose_trial(rows: WholeRows, trial_id: int) -> Place | None:
    row = rows.get(TRIALS, trial_id)
    return None if row is None else whose(rows, row.experiment_id)


def _whose_task(rows: WholeRows, task_id: str) -> Place | None:
    experiment_id = next((row.experiment_id for row in rows.all(TRIALS) if row.task_id == task_id), None)
    return whose(rows, experiment_id) or whose_task(rows, task_id)


PROJECTION = Projection(
    slice="trials",
    version=2,
    tables=(TRIALS, RUNS, VALIDATIONS, STANDINGS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.EXPERIMENT.name}),
    project=project,
    things={
        "trial": Thing(
            f"{WHOSE}(SELECT experiment_id FROM read_trials.trials WHERE id = $1)", numbered=True, twin=_whose_trial
        ),
        "task": Thing(
            f"{WHOSE}(SELECT experiment_id FROM read_trials.trials WHERE task_id = $1) UNION ALL {WHOSE_TASK}$1",
            twin=_whose_task,
        ),
    },
    ids={"trialId": (TRIALS, "id"), "runId": (TRIALS, "id")},
)
