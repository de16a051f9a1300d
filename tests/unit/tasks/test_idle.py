"""When nobody has used a task for as long as it may be idle."""

from __future__ import annotations

import pytest

from resolute.tasks.idle import IdleWatch, Notice, Over, span


@pytest.fixture
def watch() -> IdleWatch:
    watch = IdleWatch()
    watch.begin("a", "a.1", 1_800, now=0)
    return watch


def due(watch: IdleWatch, now: float) -> list[Notice | Over]:
    return list(watch.due(now))


def test_notice_is_given_once_and_then_it_is_over_until_that_is_heard(watch: IdleWatch) -> None:
    assert due(watch, 1_499) == []
    assert due(watch, 1_500) == [Notice("a", "a.1", 1_500, 300)]
    assert due(watch, 1_700) == []
    assert due(watch, 1_800) == due(watch, 1_805) == [Over("a", 1_800)]
    watch.end("a")
    assert due(watch, 1_810) == []


def test_use_begins_the_time_anew_and_notice_is_given_again(watch: IdleWatch) -> None:
    assert len(due(watch, 1_600)) == 1
    watch.used("a", 1_700)
    assert due(watch, 3_000) == []
    assert due(watch, 3_300) == [Notice("a", "a.1", 1_600, 200)]


def test_a_short_time_has_its_notice_at_half(watch: IdleWatch) -> None:
    watch.begin("b", "b.1", 20, now=0)
    assert due(watch, 9) == []
    assert due(watch, 10) == [Notice("b", "b.1", 10, 10)]


def test_what_is_not_watched_is_not_minded_and_ready_that_comes_twice_changes_nothing(watch: IdleWatch) -> None:
    watch.used("unknown", 5)
    watch.begin("a", "a.1", 1_800, now=1_000)
    assert due(watch, 1_800) == [Over("a", 1_800)]


@pytest.mark.parametrize(("seconds", "said"), [(30, "30s"), (300, "5m0s"), (5_400, "1h30m0s")])
def test_spans_are_said_as_people_write_them(seconds: float, said: str) -> None:
    assert span(seconds) == said
