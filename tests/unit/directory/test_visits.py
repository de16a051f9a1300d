"""Which projects a user looked at last: most reports of a page record nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from resolute.directory.visits import RECORDED_EVERY, REMEMBERED, Visits, decide, evolve
from resolute.proto.message import Event
from resolute.proto.visits import ProjectVisited, RecordVisit

ADA = 7
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def seen(project_id: int, seconds: float = 0) -> ProjectVisited:
    return ProjectVisited(ADA, project_id, NOON + timedelta(seconds=seconds))


def visit(project_id: int, seconds: float = 0) -> RecordVisit:
    return RecordVisit(ADA, project_id, NOON + timedelta(seconds=seconds))


def after(*events: Event) -> Visits:
    return reduce(evolve, events, Visits())


def test_the_first_visit_is_recorded() -> None:
    assert decide(visit(3), after()) == [seen(3)]


def test_a_page_that_stays_open_records_nothing_however_long() -> None:
    assert decide(visit(3, 100_000), after(seen(3))) == []


def test_two_pages_that_are_opened_in_turn_are_recorded_once_a_minute() -> None:
    both = after(seen(3), seen(4, 1))
    assert decide(visit(3, 59), both) == []
    assert decide(visit(3, 60), both) == [seen(3, 60)]
    assert list(after(seen(3), seen(4, 1), seen(3, 60)).at) == [4, 3], "the newest stands last"


def test_a_hundred_projects_are_remembered() -> None:
    many = after(*(seen(one, one) for one in range(REMEMBERED + 5)))
    assert list(many.at) == list(range(5, REMEMBERED + 5))


@given(st.lists(st.tuples(st.integers(1, 4), st.floats(0, 40)), max_size=80))
def test_in_any_story_a_project_is_recorded_at_most_once_a_minute(story: list[tuple[int, float]]) -> None:
    visits, now, last = Visits(), 0.0, dict[int, datetime]()
    for project_id, pause_s in story:
        now += pause_s
        command = visit(project_id, now)
        for event in decide(command, visits):
            assert isinstance(event, ProjectVisited)
            assert project_id not in last or event.visited_at - last[project_id] >= RECORDED_EVERY
            last[project_id] = event.visited_at
            visits = evolve(visits, event)
        assert project_id in visits.at
