"""A search whose trials train in 40 steps of a set duration, which clusters are disturbed under."""

from __future__ import annotations

from pathlib import Path
from typing import Any

MODEL = Path(__file__).parent / "model"
STEPS = list(range(10, 41, 10))
"""After which each of its trials validates and stores a checkpoint."""


def stepwise(name: str, *, step_s: float, trials: int, at_once: int = 2, max_restarts: int = 0) -> dict[str, Any]:
    """Its configuration, whose hyperparameters are the same each time."""
    return {
        "name": name,
        "entrypoint": "python3 train.py",
        "hyperparameters": {"x": {"type": "double", "minval": 1, "maxval": 2}, "steps": 40, "step_s": step_s},
        "searcher": {"name": "random", "metric": "loss", "max_trials": trials, "max_concurrent_trials": at_once},
        "reproducibility": {"experiment_seed": 7},
        "max_restarts": max_restarts,
    }
