"""The log that the gateways write about themselves: what administrators changed of it while the cluster runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.master_config import ChangeLogging, LoggingChanged
from resolute.proto.message import Event

State = Enum("State", "CONFIGURED CHANGED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.CONFIGURED, LoggingChanged): State.CHANGED,
    (State.CHANGED, LoggingChanged): State.CHANGED,
}
"""A log whose level and colour were both given back to the master configuration stays a changed one: its last event
says so."""


AS_CONFIGURED = LoggingChanged(level=None, color=None)


@dataclass(frozen=True, slots=True)
class Logging:
    state: State = State.CONFIGURED
    current: LoggingChanged = AS_CONFIGURED


def decide(command: ChangeLogging, found: Logging) -> list[Event]:
    level = command.level if command.changes_level else found.current.level
    color = command.color if command.changes_color else found.current.color
    wanted = LoggingChanged(level, color)
    return [] if wanted == found.current else [wanted]


def evolve(found: Logging, event: Event) -> Logging:
    state = FLOW[found.state, type(event)]
    assert isinstance(event, LoggingChanged)
    return Logging(state, event)


PART = Part(
    commands=frozenset({ChangeLogging}),
    stream_of=lambda command: streams.LOGGING_OF_CLUSTER,
    initial=Logging,
    decide=decide,
    evolve=evolve,
    ids={},
)
