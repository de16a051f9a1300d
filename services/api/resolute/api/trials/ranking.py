"""Which validation of a trial is the best, and which trial of an experiment.

NaN ranks behind every number, and a validation without a metric is not ranked at all. Of equal ones the first is the
best: the one with fewer steps, the trial with the smaller number. A run that repeats steps may report a worse metric
than the best before: then all are compared again.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from resolute.api.kernel.rows import Rows
from resolute.api.trials.tables import TRIALS, VALIDATIONS, Standing, Trial, Validation

Rank: TypeAlias = tuple[bool, float]

Best: TypeAlias = tuple[float | None, int | None]
"""A metric, and after how many steps it was reported, or by which trial; two times None when there is none."""

NONE: Best = (None, None)


def rank(metric: float, smaller_is_better: bool) -> Rank:
    """The smaller the rank, the better the metric."""
    if math.isnan(metric):
        return True, 0.0
    return False, metric if smaller_is_better else -metric


def best_validation(trial: Trial, validation: Validation, smaller_is_better: bool, rows: Rows) -> Best:
    """The best of a trial once `validation` is among its rows; `trial` is as it was before."""
    metric, steps = validation.metric, validation.steps_completed
    if trial.best_steps == steps:
        if _is_worse(metric, trial.best_metric, smaller_is_better):
            return _best_of_all_validations(trial.id, smaller_is_better, rows)
        return metric, steps
    if _goes_before((metric, steps), (trial.best_metric, trial.best_steps), smaller_is_better):
        return metric, steps
    return trial.best_metric, trial.best_steps


def best_trial(trial_id: int, metric: float | None, standing: Standing, rows: Rows) -> Best:
    """The best of an experiment once `metric` is the best of one of its trials, in that trial's row too."""
    smaller = standing.smaller_is_better
    if standing.best_trial_id == trial_id:
        if _is_worse(metric, standing.best_metric, smaller):
            return _best_of_all_trials(standing.experiment_id, smaller, rows)
        return metric, trial_id
    if _goes_before((metric, trial_id), (standing.best_metric, standing.best_trial_id), smaller):
        return metric, trial_id
    return standing.best_metric, standing.best_trial_id


def _is_worse(metric: float | None, before: float | None, smaller_is_better: bool) -> bool:
    if metric is None or before is None:
        return metric is None
    return rank(metric, smaller_is_better) > rank(before, smaller_is_better)


def _goes_before(one: Best, best: Best, smaller_is_better: bool) -> bool:
    (metric, turn), (best_metric, best_turn) = one, best
    if metric is None or turn is None:
        return False
    if best_metric is None or best_turn is None:
        return True
    return (rank(metric, smaller_is_better), turn) < (rank(best_metric, smaller_is_better), best_turn)


def _best_of_all_validations(trial_id: int, smaller_is_better: bool, rows: Rows) -> Best:
    best = NONE
    for one in rows.where(VALIDATIONS, "trial_id", trial_id):
        if _goes_before((one.metric, one.steps_completed), best, smaller_is_better):
            best = one.metric, one.steps_completed
    return best


def _best_of_all_trials(experiment_id: int, smaller_is_better: bool, rows: Rows) -> Best:
    best = NONE
    for one in rows.where(TRIALS, "experiment_id", experiment_id):
        if _goes_before((one.best_metric, one.id), best, smaller_is_better):
            best = one.best_metric, one.id
    return best
