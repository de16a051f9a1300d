"""Which of a gateway's answers are compared where there are too many to compare them all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.api.asking import chosen


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=12), most=st.integers(1, 200), seed=st.integers())
def test_every_route_has_its_share_and_small_ones_are_asked_whole(counts: list[int], most: int, seed: int) -> None:
    paths = [[f"/{route}/{n}" for n in range(count)] for route, count in enumerate(counts)]
    asked = chosen(paths, most, seed)
    assert len(set(asked)) == len(asked)
    assert len(asked) <= max(most, sum(map(bool, counts)))
    assert len(asked) >= min(most, sum(counts))
    taken = [sum(path in asked for path in of_route) for of_route in paths]
    for route, count in enumerate(counts):
        assert taken[route] == count or taken[route] >= max(taken) - 1, "a smaller share than another route's"
    assert chosen(paths, most, seed) == asked
