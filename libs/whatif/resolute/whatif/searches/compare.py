"""One search method beside random search, on the same made-up learning curves and with the same work."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resolute.config import parse_space
from resolute.whatif.searches.play import Objective, Played, play
from resolute.whatif.searches.surrogate import LearningCurves


@dataclass(frozen=True, slots=True)
class Pair:
    """One seed's search, and random search given the same work."""

    seed: int
    method: Played
    random: Played
    to_the_end: Played
    """Random search with as many trials as the method had, whatever it costs."""


@dataclass(frozen=True, slots=True)
class Rung:
    """Where some trials stopped."""

    length: int
    reached: float
    """How many trials trained this far or farther; the mean over the seeds, as the rest."""
    stopped: float
    best: float
    """The best metric of those that stopped here, smaller being better; the median over the seeds where any did."""


def compare(config: Mapping[str, Any], seeds: Sequence[int], slots: int = 0) -> Iterator[Pair]:
    """Play the search of a merged configuration once for each seed, and random search beside it."""
    space = parse_space(config.get("hyperparameters") or {})
    for seed in seeds:
        objective: Objective = LearningCurves(space, seed).loss
        method = play(config, seed, objective, slots)
        same_work = max(1, round(method.work / method.full_length))
        # Another seed of chance than the method's: equal draws would make the two agree more than they do.
        beside = [
            play(_random(config, method.full_length, trials), seed + 1_000_003, objective, slots)
            for trials in (same_work, len(method.trials))
        ]
        yield Pair(seed, method, *beside)


def _random(config: Mapping[str, Any], length: int, trials: int) -> dict[str, Any]:
    searcher = config["searcher"]
    plain = {key: searcher.get(key) for key in ("metric", "smaller_is_better", "max_concurrent_trials")}
    method = {**plain, "name": "random", "max_trials": trials, "max_length": {"batches": length}}
    return {**config, "searcher": {key: value for key, value in method.items() if value is not None}}


def rungs(played: Sequence[Played]) -> list[Rung]:
    """The lengths at which trials stopped, the shortest first."""
    return [_rung(length, played) for length in sorted({trial.length for one in played for trial in one.trials})]


def _rung(length: int, played: Sequence[Played]) -> Rung:
    reached = sum(trial.length >= length for one in played for trial in one.trials)
    stopped = [[trial for trial in one.trials if trial.length == length] for one in played]
    found = [[trial.metric for trial in some if trial.metric is not None] for some in stopped]
    best = [min(metrics) for metrics in found if metrics]
    return Rung(
        length,
        reached / len(played),
        sum(map(len, stopped)) / len(played),
        statistics.median(best) if best else float("nan"),
    )


def median_of(pairs: Sequence[Pair], figure: Callable[[Pair], float | None]) -> float:
    return statistics.median(value for pair in pairs if (value := figure(pair)) is not None)


def curve(played: Sequence[Played], points: int, most: float | None = None) -> list[tuple[float, float]]:
    """(work, the median of the best metric found by then), at `points` equal steps of the work."""
    most = most or max(one.work for one in played)
    steps = (most * (n + 1) / points for n in range(points))
    found = ((work, [best for one in played if (best := one.best_within(work)) is not None]) for work in steps)
    return [(work, statistics.median(bests)) for work, bests in found if len(bests) * 2 > len(played)]
