"""Which trials a sample of a search shows: the best ones, and what changed since the last sample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from resolute.api.charts.queries import ChartedExperiment, ChartedTrial
from resolute.config.searcher import HALVING


class Change(NamedTuple):
    promoted: tuple[int, ...]
    demoted: tuple[int, ...]


def best(trials: Sequence[ChartedTrial], of: ChartedExperiment, most: int) -> list[ChartedTrial]:
    """The best trials, best first, by the searcher's metric; those without one come last. In searches that stop poor
    trials early, trials are compared by how far they came, and then by their metric."""

    def rank(trial: ChartedTrial) -> tuple[int, bool, float, int]:
        metric = trial.best_metric
        length = -trial.steps if of.searcher_type in HALVING else 0
        value = 0.0 if metric is None else metric if of.smaller_is_better else -metric
        return length, metric is None, value, trial.id

    return sorted(trials, key=rank)[:most]


def change(before: Collection[int], now: Sequence[int]) -> Change:
    return Change(tuple(one for one in now if one not in before), tuple(one for one in before if one not in now))
