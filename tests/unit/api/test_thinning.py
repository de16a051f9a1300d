"""Long curves are thinned so that no peak is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.api.metrics.thinning import kept, stretches_for

CURVES = st.lists(st.floats(-10, 10), max_size=300)


@given(CURVES, st.integers(1, 120))
def test_never_more_points_than_asked_for_are_shown_and_the_ends_are_among_them(values: list[float], most: int) -> None:
    places = kept(values, most)
    assert len(places) <= most
    assert places == sorted(set(places))
    if values:
        assert places[-1] == len(values) - 1
    if values and most > 1:
        assert places[0] == 0


@given(CURVES, st.integers(4, 120))
def test_the_lowest_and_the_highest_value_are_always_shown(values: list[float], most: int) -> None:
    shown = [values[place] for place in kept(values, most)]
    if values:
        assert (min(shown), max(shown)) == (min(values), max(values))


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=300), st.integers(4, 120))
def test_each_stretch_of_the_curve_shows_its_extremes(values: list[float], most: int) -> None:
    places = kept(values, most)
    if len(values) <= most:
        assert places == list(range(len(values)))
        return
    number = stretches_for(most)
    for part in range(number):
        stretch = [place for place in range(len(values)) if place * number // len(values) == part]
        assert {min(values[place] for place in stretch), max(values[place] for place in stretch)} <= {
            values[place] for place in places if place in stretch
        }


def test_a_single_spike_among_a_million_points_is_shown() -> None:
    values = [0.0] * 1_000_000
    values[617_311] = 9.0
    assert 617_311 in kept(values, 1000)
