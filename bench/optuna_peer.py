"""Optuna's successive halving as a peer: the same learning curves, the same seeds, random sampling in both.

It runs in a process of its own, with Optuna's packages first in its path. No other code needs it: without a package
index the bench runs without this peer, and says so. Optuna's SuccessiveHalvingPruner is asynchronous as well: a
trial is pruned at a rung unless it is among the best 1/reduction_factor of those that got there so far.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HOME = Path(tempfile.gettempdir()) / "resolute-bench-optuna"


def installed() -> bool:
    """Installs it the first time; False where that cannot be done."""
    if (HOME / "optuna").exists():
        return True
    print("installing Optuna into a folder of its own …", flush=True)
    try:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(HOME), "optuna"]
        subprocess.run(pip, check=True, capture_output=True, timeout=600)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"no peer: Optuna could not be installed ({error})", flush=True)
        return False
    return True


def searches(wanted: Mapping[str, Any]) -> list[list[tuple[int, float]]]:
    """For each seed the better and better metrics found: (work until then, metric)."""
    path = os.pathsep.join([str(HOME), *sys.path])
    command = [sys.executable, "-m", "bench.optuna_peer", json.dumps(dict(wanted))]
    result = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    found: list[list[tuple[int, float]]] = json.loads(result.stdout.splitlines()[-1])
    return found


def _search(wanted: Mapping[str, Any], seed: int) -> list[tuple[int, float]]:
    import optuna

    from resolute.config import parse_space
    from resolute.whatif.searches.surrogate import LearningCurves

    curves = LearningCurves(parse_space(wanted["space"]), seed)
    rungs, full, work, found = wanted["rungs"], wanted["rungs"][-1], 0, []

    def objective(trial: Any) -> float:
        nonlocal work
        hparams = {
            "lr": trial.suggest_float("lr", 1e-4, 1e-1, log=True),
            "dropout": trial.suggest_float("dropout", 0.0, 0.5),
            "width": trial.suggest_int("width", 8, 64),
            "depth": trial.suggest_int("depth", 1, 8),
        }
        done, metric = 0, 1.0
        for length in rungs:
            work, done = work + length - done, length
            metric = curves.loss(hparams, length / full)
            found.append((work, metric))
            trial.report(metric, length)
            if length < full and trial.should_prune():
                raise optuna.TrialPruned
        if work >= wanted["work"]:
            trial.study.stop()
        return metric

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=rungs[0], reduction_factor=wanted["divisor"])
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed), pruner=pruner)
    while work < wanted["work"]:
        study.optimize(objective, n_trials=8)
    return found


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps([_search(asked, seed) for seed in asked["seeds"]]))
