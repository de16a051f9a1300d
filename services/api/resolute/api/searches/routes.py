"""Searches: a trial asks how far to train and reports that it has come so far; a client directs a custom search.

A client that is not sure whether a post arrived posts again: an answer to an event that was answered changes nothing.
"""

from __future__ import annotations

from resolute.api import signals
from resolute.api.call import Call
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.metrics.reporting import searcher_metric
from resolute.api.routing import OWNERS, SIGNED_IN, TASK
from resolute.api.searches.messages import (
    CompletedOperation,
    CompleteTrialSearcherValidation,
    CurrentOperationAnswer,
    GetCurrentTrialSearcherOperation,
    GetSearcherEvents,
    PostSearcherOperations,
    SearcherEventsAnswer,
    SearcherOperations,
)
from resolute.api.searches.operations import operation_of
from resolute.api.searches.queries import QUERIES, TrialTarget
from resolute.api.tasks.runs import OWN_TRIAL, run_of
from resolute.api.trials import lookup
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.experiment import CompleteOperation, PostOperations

# ---------------------------------------------------------------- a trial and its search


async def get_current_operation(call: Call, request: GetCurrentTrialSearcherOperation) -> CurrentOperationAnswer:
    """How far the trial shall train. Waits up to timeoutSeconds for a target beyond `after`, or until none is to come.

    `finished`: there is nothing more to train. `preempt`: the run must give its slots back.
    """
    deadline = deadline_in(request.timeout_seconds)
    target = await _target(call, request.trial_id)
    while True:
        about = (signals.trial(request.trial_id), target.allocation_id)
        seen = await newest_position(call, *about)
        target = await _target(call, request.trial_id)
        if target.beyond(request.after) or target.finished or target.preempting:
            return _shown(target)
        if not await changed_since(call, seen, *about, deadline=deadline):
            return _shown(target)


async def _target(call: Call, trial_id: int) -> TrialTarget:
    target = await call.gateway.ports.of(QUERIES).target(trial_id)
    if target is None:
        raise NotFound(f"trial {trial_id} not found")
    return target


def _shown(target: TrialTarget) -> CurrentOperationAnswer:
    operation = None if target.length is None else {"validateAfter": {"length": str(target.length)}}
    return CurrentOperationAnswer(
        completed=target.reached, finished=target.finished, preempt=target.preempting, op=operation
    )


async def complete_operation(call: Call, request: CompleteTrialSearcherValidation) -> Empty:
    """The trial has trained to its target, and is worth `searcherMetric` there; said again, it changes nothing."""
    trial = await lookup.trial(call.gateway, request.trial_id)
    length, metric = _completed(request.body)
    assert call.principal.task is not None, "only tasks complete operations"
    run_id = run_of(call.principal.task.allocation_id)
    await call.send(CompleteOperation(trial.experiment_id, trial.trial_id, run_id, length, metric))
    return Empty()


def _completed(body: CompletedOperation) -> tuple[int, float | None]:
    """The length and the searcher's metric there. Raises InvalidConfig, naming the field."""
    if body.op is None or body.op.length is None:
        raise InvalidConfig("op.length: expected the length that the trial has reached; found none")
    if body.searcher_metric is None:
        raise InvalidConfig("searcherMetric: expected what the trial is worth at the end of the operation; found none")
    return body.op.length, searcher_metric(body.searcher_metric, "searcherMetric")


# ---------------------------------------------------------------- a custom search and its client


async def get_searcher_events(call: Call, request: GetSearcherEvents) -> SearcherEventsAnswer:
    """What happened in a custom search and was not answered yet. Waits up to timeoutSeconds for the first of it;
    `after` leaves out what the client has seen."""
    deadline = deadline_in(request.timeout_seconds)
    about = signals.experiment(request.experiment_id)
    while True:
        seen = await newest_position(call, about)
        events = await call.gateway.search_events.pending(request.experiment_id, request.after)
        if events or not await changed_since(call, seen, about, deadline=deadline):
            return SearcherEventsAnswer(searcher_events=events)


async def post_searcher_operations(call: Call, request: PostSearcherOperations) -> Empty:
    """What the client wants done, in order, all of it or none, in answer to `triggeredByEvent`. Posting the answer to
    an event once more changes nothing."""
    given = request.body.searcher_operations
    operations = tuple(operation_of(each, f"searcherOperations[{place}]") for place, each in enumerate(given))
    answers = await _answered(call, request.experiment_id, request.body)
    await call.send(PostOperations(request.experiment_id, operations, answers))
    return Empty()


async def _answered(call: Call, experiment_id: int, body: SearcherOperations) -> int:
    """The id of the event that a post answers; 0 for none. A post cannot answer an event that has not happened: the
    search would ignore the answers to all events before that id."""
    answers = 0 if body.triggered_by_event is None else body.triggered_by_event.id
    newest = await call.gateway.search_events.newest(experiment_id)
    if not 0 <= answers <= newest:
        raise InvalidConfig(f"triggeredByEvent.id: no event {answers} happened; the newest is {newest}")
    return answers


# ---------------------------------------------------------------- routes

OF_TRIAL = "/api/v1/trials/{trialId}/searcher"
OF_EXPERIMENT = "/api/v1/experiments/{experimentId}"
TAG = "Internal"

ROUTES = (
    operation(
        "GetCurrentTrialSearcherOperation",
        "GET",
        f"{OF_TRIAL}/operation",
        get_current_operation,
        SIGNED_IN.to("experiment.view") | TASK.about("trial", "trialId"),
        request=GetCurrentTrialSearcherOperation,
        response=CurrentOperationAnswer,
        tag=TAG,
    ),
    operation(
        "CompleteTrialSearcherValidation",
        "POST",
        f"{OF_TRIAL}/completed_operation",
        complete_operation,
        OWN_TRIAL,
        request=CompleteTrialSearcherValidation,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "GetSearcherEvents",
        "GET",
        f"{OF_EXPERIMENT}/searcher_events",
        get_searcher_events,
        SIGNED_IN.to("experiment.view").about("experiment", "experimentId"),
        request=GetSearcherEvents,
        response=SearcherEventsAnswer,
        tag=TAG,
    ),
    operation(
        "PostSearcherOperations",
        "POST",
        f"{OF_EXPERIMENT}/searcher_operations",
        post_searcher_operations,
        # A client that directs a search decides what its trials run.
        OWNERS.to("experiment.edit").about("experiment", "experimentId"),
        request=PostSearcherOperations,
        response=Empty,
        tag=TAG,
    ),
)
