"""Trials: listing, reading and killing them."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.shown_states import Phase
from resolute.api.views.experiments import row_of
from resolute.api.views.listing import OF_PROJECT, Where, listed, order_by, state_names
from resolute.api.views.trials import COUNT, PHASE, SELECT, STATES, trials_json
from resolute.proto.errors import NotFound
from resolute.proto.experiment import KillTrial
from resolute.proto.states import TrialState

SORT = {
    "SORT_BY_ID": "t.id",
    "SORT_BY_START_TIME": "t.started_at",
    "SORT_BY_END_TIME": "t.ended_at",
    "SORT_BY_STATE": "phase",
    "SORT_BY_BEST_VALIDATION_METRIC": "t.best_metric",
    "SORT_BY_LATEST_VALIDATION_METRIC": "t.latest_metric",
    "SORT_BY_BATCHES_PROCESSED": "(SELECT max(m.steps) FROM measures.metrics m WHERE m.trial_id = t.id AND steps >= 0)",
    "SORT_BY_DURATION": "t.ended_at - t.started_at",
    "SORT_BY_RESTARTS": "t.restarts",
    "SORT_BY_CHECKPOINT_SIZE": "k.bytes",
    "SORT_BY_LOG_RETENTION_DAYS": "coalesce(t.log_retention_days, e.log_retention_days)",
}


async def get_experiment_trials(call: Call) -> dict[str, Any]:
    """An experiment's trials."""
    experiment = await row_of(call.gateway.read, call.int("experimentId"))
    where = Where(call.scope, OF_PROJECT.format("e.project_id"))
    where.add("t.experiment_id = ?", experiment["id"])
    if states := state_names(call.query.texts("states"), STATES):
        wanted = {*states, *(Phase if TrialState.ACTIVE in states else ())}
        where.add(f"{PHASE} = ANY(?::text[])", sorted(wanted))
    order = order_by(call, SORT, "t.id", tie="t.id")
    rows, page = await listed(call, SELECT, COUNT, where, order, default_limit=100)
    return {"trials": await trials_json(call.gateway.measured, rows), "pagination": page.as_json()}


async def get_trial(call: Call) -> dict[str, Any]:
    """One trial, with a summary of all its metrics."""
    return {"trial": await call.gateway.trial_view(call.int("trialId"))}


async def kill_trial(call: Call) -> dict[str, Any]:
    """End a trial at once."""
    trial_id = call.int("id")
    experiment_id = await call.gateway.read.value(
        "SELECT experiment_id FROM read_trials.trials WHERE id = $1", trial_id
    )
    if experiment_id is None:
        raise NotFound(f"trial {trial_id} not found")
    await call.send(KillTrial(experiment_id, trial_id))
    return {}


EDIT = SIGNED_IN.to("experiment.edit").about("trial", "id")

ROUTES = (
    Route(
        "GetExperimentTrials",
        "GET",
        "/api/v1/experiments/{experimentId}/trials",
        get_experiment_trials,
        SIGNED_IN.to("experiment.view").about("experiment", "experimentId"),
    ),
    Route(
        "GetTrial",
        "GET",
        "/api/v1/trials/{trialId}",
        get_trial,
        SIGNED_IN.to("experiment.view") | TASK.about("trial", "trialId"),
    ),
    Route("KillTrial", "POST", "/api/v1/trials/{id}/kill", kill_trial, EDIT),
)
