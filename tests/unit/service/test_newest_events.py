"""The events that a process appended last, at hand for those of its parts that follow the log."""

from __future__ import annotations

from resolute.eventlog.newest_events import KEPT_CHARS_MAX, KEPT_MAX, Columns, NewestEvents


def row(position: int, data: str = "{}") -> Columns:
    return (position, "experiment-1", position, "TrialRunStarted", 1, data)


def positions(newest: NewestEvents, after: int, limit: int = 1000) -> list[int]:
    return [position for position, *_ in newest.after(after, limit)]


def test_the_next_events_are_answered_up_to_the_first_that_another_process_appended() -> None:
    newest = NewestEvents()
    newest.keep([row(4), row(5)])
    newest.keep([row(7)])
    assert positions(newest, 3) == [4, 5]
    assert positions(newest, 3, limit=1) == [4]
    assert positions(newest, 5) == []
    assert positions(newest, 6) == [7]
    assert positions(newest, 7) == []


def test_the_oldest_are_forgotten_first() -> None:
    newest = NewestEvents()
    newest.keep(row(position) for position in range(1, KEPT_MAX + 3))
    assert positions(newest, 0) == []
    assert len(positions(newest, 2)) == KEPT_MAX


def test_large_events_are_bounded_by_their_size() -> None:
    newest = NewestEvents()
    newest.keep([row(1), row(2, "x" * KEPT_CHARS_MAX)])
    assert positions(newest, 0) == []
    assert positions(newest, 1) == [2]
    newest.keep([row(3, "x" * (KEPT_CHARS_MAX + 1))])
    assert positions(newest, 1) == []
    assert positions(newest, 2) == []
