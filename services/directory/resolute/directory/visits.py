"""Which projects a user looked at last, a stream for each user (`visits-7`).

Pages report a visit whenever they are opened, and people open them often. Only the order of the visits is shown, so
that most reports change nothing and are not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from resolute.directory.part import USERS_KEPT, Part
from resolute.proto import streams
from resolute.proto.message import Event
from resolute.proto.visits import ProjectVisited, RecordVisit

RECORDED_EVERY = timedelta(minutes=1)
"""For one project of one user, however often its page is opened in turn with others."""

REMEMBERED = 100
"""So many projects of a user are remembered, those that were visited last."""

State = Enum("State", "NONE SOME")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.NONE, ProjectVisited): State.SOME,
    (State.SOME, ProjectVisited): State.SOME,
}
"""Of the visits of one user."""


@dataclass(slots=True)
class Visits:
    """Owned by the fold that grows it."""

    at: dict[int, datetime] = field(default_factory=dict)
    """When the last recorded visit to each project was, by project; the newest visit stands last."""


def decide(command: RecordVisit, visits: Visits) -> list[Event]:
    newest = next(reversed(visits.at), None)
    before = visits.at.get(command.project_id)
    if command.project_id == newest or (before is not None and command.visited_at < before + RECORDED_EVERY):
        return []
    return [ProjectVisited(command.user_id, command.project_id, command.visited_at)]


def evolve(visits: Visits, event: Event) -> Visits:
    after = FLOW[State.SOME if visits.at else State.NONE, type(event)]
    assert isinstance(event, ProjectVisited)
    visits.at.pop(event.project_id, None)
    visits.at[event.project_id] = event.visited_at
    if len(visits.at) > REMEMBERED:
        del visits.at[next(iter(visits.at))]
    assert after is State.SOME, f"the visits of a user are wrong after {event}"
    return visits


PART = Part(
    commands=frozenset({RecordVisit}),
    stream_of=lambda command: streams.VISITS.stream(command.user_id),
    initial=Visits,
    decide=decide,
    evolve=evolve,
    ids={},
    keep=USERS_KEPT,
)
