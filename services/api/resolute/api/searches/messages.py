"""The messages by which trials follow their search, and by which a client directs a custom one."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import AnyJson, JsonObject, OrAbsent, int64, items, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

LONGEST_WAIT_S = 600

After = Annotated[int, whole(least=0)]
TimeoutSeconds = Annotated[int, whole(least=0, most=LONGEST_WAIT_S)]
"""For how long the call waits when there is nothing to answer yet; 0 for not at all."""


# ---------------------------------------------------------------- a trial and its search


class GetCurrentTrialSearcherOperation(Request):
    trial_id: InPath[Id]
    after: InQuery[After] = 0
    """The length that the trial has reached: the call waits for a target beyond it."""
    timeout_seconds: InQuery[TimeoutSeconds] = 0


class CurrentOperationAnswer(Message, wire_name="GetCurrentTrialSearcherOperationResponse"):
    completed: bool
    """Whether the search knows that the trial has reached its target."""
    finished: bool
    """Whether there is nothing more to train."""
    preempt: bool
    """Whether the run must give its slots back."""
    op: OrAbsent[JsonObject] = None
    """The target, as {"validateAfter": {"length": "100"}}; left out while the search has set none."""


class SearcherLength(Input, wire_name="SearcherLength"):
    length: Annotated[int, int64(least=0)] | None = None


class CompletedOperation(Input, wire_name="CompleteTrialSearcherValidationRequest"):
    op: SearcherLength | None = None
    """The target that the trial has reached."""
    searcher_metric: AnyJson = None
    """The searcher's metric at that length: a number, also as text."""


class CompleteTrialSearcherValidation(Request):
    trial_id: InPath[Id]
    body: InBody[CompletedOperation]


# ---------------------------------------------------------------- a custom search and its client


class GetSearcherEvents(Request):
    experiment_id: InPath[Id]
    after: InQuery[After] = 0
    """The id of the newest event that the client has seen."""
    timeout_seconds: InQuery[TimeoutSeconds] = 0


class SearcherEventsAnswer(Message, wire_name="GetSearcherEventsResponse"):
    searcher_events: tuple[JsonObject, ...]
    """The events that no post has answered, the oldest first."""


class SearcherEventRef(Input, wire_name="SearcherEventRef"):
    id: Annotated[int, whole()] = 0


class SearcherOperations(Input, wire_name="PostSearcherOperationsRequest"):
    searcher_operations: Annotated[tuple[JsonObject, ...], items(10_000)] = ()
    triggered_by_event: SearcherEventRef | None = None
    """The newest event that the client has seen when it decided on these operations."""


class PostSearcherOperations(Request):
    experiment_id: InPath[Id]
    body: InBody[SearcherOperations]
