"""The routes by which a trial follows its search: how far to train next, and that it has come so far."""

from __future__ import annotations

from typing import Any

from resolute.api import lookup, signals, wire
from resolute.api.call import Call
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.api.lookup import Aim
from resolute.api.metric_routes import searcher_metric
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.tasks.runs import OWN_TRIAL, run_of
from resolute.proto.errors import InvalidConfig
from resolute.proto.experiment import CompleteOperation


async def operation(call: Call) -> dict[str, Any]:
    """How far the trial shall train. Waits up to timeoutSeconds for a target beyond `after`, or until none is to come.

    `finished`: there is nothing more to train. `preempt`: the run must give its slots back.
    """
    trial_id, after = call.int("trialId"), call.query.number("after")
    deadline = deadline_in(call.query.number("timeoutSeconds"))
    aim = await lookup.aim(call.gateway, trial_id)
    while True:
        about = (signals.trial(trial_id), aim.allocation_id)
        seen = await newest_position(call, *about)
        aim = await lookup.aim(call.gateway, trial_id)
        if aim.beyond(after) or aim.finished or aim.preempting:
            return _view(aim)
        if not await changed_since(call, seen, *about, deadline=deadline):
            return _view(aim)


def _view(aim: Aim) -> dict[str, Any]:
    told: dict[str, Any] = {"completed": aim.reached, "finished": aim.finished, "preempt": aim.preempting}
    if aim.target is not None:
        told["op"] = {"validateAfter": {"length": str(aim.target)}}
    return told


async def complete_operation(call: Call) -> dict[str, Any]:
    """The trial has trained to its target, and is worth `searcherMetric` there; said again, it changes nothing."""
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    length = wire.whole((call.body.get("op") or {}).get("length"), "op.length")
    if call.body.get("searcherMetric") is None:
        raise InvalidConfig("searcherMetric: expected what the trial is worth at the end of the operation; found none")
    metric = searcher_metric(call.body["searcherMetric"], "searcherMetric")
    assert call.principal.task is not None, "only tasks complete operations"
    run_id = run_of(call.principal.task.allocation_id)
    await call.send(CompleteOperation(trial.experiment_id, trial.trial_id, run_id, length, metric))
    return {}


API = "/api/v1/trials/{trialId}/searcher"

ROUTES = (
    Route(
        "GetCurrentTrialSearcherOperation",
        "GET",
        f"{API}/operation",
        operation,
        SIGNED_IN.to("experiment.view") | TASK.about("trial", "trialId"),
    ),
    Route("CompleteTrialSearcherValidation", "POST", f"{API}/completed_operation", complete_operation, OWN_TRIAL),
)
