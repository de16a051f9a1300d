"""Search spaces of every shape: samples stay inside, seeds repeat, grids are what they say they are."""

from __future__ import annotations

import json
import math
from itertools import islice, pairwise, product
from random import Random
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from resolute.config import count_grid, grid, parse_space, sample
from resolute.config.hyperparameters import Axis, Categorical, Const, Double, Int, Log, axes

finite = st.floats(-1e6, 1e6, allow_nan=False)
counts = st.integers(1, 4)


def ordered(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return st.tuples(values, values).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: (min(pair), max(pair)))


def ranged(kind: str, values: st.SearchStrategy[Any], **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(ordered(values), counts).map(
        lambda drawn: {"type": kind, "minval": drawn[0][0], "maxval": drawn[0][1], "count": drawn[1], **more}
    )


plain = st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.none())
ranges = st.one_of(
    plain,
    ranged("int", st.integers(-50, 50)),
    ranged("double", finite),
    ranged("log", st.floats(-8, 8), base=10),
    st.lists(plain, min_size=1, max_size=3).map(lambda vals: {"type": "categorical", "vals": vals}),
)
keys = st.text("abcdef", min_size=1, max_size=3)
spaces = st.dictionaries(keys, st.recursive(ranges, lambda inner: st.dictionaries(keys, inner, max_size=2)), max_size=3)


def at(point: dict[str, Any], path: str) -> Any:
    value: Any = point
    for part in path.split("."):
        value = value[part]
    return value


@given(spaces, st.integers(0, 2**31))
def test_samples_stay_inside_their_ranges(raw: dict[str, Any], seed: int) -> None:
    space = parse_space(raw)
    point = sample(space, Random(seed))
    for path, axis in axes(space):
        value = at(point, path)
        match axis:
            case Const(constant):
                assert value == constant
            case Int(low, high):
                assert isinstance(value, int)
                assert low <= value <= high
            case Double(low, high):
                assert low <= value <= high
            case Log(base, low, high):
                assert base**low <= value <= base**high
            case Categorical(vals):
                assert value in vals


@given(spaces, st.integers(0, 2**31))
def test_a_seed_gives_the_same_points_however_the_space_was_stored(raw: dict[str, Any], seed: int) -> None:
    stored = json.loads(json.dumps(raw, sort_keys=True))
    backwards = dict(reversed(list(raw.items())))
    rngs = [Random(seed) for _ in range(3)]
    points = [
        [sample(parse_space(space), rng) for _ in range(3)]
        for space, rng in zip((raw, stored, backwards), rngs, strict=True)
    ]
    assert points[0] == points[1] == points[2]


def points_of(axis: Axis) -> list[Any]:
    return [axis.point(index) for index in range(axis.count_points())]


@given(spaces)
def test_a_grid_has_as_many_points_as_it_says_and_keeps_inside(raw: dict[str, Any]) -> None:
    space = parse_space(raw)
    points = list(islice(grid(space), 500))
    assert len(points) == min(500, count_grid(space))
    for path, axis in axes(space):
        assert {repr(at(point, path)) for point in points} <= {repr(value) for value in points_of(axis)}


@given(spaces)
def test_the_points_of_a_grid_are_the_product_of_its_axes_the_last_by_name_turning_fastest(raw: dict[str, Any]) -> None:
    space = parse_space(raw)
    leaves = [[(path, value) for value in points_of(axis)] for path, axis in axes(space)]
    expected = islice(product(*leaves), 300)
    for point, wanted in zip(grid(space), expected, strict=False):
        assert repr([at(point, path) for path, _ in wanted]) == repr([value for _, value in wanted])


@given(ordered(st.integers(-1000, 1000)), st.integers(2, 3000))
def test_an_int_axis_has_each_end_and_no_integer_twice(bounds: tuple[int, int], count: int) -> None:
    points = points_of(Int(*bounds, count))
    assert len(points) == min(count, bounds[1] - bounds[0] + 1)
    assert (points[0], points[-1]) == bounds
    assert points == sorted(set(points))


@given(ordered(finite), st.integers(2, 50))
def test_points_of_a_double_axis_are_evenly_spaced_between_both_ends(bounds: tuple[float, float], count: int) -> None:
    points = points_of(Double(*bounds, count))
    assert (points[0], points[-1]) == bounds
    step = (bounds[1] - bounds[0]) / (count - 1)
    assert all(math.isclose(b - a, step, rel_tol=1e-6, abs_tol=1e-6) for a, b in pairwise(points))


@given(ordered(finite))
def test_one_point_takes_the_middle(bounds: tuple[float, float]) -> None:
    assert points_of(Double(*bounds, 1)) == [(bounds[0] + bounds[1]) / 2]


def test_samples_of_a_seed_are_those_every_release_draws() -> None:
    """Recorded once: a change here changes every search that is resumed."""
    space = parse_space(
        {
            "a": {"type": "int", "minval": 1, "maxval": 100},
            "b": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
            "c": {"type": "categorical", "vals": ["x", "y", "z"]},
            "d": {"e": {"type": "double", "minval": 0, "maxval": 1}, "f": 7},
        }
    )
    point = sample(space, Random(42))
    assert point["a"] == 64
    assert math.isclose(point["b"], 0.00011887, rel_tol=1e-3)
    assert point["c"] == "x"
    assert math.isclose(point["d"]["e"], 0.22321073814882275)


def test_a_grid_of_whole_numbers_has_the_nearest_to_each_even_step() -> None:
    assert points_of(Int(1, 100, 7)) == [1, 18, 34, 51, 67, 84, 100]
    assert points_of(Int(1, 4, 1)) == [3]
