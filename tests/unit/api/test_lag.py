"""How far a gateway's tables are behind the log, by a clock that the test tells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.api.lag import REMEMBERED, Lag


def test_tables_that_show_the_whole_log_are_not_behind_however_old_it_is() -> None:
    lag = Lag()
    assert [lag.look(float(now_s), 7, 7) for now_s in (0, 100, 10_000)] == [0, 0, 0]
    assert lag.look(10_001.0, 7, 9) == 0, "the tables may have been looked at a moment after the log"


def test_what_is_not_shown_counts_from_when_the_log_was_seen_to_hold_it() -> None:
    lag = Lag()
    assert lag.look(10.0, 5, 4) == 0
    assert lag.look(13.0, 8, 4) == 3
    assert lag.look(15.0, 9, 5) == 2, "up to 5 it is shown, and 8 was there 2 s ago"
    assert lag.look(16.0, 9, 9) == 0


def test_tables_that_follow_a_growing_log_at_a_distance_are_behind_by_that_distance() -> None:
    lag = Lag()
    behind = [lag.look(float(now_s), 100 * now_s, 100 * (now_s - 3)) for now_s in range(1, 50)]
    assert set(behind[5:]) == {2.0}, "the end that was seen 3 s ago is just shown"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=2 * REMEMBERED))
def test_tables_that_stand_still_are_behind_since_the_log_first_went_on_without_them(
    steps: list[tuple[int, int]],
) -> None:
    lag, now_s, head = Lag(), 0, 10
    since: int | None = None
    for pause_s, more in steps:
        now_s, head = now_s + pause_s, head + more
        if since is None and head > 10:
            since = now_s
        assert lag.look(float(now_s), head, 10) == (0 if since is None else now_s - since)


def test_a_long_outage_is_remembered_in_little_memory_and_ends_with_it() -> None:
    lag = Lag()
    for now_s in range(100_000):
        lag.look(float(now_s), now_s + 1, 0)
    assert len(lag._ends) <= REMEMBERED + 1
    assert lag.look(100_000.0, 100_001, 0) == 100_000
    assert lag.look(100_001.0, 100_001, 100_001) == 0
