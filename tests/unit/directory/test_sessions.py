"""Sessions: what opens and closes, and what is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import reduce

from resolute.directory import sessions
from resolute.directory.sessions import Sessions
from resolute.proto.identity import ChangePassword, CloseSessions, OpenSession, SessionClosed, SessionOpened
from resolute.proto.message import Event

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


def opened(session_id: int, at: datetime, *, for_: timedelta = 30 * DAY) -> SessionOpened:
    return SessionOpened(7, session_id, at + for_, at)


def after(*events: Event) -> Sessions:
    return reduce(sessions.evolve, events, Sessions())


def test_signing_in_opens_a_session_and_signing_out_closes_it() -> None:
    assert sessions.decide(OpenSession(7, 1, MONDAY, MONDAY + DAY), Sessions()) == [opened(1, MONDAY, for_=DAY)]
    assert sessions.decide(CloseSessions(7, (1,)), after(opened(1, MONDAY))) == [SessionClosed(7, 1)]


def test_a_session_is_closed_once() -> None:
    found = after(opened(1, MONDAY), SessionClosed(7, 1))
    assert sessions.decide(CloseSessions(7, (1,)), found) == []
    assert sessions.decide(CloseSessions(7, (9,)), found) == []


def test_a_new_password_closes_the_sessions_that_it_ended() -> None:
    found = after(opened(1, MONDAY), opened(2, MONDAY), opened(3, MONDAY))
    command = ChangePassword(7, blank=False, sessions_ended=(1, 3, 3, 9))
    assert sessions.decide(command, found) == [SessionClosed(7, 1), SessionClosed(7, 3)]


def test_expired_sessions_are_forgotten_when_another_opens() -> None:
    found = after(*(opened(n, MONDAY + n * DAY) for n in range(100)))
    assert len(found.open) == 30, "as many as are open within the lifetime of one"


def test_histories_of_earlier_releases_fold() -> None:
    """They do not say when a session was opened, and may close one twice."""
    old = SessionOpened(7, 1, MONDAY + DAY)
    assert after(old, opened(2, MONDAY)).open.keys() == {1, 2}
    assert after(old, SessionClosed(7, 1), SessionClosed(7, 1)).open == {}
