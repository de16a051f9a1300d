"""The search space: axes of five kinds, nested to any depth; how points are drawn from it or counted off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Const:
    value: Any

    def sample(self, rng: Random) -> Any:
        return self.value

    def points(self) -> list[Any]:
        return [self.value]


@dataclass(frozen=True, slots=True)
class Int:
    """Whole numbers from `minval` to `maxval`, both included."""

    minval: int
    maxval: int
    count: int | None = None

    def sample(self, rng: Random) -> int:
        width = self.maxval - self.minval + 1
        return self.minval + min(width - 1, math.floor(rng.random() * width))

    def points(self) -> list[int]:
        count = min(_counted(self.count, self), self.maxval - self.minval + 1)
        return [math.floor(x + 0.5) for x in _evenly(self.minval, self.maxval, count)]


@dataclass(frozen=True, slots=True)
class Double:
    minval: float
    maxval: float
    count: int | None = None

    def sample(self, rng: Random) -> float:
        return _between(self.minval, self.maxval, rng.random())

    def points(self) -> list[float]:
        return _evenly(self.minval, self.maxval, _counted(self.count, self))


@dataclass(frozen=True, slots=True)
class Log:
    """`base` raised to a uniform exponent from `minval` to `maxval`."""

    base: float
    minval: float
    maxval: float
    count: int | None = None

    def sample(self, rng: Random) -> float:
        return float(self.base ** _between(self.minval, self.maxval, rng.random()))

    def points(self) -> list[float]:
        exponents = _evenly(self.minval, self.maxval, _counted(self.count, self))
        return [float(self.base**exponent) for exponent in exponents]


@dataclass(frozen=True, slots=True)
class Categorical:
    vals: tuple[Any, ...]

    def sample(self, rng: Random) -> Any:
        return self.vals[min(len(self.vals) - 1, math.floor(rng.random() * len(self.vals)))]

    def points(self) -> list[Any]:
        return list(self.vals)


Axis: TypeAlias = Const | Int | Double | Log | Categorical
Space: TypeAlias = Mapping[str, "Axis | Space"]

_AXES: Mapping[str, Callable[[Mapping[str, Any]], Axis]] = {
    "const": lambda raw: Const(raw["val"]),
    "int": lambda raw: Int(raw["minval"], raw["maxval"], raw.get("count")),
    "double": lambda raw: Double(raw["minval"], raw["maxval"], raw.get("count")),
    "log": lambda raw: Log(raw["base"], raw["minval"], raw["maxval"], raw.get("count")),
    "categorical": lambda raw: Categorical(tuple(raw["vals"])),
}


def parse_space(hyperparameters: Mapping[str, Any]) -> Space:
    """The space in the canonical form that a merged configuration holds (`{"lr": {"type": "log", …}}`).

    Plain values count as constants, so that the form people write is understood as well.
    """
    return {name: _parse(raw) for name, raw in sorted(hyperparameters.items())}


def _parse(raw: Any) -> Axis | Space:
    if not isinstance(raw, Mapping):
        return Const(raw)
    return _AXES[raw["type"]](raw) if "type" in raw else parse_space(raw)


def sample(space: Space, rng: Random) -> dict[str, Any]:
    """One point of `space`. Axes are visited by name, and only `rng.random()` is asked, whose sequence Python
    promises to keep for a seed: the same seed gives the same point whatever wrote the space down, and wherever.
    """
    return {
        name: sample(axis, rng) if isinstance(axis, Mapping) else axis.sample(rng)
        for name, axis in sorted(space.items())
    }


def grid(space: Space) -> Iterator[dict[str, Any]]:
    """Every point of the grid, the last axis by name turning fastest.

    int, double and log axes give `count` evenly spaced points, both ends included; a count of 1 takes the
    middle, and an int axis has no more points than integers. Raises ValueError for an axis without a count.
    """
    names = sorted(space)
    for values in product(*(_points(space[name]) for name in names)):
        yield dict(zip(names, values, strict=True))


def count_grid(space: Space) -> int:
    """How many points `grid` will give, without making them."""
    return math.prod(count_grid(a) if isinstance(a, Mapping) else len(a.points()) for a in space.values())


def axes(space: Space, path: str = "") -> Iterator[tuple[str, Axis]]:
    """Every axis with its dotted path, at whatever depth."""
    for name, axis in sorted(space.items()):
        where = f"{path}.{name}" if path else name
        if isinstance(axis, Mapping):
            yield from axes(axis, where)
        else:
            yield where, axis


def _points(axis: Axis | Space) -> list[Any]:
    return list(grid(axis)) if isinstance(axis, Mapping) else axis.points()


def _counted(count: int | None, axis: Axis) -> int:
    if count is None:
        raise ValueError(f"a grid needs count on {axis}")
    return count


def _between(low: float, high: float, share: float) -> float:
    """The point at `share` of the way: both ends exactly, never outside, whatever rounding does."""
    return min(high, max(low, low * (1 - share) + high * share))


def _evenly(low: float, high: float, count: int) -> list[float]:
    if count == 1:
        return [(low + high) / 2]
    return [_between(low, high, i / (count - 1)) for i in range(count)]
