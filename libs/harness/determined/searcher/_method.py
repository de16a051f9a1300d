"""The interface of a search method: the events that it gets, and the operations that it may return."""

from __future__ import annotations

import abc
import enum
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Any


class ExitedReason(enum.Enum):
    """Why a trial ended without being closed."""

    ERRORED = "EXITED_REASON_ERRORED"
    USER_CANCELED = "EXITED_REASON_USER_CANCELED"
    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class Operation:
    """An operation of a search method."""


@dataclass(frozen=True)
class Create(Operation):
    """Create a trial. `request_id`: a name that the method chooses (`uuid.uuid4()`)."""

    request_id: uuid.UUID
    hparams: dict[str, Any]


@dataclass(frozen=True)
class ValidateAfter(Operation):
    """Train the trial until it has trained `length` in all, in the unit of the configuration, then validate."""

    request_id: uuid.UUID
    length: int


@dataclass(frozen=True)
class Close(Operation):
    """Close the trial after its earlier operations."""

    request_id: uuid.UUID


@dataclass(frozen=True)
class Progress(Operation):
    """Report the progress of the search, from 0 to 1."""

    progress: float


@dataclass(frozen=True)
class Shutdown(Operation):
    """End the search. Other operations that are returned together with this one are ignored."""

    cancel: bool = False
    failure: bool = False


@dataclass
class SearcherState:
    """The state of the search that the runner keeps, for methods to read."""

    trials_created: set[uuid.UUID] = field(default_factory=set)
    trials_closed: set[uuid.UUID] = field(default_factory=set)
    failures: set[uuid.UUID] = field(default_factory=set)
    """Trials that exited early. They are in `trials_closed` as well."""
    last_event_id: int = 0
    experiment_completed: bool = False
    experiment_failed: bool = False


class SearchMethod(abc.ABC):
    """Each `on_...` gets one event, once, in the order of the log, and returns operations."""

    @abc.abstractmethod
    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]: ...

    @abc.abstractmethod
    def on_trial_created(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]: ...

    @abc.abstractmethod
    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: Any, train_length: int
    ) -> list[Operation]:
        """`metric` is a float, which may be NaN."""
        ...

    @abc.abstractmethod
    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]: ...

    @abc.abstractmethod
    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]: ...

    @abc.abstractmethod
    def progress(self, searcher_state: SearcherState) -> float: ...

    @abc.abstractmethod
    def save_method_state(self, path: pathlib.Path) -> None:
        """Write into the folder `path` everything that the method needs to go on from here."""
        ...

    @abc.abstractmethod
    def load_method_state(self, path: pathlib.Path) -> None: ...
