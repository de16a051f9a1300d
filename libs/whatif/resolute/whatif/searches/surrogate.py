"""Learning curves made up: what a trial would report, as a function of its hyperparameters and how far it trained.

Good enough to compare searches by, and cheap enough to play a thousand of them. Every axis has a best value, drawn
from the seed, and a weight; the farther a point is from the best, the worse it ends. How fast it gets there is another
matter: curves fall by a power of the length (Hestness et al., "Deep learning scaling is predictable", 2017), faster
at some places of the space than at others, so they cross, and what looks bad early is not always bad.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from resolute.config import Space
from resolute.config.hyperparameters import Axis, Categorical, Double, Int, Log, axes

FLOOR = 0.02
"""The loss of the best point, trained to the end."""
SPEED = 200.0
"""How steep curves are: after this part of its length a trial has most of its gain behind it."""
NOISE = 0.01


class LearningCurves:
    """A loss from about `FLOOR` (perfect) to 1 (nothing learnt), the same for the same arguments, always."""

    def __init__(self, space: Space, seed: int) -> None:
        self._seed = seed
        self._axes = [(path, axis) for path, axis in axes(space) if isinstance(axis, Int | Double | Log | Categorical)]
        chance = Random(f"surrogate/{seed}")
        self._best = [chance.uniform(0.15, 0.85) for _ in self._axes]
        # A few axes matter and most hardly do (Bergstra and Bengio, JMLR 13, 2012).
        weights = [chance.random() ** 3 + 0.01 for _ in self._axes]
        self._weights = [weight / sum(weights) for weight in weights]
        self._tilt = [chance.uniform(-1, 1) for _ in self._axes]

    def loss(self, hparams: Mapping[str, Any], share: float) -> float:
        """`share`: how much of the full length the trial has trained, from 0 to 1."""
        point = [placed(axis, _value(hparams, path)) for path, axis in self._axes]
        final = FLOOR + (1 - FLOOR) * self._distance(point)
        lean = sum(tilt * (x - 0.5) for tilt, x in zip(self._tilt, point, strict=True))
        power = 0.45 + 0.35 * math.tanh(2 * lean)
        falling = math.pow(1 + SPEED * share, -power)
        shake = Random(f"{self._seed}/{point}/{share}").gauss(0, NOISE)
        return final + (1 - final) * falling + shake

    def _distance(self, point: list[float]) -> float:
        apart = ((x - best) ** 2 * w for x, best, w in zip(point, self._best, self._weights, strict=True))
        return math.sqrt(sum(apart))


def placed(axis: Axis, value: Any) -> float:
    """Where a value lies on its axis, from 0 to 1."""
    match axis:
        case Int(minval=low, maxval=high) | Double(minval=low, maxval=high):
            return (value - low) / (high - low) if high > low else 0.5
        case Log(base=base, minval=low, maxval=high):
            return (math.log(value, base) - low) / (high - low) if high > low else 0.5
        case Categorical(vals=vals):
            return vals.index(value) / (len(vals) - 1) if len(vals) > 1 else 0.5
    return 0.5


def _value(hparams: Mapping[str, Any], path: str) -> Any:
    found: Any = hparams
    for name in _names(hparams, path):
        found = found[name]
    return found


def _names(hparams: Mapping[str, Any], path: str) -> Iterator[str]:
    """The names along a dotted path; a name may hold dots itself, so the longest that is there is taken."""
    rest, within = path, hparams
    while rest:
        parts = rest.split(".")
        tries = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        name = next(name for name in tries if isinstance(within, Mapping) and name in within)
        yield name
        within, rest = within[name], rest[len(name) + 1 :]
