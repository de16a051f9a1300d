"""What a search method is: a fold over the search's own events, which says at each of them what to do next.

A method never acts and never asks the time or chance. `start` and `next` decide, and only read. `evolve` remembers
what happened, and decides nothing: where a method must know later what it decided at an event, `next` writes that into
the event. So a method whose rule is corrected decides otherwise from then on, and every search that was recorded
before is folded to the state that it had.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from resolute.config import sample
from resolute.proto.experiment import (
    SearchOperationsPosted,
    TrialCreated,
    TrialEarlyExitReported,
    TrialEnded,
    TrialTargetReached,
    TrialValidated,
)
from resolute.proto.states import End
from resolute.search import derive
from resolute.search.settings import Settings

REPLACED_MOST = 100
"""So many invalid trials are replaced, and ten for each that was asked for."""


@dataclass(frozen=True, slots=True)
class CreateTrial:
    request_id: str
    hparams: dict[str, Any]
    seed: int
    target: int | None = None
    """Its first target, where the search sets any: a cumulative length, in the unit of `searcher.max_length`."""


@dataclass(frozen=True, slots=True)
class TrainTo:
    """The trial trains on, to `length` in all."""

    trial_id: int
    length: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Wait:
    """The trial has reached its target and is wanted for nothing else yet: it checkpoints and gives its slots back."""

    trial_id: int
    why: str


@dataclass(frozen=True, slots=True)
class StopTrial:
    """The trial has trained as far as it is worth: it checkpoints and completes."""

    trial_id: int
    why: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """The search is over; trials that are still open are stopped."""

    outcome: End
    why: str


Operation: TypeAlias = CreateTrial | TrainTo | Wait | StopTrial | Shutdown
SearchEvent: TypeAlias = (
    TrialCreated | TrialValidated | TrialTargetReached | TrialEarlyExitReported | TrialEnded | SearchOperationsPosted
)
"""What a method hears of, in the order of the log."""

Report: TypeAlias = TrialValidated | TrialTargetReached | TrialEnded
"""Events at which a halving search may decide something that it has to remember: their field `decided` holds it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method says to an event."""

    event: SearchEvent
    """The event as it is to be recorded, and then given to `evolve`."""
    operations: list[Operation]


class SearchMethod(Protocol):
    """Gets every event of its search exactly once, in order. Every call costs the same however many trials
    there were, or at most the logarithm of it."""

    def start(self) -> list[Operation]:
        """What to do first, before anything has happened."""
        ...

    def next(self, event: SearchEvent) -> Answer:
        """The operations that follow from `event`, which `evolve` has not had yet. Changes no state."""
        ...

    def evolve(self, event: SearchEvent) -> None:
        """Remember that `event` has happened, and what was decided at it. Decides nothing."""
        ...

    def progress(self) -> float:
        """How much of the search is done, from 0 to 1; never falls, except when trials are added."""
        ...


def draw_trial(settings: Settings, seed: int, index: int, target: int | None) -> CreateTrial:
    """The search's trial number `index`: a point of the space, by a chance of its own."""
    return CreateTrial(
        request_id=derive.request_id(seed, index),
        hparams=sample(settings.space, derive.sampler(seed, index)),
        seed=derive.trial_seed(seed, index),
        target=target,
    )
