"""Any training program with the Core API: here, logistic regression by gradient descent in plain Python.

It reports metrics, saves checkpoints, resumes from the latest and stops politely when the cluster asks. With each
validation it says how far it has come, so that a search by time (adaptive.yaml) can compare it with other trials at the
same point. It also runs by itself: `python3 train.py`.
"""

from __future__ import annotations

import json
import logging
import math
import pathlib
import random

import determined as det

DEFAULTS = {"learning_rate": 0.5, "steps": 200, "report_every": 20}


def make_points(count: int) -> list[tuple[float, float, int]]:
    """Points in a square, labelled by the side of a line they are on, with some noise."""
    chance = random.Random(7)
    points = []
    for _ in range(count):
        x, y = chance.uniform(-1, 1), chance.uniform(-1, 1)
        points.append((x, y, int(x + 2 * y + chance.gauss(0, 0.2) > 0.3)))
    return points


def predict(weights: list[float], x: float, y: float) -> float:
    return 1 / (1 + math.exp(-(weights[0] * x + weights[1] * y + weights[2])))


def step(weights: list[float], points: list[tuple[float, float, int]], learning_rate: float) -> float:
    """One step of gradient descent on all points; returns the loss before it."""
    gradient, loss = [0.0, 0.0, 0.0], 0.0
    for x, y, label in points:
        p = min(max(predict(weights, x, y), 1e-12), 1 - 1e-12)
        loss -= math.log(p if label else 1 - p)
        for axis, value in enumerate((x, y, 1.0)):
            gradient[axis] += (p - label) * value
    for axis in range(3):
        weights[axis] -= learning_rate * gradient[axis] / len(points)
    return loss / len(points)


def accuracy(weights: list[float], points: list[tuple[float, float, int]]) -> float:
    return sum((predict(weights, x, y) > 0.5) == bool(label) for x, y, label in points) / len(points)


def save(core_context: det.core.Context, weights: list[float], steps_completed: int) -> None:
    with core_context.checkpoint.store_path({"steps_completed": steps_completed}) as (path, _):
        (path / "state.json").write_text(json.dumps({"weights": weights, "steps": steps_completed}))


def load(path: pathlib.Path) -> tuple[list[float], int]:
    state = json.loads((path / "state.json").read_text())
    return state["weights"], state["steps"]


def main(core_context: det.core.Context) -> None:
    info = det.get_cluster_info()
    hparams = DEFAULTS if info is None else info.trial.hparams
    weights, steps_completed = [0.0, 0.0, 0.0], 0
    if info is not None and info.latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
            weights, steps_completed = load(path)
        logging.info("resumed after step %d", steps_completed)

    points = make_points(400)
    training, validation = points[:300], points[300:]
    while steps_completed < hparams["steps"]:
        loss = step(weights, training, hparams["learning_rate"])
        steps_completed += 1
        if steps_completed % hparams["report_every"] and steps_completed < hparams["steps"]:
            continue
        core_context.train.report_training_metrics(steps_completed, {"loss": loss})
        validated = {"accuracy": accuracy(weights, validation), "steps": steps_completed}
        core_context.train.report_validation_metrics(steps_completed, validated)
        core_context.train.report_progress(steps_completed / hparams["steps"])
        save(core_context, weights, steps_completed)
        if core_context.preempt.should_preempt():
            return


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as context:
        main(context)
