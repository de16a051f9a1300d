"""Which points of a long curve are shown, so that no peak is lost.

The points are cut into stretches of equal length, and of each the lowest and the highest are kept (min-max aggregation:
Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014). The first and the last point of
the curve are kept as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

LEAST = 4
"""Fewer points than both ends and two extremes are the ends alone."""


def kept(values: Sequence[float], most: int) -> list[int]:
    """The places of the points to show, in order: all of them where there are no more than `most`, and never more. Of
    equal values in a stretch the earliest counts. With `most` at 1 it is the last point alone."""
    count = len(values)
    if count <= most:
        return list(range(count))
    found = _ends(count, most)
    for stretch in _stretches(count, stretches_for(most)):
        found |= _extremes(stretch, values)
    return sorted(found)


def kept_together(points: Sequence[Mapping[str, float]], most: int) -> list[int]:
    """The same of points that have several metrics each: the extremes of every metric are kept. They share `most`, but
    each metric has at least one stretch, so that there may be more points than that where there are many metrics."""
    count = len(points)
    if count <= most:
        return list(range(count))
    found = _ends(count, most)
    names = {name for point in points for name in point}
    for stretch in _stretches(count, stretches_for_each(most, len(names))):
        for name in names:
            values = {place: points[place][name] for place in stretch if name in points[place]}
            found |= _extremes(values, values)
    return sorted(found)


def _ends(count: int, most: int) -> set[int]:
    return {count - 1} if most < 2 else {0, count - 1}


def _extremes(places: Iterable[int], values: Sequence[float] | Mapping[int, float]) -> set[int]:
    """The places of the lowest and of the highest value; of equal ones the earliest."""
    found = list(places)
    if not found:
        return set()
    lowest = min(found, key=lambda place: (values[place], place))
    return {lowest, max(found, key=lambda place: (values[place], -place))}


def stretches_for(most: int) -> int:
    """How many stretches there are: each gives two points, and two are the ends of the curve."""
    return max((most - 2) // 2, 0)


def stretches_for_each(most: int, metrics: int) -> int:
    """How many stretches there are where so many metrics are shown together."""
    return max((most - 2) // (2 * max(metrics, 1)), 1) if most >= LEAST else 0


def _stretches(count: int, number: int) -> list[range]:
    """The places 0 to count - 1 in so many parts: a place belongs to the part place * number // count."""
    starts = [-(-count * part // number) for part in range(number)]
    return [range(*ends) for ends in pairwise([*starts, count])] if number else []
