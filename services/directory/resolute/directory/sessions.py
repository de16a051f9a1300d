"""The sessions of one user, a stream for each user (`user-7`): opened when the user signs in, closed when the user
signs out or the password changes.

The tokens of sessions are secrets, and no part of this: the gateway keeps their hashes beside the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from resolute.directory.part import USERS_KEPT, Part
from resolute.proto import streams
from resolute.proto.identity import ChangePassword, CloseSessions, OpenSession, SessionClosed, SessionOpened
from resolute.proto.message import Event

State = Enum("State", "ABSENT OPEN CLOSED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, SessionOpened): State.OPEN,
    (State.OPEN, SessionClosed): State.CLOSED,
    (State.ABSENT, SessionClosed): State.CLOSED,
}
"""Of one session. A closed one is forgotten, and so is one that has expired, whose end no event tells: both count as
absent afterwards."""

SessionCommand = OpenSession | CloseSessions | ChangePassword


@dataclass(slots=True)
class Sessions:
    """The open ones, oldest first: when each expires, by its id. Owned by the fold that grows it."""

    open: dict[int, datetime] = field(default_factory=dict)


def decide(command: SessionCommand, sessions: Sessions) -> list[Event]:
    """What opens or closes. A session that is closed already, or was forgotten because it expired, is left alone."""
    match command:
        case OpenSession(user_id, session_id, opened_at, expires_at):
            return [SessionOpened(user_id, session_id, expires_at, opened_at)]
        case CloseSessions(user_id, ended) | ChangePassword(user_id=user_id, sessions_ended=ended):
            return [SessionClosed(user_id, one) for one in dict.fromkeys(ended) if one in sessions.open]


def evolve(sessions: Sessions, event: Event) -> Sessions:
    match event:
        case SessionOpened(session_id=session_id, opened_at=opened_at, expires_at=expires_at):
            assert FLOW[_state(sessions, session_id), type(event)] is State.OPEN
            if opened_at is not None:  # events of earlier releases do not say
                _forget_expired(sessions, opened_at)
            sessions.open[session_id] = expires_at
            return sessions
        case SessionClosed(session_id=session_id):
            assert FLOW[_state(sessions, session_id), type(event)] is State.CLOSED
            sessions.open.pop(session_id, None)
            return sessions
    raise AssertionError(f"not an event of sessions: {event}")


def _forget_expired(sessions: Sessions, now: datetime) -> None:
    """The oldest come first, and sessions last equally long unless the setting was changed: to look at the oldest is
    enough to keep the number of open ones bounded."""
    while sessions.open and sessions.open[oldest := next(iter(sessions.open))] <= now:
        del sessions.open[oldest]


def _state(sessions: Sessions, session_id: int) -> State:
    return State.OPEN if session_id in sessions.open else State.ABSENT


PART = Part(
    commands=frozenset({OpenSession, CloseSessions}),
    stream_of=lambda command: streams.USER.stream(command.user_id),
    initial=Sessions,
    decide=decide,
    evolve=evolve,
    ids={},
    keep=USERS_KEPT,
)
"""Of ChangePassword the shell asks this part first, then the users."""
