"""The search space: axes of five kinds, nested to any depth; how points are drawn from it or counted off."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Const:
    value: Any

    def sample(self, rng: Random) -> Any:
        return self.value

    def count_points(self) -> int:
        return 1

    def point(self, index: int) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class Int:
    """Whole numbers from `minval` to `maxval`, both included."""

    minval: int
    maxval: int
    count: int | None = None

    def sample(self, rng: Random) -> int:
        width = self.maxval - self.minval + 1
        return self.minval + min(width - 1, math.floor(rng.random() * width))

    def count_points(self) -> int:
        return min(_counted(self.count, self), self.maxval - self.minval + 1)

    def point(self, index: int) -> int:
        """The whole number that is nearest, the larger of two; in whole numbers, where nothing is rounded twice."""
        steps = self.count_points() - 1
        if not steps:
            return (self.minval + self.maxval + 1) // 2
        return self.minval + (2 * index * (self.maxval - self.minval) + steps) // (2 * steps)


@dataclass(frozen=True, slots=True)
class Double:
    minval: float
    maxval: float
    count: int | None = None

    def sample(self, rng: Random) -> float:
        return _between(self.minval, self.maxval, rng.random())

    def count_points(self) -> int:
        return _counted(self.count, self)

    def point(self, index: int) -> float:
        return _evenly(self.minval, self.maxval, self.count_points(), index)


@dataclass(frozen=True, slots=True)
class Log:
    """`base` raised to a uniform exponent from `minval` to `maxval`."""

    base: float
    minval: float
    maxval: float
    count: int | None = None

    def sample(self, rng: Random) -> float:
        return float(self.base ** _between(self.minval, self.maxval, rng.random()))

    def count_points(self) -> int:
        return _counted(self.count, self)

    def point(self, index: int) -> float:
        return float(self.base ** _evenly(self.minval, self.maxval, self.count_points(), index))


@dataclass(frozen=True, slots=True)
class Categorical:
    vals: tuple[Any, ...]

    def sample(self, rng: Random) -> Any:
        return self.vals[min(len(self.vals) - 1, math.floor(rng.random() * len(self.vals)))]

    def count_points(self) -> int:
        return len(self.vals)

    def point(self, index: int) -> Any:
        return self.vals[index]


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
    return (grid_point(space, index) for index in range(count_grid(space)))


def count_grid(space: Space) -> int:
    """How many points `grid` will give, without making them."""
    return math.prod(_count(axis) for axis in space.values())


def grid_point(space: Space, index: int) -> dict[str, Any]:
    """Number `index` of the points that `grid` gives, without making those before it."""
    point: dict[str, Any] = {}
    for name, axis in sorted(space.items(), reverse=True):
        index, place = divmod(index, _count(axis))
        point[name] = grid_point(axis, place) if isinstance(axis, Mapping) else axis.point(place)
    return dict(sorted(point.items()))


def axes(space: Space, path: str = "") -> Iterator[tuple[str, Axis]]:
    """Every axis with its dotted path, at whatever depth."""
    for name, axis in sorted(space.items()):
        where = f"{path}.{name}" if path else name
        if isinstance(axis, Mapping):
            yield from axes(axis, where)
        else:
            yield where, axis


def largest_point_bytes(space: Space) -> int:
    """How long a point of `space` can be as JSON, or a little less."""
    return sum(len(name) + 4 + _largest_bytes(axis) for name, axis in space.items())


def _largest_bytes(axis: Axis | Space) -> int:
    match axis:
        case Const(value=value):
            return len(json.dumps(value))
        case Categorical(vals=vals):
            return max(len(json.dumps(value)) for value in vals)
        case Mapping():
            return largest_point_bytes(axis)
    return 20


def _count(axis: Axis | Space) -> int:
    return count_grid(axis) if isinstance(axis, Mapping) else axis.count_points()


def _counted(count: int | None, axis: Axis) -> int:
    if count is None:
        raise ValueError(f"a grid needs count on {axis}")
    return count


def _between(low: float, high: float, share: float) -> float:
    """The point at `share` of the way: both ends exactly, never outside, whatever rounding does."""
    return min(high, max(low, low * (1 - share) + high * share))


def _evenly(low: float, high: float, count: int, index: int) -> float:
    return (low + high) / 2 if count == 1 else _between(low, high, index / (count - 1))
