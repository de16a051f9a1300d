"""What searches find for their work: halving beside random search and Optuna's successive halving.

All search the same made-up learning curves, from the same seeds, with the same rungs, one trial at a time; points are
drawn at random by everybody. What differs is who is trained on, and when that is decided.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import optuna_peer
from bench.figures import Figure, tell
from resolute.cli.plot import as_png
from resolute.config import ClusterDefaults, parse_experiment, parse_space
from resolute.whatif.searches.compare import curve
from resolute.whatif.searches.play import Found, Played, play
from resolute.whatif.searches.surrogate import LearningCurves

FULL, DIVISOR, RUNGS = 256, 4, 5
LENGTHS = [FULL // DIVISOR**n for n in reversed(range(RUNGS))]
BUDGETS = (4, 16, 32)
"""In trials trained to the end."""
TRIALS = 2_000
"""More than any budget pays for."""
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "searches.png"

SPACE = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "dropout": {"type": "double", "minval": 0.0, "maxval": 0.5},
    "width": {"type": "int", "minval": 8, "maxval": 64},
    "depth": {"type": "int", "minval": 1, "maxval": 8},
}

LENGTH = {"max_length": {"batches": FULL}}
METHODS: Mapping[str, dict[str, Any]] = {
    "async_halving, promoting": {"name": "async_halving", "num_rungs": RUNGS, **LENGTH},
    "async_halving, stopping": {"name": "async_halving", "num_rungs": RUNGS, "stop_once": True, **LENGTH},
    "adaptive_asha, standard": {"name": "adaptive_asha", "max_rungs": RUNGS, **LENGTH},
    "random": {"name": "random", **LENGTH},
}


def merged(searcher: Mapping[str, Any], trials: int) -> dict[str, Any]:
    method = {"metric": "loss", "max_trials": trials, "max_concurrent_trials": 1, **searcher}
    if method["name"] != "random":
        method["divisor"] = DIVISOR
    given = {"name": "bench", "searcher": method, "hyperparameters": SPACE}
    storage = {"type": "shared_fs", "host_path": "/nowhere"}
    return parse_experiment(given, ClusterDefaults(checkpoint_storage=storage, name="bench"), managed=False).merged


def resolute(searcher: Mapping[str, Any], seeds: Sequence[int], trials: int) -> list[Played]:
    config, space = merged(searcher, trials), parse_space(SPACE)
    return [play(config, seed, LearningCurves(space, seed).loss, slots=1) for seed in seeds]


def optunas(seeds: Sequence[int]) -> list[Played]:
    wanted = {"space": SPACE, "rungs": LENGTHS, "divisor": DIVISOR, "seeds": list(seeds), "work": max(BUDGETS) * FULL}
    return [_played(found) for found in optuna_peer.searches(wanted)]


def _played(found: Sequence[tuple[int, float]]) -> Played:
    better: list[Found] = []
    for work, metric in found:
        if not better or metric < better[-1].metric:
            better.append(Found(work, work, metric))
    work = found[-1][0]
    return Played("batches", FULL, (), tuple(better), work, work)


def best(searches: Sequence[Played], budget: float) -> float:
    """The median over the seeds."""
    return statistics.median(one.best_within(budget) or 1.0 for one in searches)


def work_to_match(searches: Sequence[Played], metric: float) -> float:
    """The work after which the median is at least as good; infinite when it never is."""
    points = curve(searches, 512, max(BUDGETS) * FULL)
    return next((work for work, found in points if found <= metric), float("inf"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=30)
    seeds = range(1, options.parse_args().seeds + 1)
    found = {}
    for name, searcher in METHODS.items():
        trials = max(BUDGETS) if searcher["name"] == "random" else TRIALS
        found[name] = resolute(searcher, seeds, trials)
    if optuna_peer.installed():
        found["Optuna's successive halving"] = optunas(seeds)
    figures = [
        Figure(
            f"{name}: best found by the work of {budget} full trials", best(played, budget * FULL), "loss", at_most=True
        )
        for budget in BUDGETS
        for name, played in found.items()
    ]
    most = max(BUDGETS)
    goal = best(found["random"], most * FULL)
    figures += [
        Figure(f"to match {most} trainings of random search: {name}", work_to_match(played, goal) / FULL, "trainings")
        for name, played in found.items()
        if name != "random"
    ]
    tell("search", figures)
    PICTURE.parent.mkdir(exist_ok=True)
    curves = {
        name: [(work / FULL, metric) for work, metric in curve(played, 256, most * FULL)]
        for name, played in found.items()
    }
    as_png(
        PICTURE, curves, "work, in full trainings", "best loss found (median)", f"{len(seeds)} seeds, rungs {LENGTHS}"
    )


if __name__ == "__main__":
    main()
