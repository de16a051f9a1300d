"""Retention: which checkpoints of an experiment are kept after its end. Arithmetic over a list, nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """How many checkpoints to keep. A checkpoint that any of the three counts includes is kept."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int
    smaller_is_better: bool = True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completed checkpoint. `metric` is None when it was not `validated`, or when the metric was NaN."""

    uuid: str
    trial_id: int
    steps_completed: int
    order: int
    validated: bool = False
    metric: float | None = None


def kept(candidates: Iterable[Candidate], policy: Policy) -> frozenset[str]:
    """The union of the best of the experiment, the best of each trial and the latest of each trial.

    Only validated checkpoints can be the best; NaN ranks last, and of equal metrics the earlier checkpoint ranks first.
    The latest checkpoint has the most steps; of equal steps, the one that was completed last.
    """
    by_trial: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_trial[candidate.trial_id].append(candidate)
    all_trials = [candidate for of_trial in by_trial.values() for candidate in of_trial]
    chosen = _best(all_trials, policy.save_experiment_best, policy)
    for of_trial in by_trial.values():
        chosen += _best(of_trial, policy.save_trial_best, policy)
        chosen += _latest(of_trial, policy.save_trial_latest)
    return frozenset(candidate.uuid for candidate in chosen)


def _best(candidates: list[Candidate], count: int, policy: Policy) -> list[Candidate]:
    sign = 1 if policy.smaller_is_better else -1

    def rank(candidate: Candidate) -> tuple[bool, float, int]:
        metric = candidate.metric
        return (metric is None, 0.0 if metric is None else sign * metric, candidate.order)

    return sorted((candidate for candidate in candidates if candidate.validated), key=rank)[:count]


def _latest(candidates: list[Candidate], count: int) -> list[Candidate]:
    return sorted(candidates, key=lambda found: (found.steps_completed, found.order), reverse=True)[:count]
