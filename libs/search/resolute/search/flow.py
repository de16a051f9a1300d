"""Tables of transitions: from a state, by an event, to a state. Where an event has several outcomes, by outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeAlias, TypeVar

from resolute.proto.message import Event

S = TypeVar("S", bound=Enum)

Arrow: TypeAlias = tuple[S, type[Event]] | tuple[S, type[Event], str]
Flow: TypeAlias = Mapping[Arrow[S], S]


def loops(states: Iterable[S], *events: type[Event]) -> dict[Arrow[S], S]:
    """What may happen in each of `states` and leaves it as it is."""
    return {(state, event): state for state in states for event in events}


def ways(states: Iterable[S], event: type[Event], outcome: str, to: S) -> dict[Arrow[S], S]:
    """From each of `states` the same way: `event` with this outcome leads to `to`."""
    return {(state, event, outcome): to for state in states}


def arrow(flow: Flow[S], state: S, event: Event) -> Arrow[S]:
    """The arrow that `event` takes from `state`. One that is missing means that the log itself is wrong."""
    outcome = getattr(event, "then", None) or getattr(event, "outcome", None)
    for key in ((state, type(event), outcome), (state, type(event))):
        if key in flow:
            return key  # type: ignore[return-value]
    raise AssertionError(f"no {type(event).__name__} can happen in {state.name}; the event: {event}")


def step(flow: Flow[S], state: S, event: Event) -> S:
    return flow[arrow(flow, state, event)]
