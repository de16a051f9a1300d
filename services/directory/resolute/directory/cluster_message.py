"""The message that everybody is shown: one at a time, from an instant on, and perhaps until another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.cluster_message import (
    ClearClusterMessage,
    ClusterMessageCleared,
    ClusterMessageSet,
    SetClusterMessage,
)
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Event

MESSAGE_CHARS_MAX = 250

State = Enum("State", "NONE SET")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.NONE, ClusterMessageSet): State.SET,
    (State.SET, ClusterMessageSet): State.SET,
    (State.SET, ClusterMessageCleared): State.NONE,
}
"""A message whose time is over stays set until it is cleared or replaced; nobody is shown it."""

MessageCommand = SetClusterMessage | ClearClusterMessage


@dataclass(frozen=True, slots=True)
class ClusterMessage:
    current: ClusterMessageSet | None = None


def decide(command: MessageCommand, found: ClusterMessage) -> list[Event]:
    """Raises InvalidConfig for a message that is too long or that nobody would ever be shown."""
    match command:
        case SetClusterMessage(message, _, start_at, end_at):
            _check(command)
            new = ClusterMessageSet(message, start_at, end_at)
            return [] if found.current == new else [new]
        case ClearClusterMessage():
            return [ClusterMessageCleared()] if found.current is not None else []


def _check(command: SetClusterMessage) -> None:
    length = len(command.message)
    if not command.message.strip() or length > MESSAGE_CHARS_MAX:
        raise InvalidConfig(f"message: expected 1 to {MESSAGE_CHARS_MAX} characters; found {length}")
    if command.end_at is not None and command.end_at <= command.start_at:
        raise InvalidConfig(f"endTime: expected an instant after startTime; found {command.end_at.isoformat()}")
    if command.end_at is not None and command.end_at <= command.set_at:
        raise InvalidConfig(f"endTime: expected an instant that is still to come; found {command.end_at.isoformat()}")


def evolve(found: ClusterMessage, event: Event) -> ClusterMessage:
    state = FLOW[State.NONE if found.current is None else State.SET, type(event)]
    match event:
        case ClusterMessageSet():
            assert state is State.SET
            return ClusterMessage(event)
        case ClusterMessageCleared():
            assert state is State.NONE
            return ClusterMessage()
    raise AssertionError(f"not an event of the cluster's message: {event}")


PART = Part(
    commands=frozenset({SetClusterMessage, ClearClusterMessage}),
    stream_of=lambda command: streams.CLUSTER_MESSAGE,
    initial=ClusterMessage,
    decide=decide,
    evolve=evolve,
    ids={},
)
