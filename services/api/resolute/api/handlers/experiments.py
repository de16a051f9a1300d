"""Reading experiments."""

from __future__ import annotations

from typing import Any

from resolute.api.call import Call
from resolute.api.handlers.shown_secrets import experiment_for
from resolute.api.routing import SIGNED_IN, TASK, Route
from resolute.api.shown_states import sql_list
from resolute.api.views.checkpoints import SELECT as CHECKPOINTS
from resolute.api.views.checkpoints import checkpoints_json
from resolute.api.views.experiments import (
    FROM,
    SELECT,
    STATES,
    TEXTS,
    TRIAL_IDS,
    experiment_json,
    kept_as,
    narrow,
    row_of,
)
from resolute.api.views.jobs import job_summary
from resolute.api.views.listing import OF_PROJECT, Where, listed_by_key, order_by, state_names
from resolute.api.wire import number, timestamp
from resolute.proto.checkpoint import ApplyRetention
from resolute.proto.errors import NotFound
from resolute.proto.states import WITH_FILES

SORT = {
    "SORT_BY_ID": "e.id",
    "SORT_BY_DESCRIPTION": "e.description",
    "SORT_BY_NAME": "e.name",
    "SORT_BY_START_TIME": "e.started_at",
    "SORT_BY_END_TIME": "e.ended_at",
    "SORT_BY_STATE": "e.state",
    "SORT_BY_NUM_TRIALS": "d.trials",
    "SORT_BY_PROGRESS": "g.progress",
    "SORT_BY_USER": "coalesce(u.username, e.owner)",
    "SORT_BY_FORKED_FROM": "e.parent_id",
    "SORT_BY_RESOURCE_POOL": "e.resource_pool",
    "SORT_BY_PROJECT_ID": "e.project_id",
    "SORT_BY_CHECKPOINT_SIZE": "k.bytes",
    "SORT_BY_CHECKPOINT_COUNT": "k.checkpoints",
    "SORT_BY_SEARCHER_METRIC_VAL": "d.best_metric",
}

KEPT = f""" LEFT JOIN (
    SELECT experiment_id, count(*) AS checkpoints, sum(size_bytes) AS bytes FROM read_checkpoints.checkpoints
    WHERE state IN {sql_list(WITH_FILES)} GROUP BY experiment_id) k ON k.experiment_id = e.id"""

PROGRESS = """ LEFT JOIN (
    SELECT t.experiment_id, sum(n.progress) AS progress
    FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    GROUP BY t.experiment_id) g ON g.experiment_id = e.id"""

SORT_JOINS = {"SORT_BY_CHECKPOINT_SIZE": KEPT, "SORT_BY_CHECKPOINT_COUNT": KEPT, "SORT_BY_PROGRESS": PROGRESS}
"""What must be worked out for every experiment before they can be put in that order."""

RANGES = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

LABELS = "SELECT label FROM read_experiments.experiments, unnest(labels) AS label"

HISTORY = """SELECT trial_id, metric, reported_at FROM read_trials.validations
WHERE experiment_id = $1 AND metric IS NOT NULL ORDER BY reported_at, trial_id, steps_completed"""


async def get_experiments(call: Call) -> dict[str, Any]:
    """The experiments, by owner, state, label, name and more, in any order, in pages."""
    order = order_by(call, SORT, "e.id", tie="e.id", never_null=("e.started_at",))
    source = FROM + SORT_JOINS.get(call.query.text("sortBy"), "")
    rows, page = await listed_by_key(call, SELECT, source, _wanted(call), order, key="e.id", default_limit=100)
    shown = [experiment_json(row) for row in rows]
    if call.query.flag("showTrialData"):
        for experiment in shown:
            ids = await call.gateway.read.rows(TRIAL_IDS, experiment["id"])
            experiment["trialIds"] = [row["id"] for row in ids]
    return {"experiments": shown, "pagination": page.as_json()}


def _wanted(call: Call) -> Where:
    query, where = call.query, Where(call.scope, "p.workspace_id")
    if (archived := query.flag("archived")) is not None:
        where.add("e.archived = ?", archived)
    narrow(where, {column: query.text(column) for column in TEXTS}, query.texts("labels"), query.numbers("userIds"))
    if users := query.texts("users"):
        where.add("coalesce(u.username, e.owner) = ANY(?::text[])", users)
    if project_id := query.number("projectId"):
        where.add("e.project_id = ?", project_id)
    if states := state_names(query.texts("states"), STATES):
        where.add("e.state = ANY(?::text[])", kept_as(states))
    for name, operator in RANGES.items():
        if query.text(f"experimentIdFilter.{name}"):
            where.add(f"e.id {operator} ?", query.number(f"experimentIdFilter.{name}"))
    if ids := query.numbers("experimentIdFilter.incl"):
        where.add("e.id = ANY(?::bigint[])", ids)
    if ids := query.numbers("experimentIdFilter.notIn"):
        where.add("e.id <> ALL(?::bigint[])", ids)
    return where


async def get_experiment(call: Call) -> dict[str, Any]:
    """One experiment, and how its job stands in the queue."""
    experiment = await experiment_for(call, call.int("experimentId"))
    summary = await job_summary(call.gateway.read, call.gateway.settings, experiment["jobId"])
    return {"experiment": experiment, "jobSummary": summary, "config": experiment["config"]}


async def get_labels(call: Call) -> dict[str, Any]:
    """Every label in use, the most used first."""
    where = Where(call.scope, OF_PROJECT.format("project_id"))
    if project_id := call.query.number("projectId"):
        where.add("project_id = ?", project_id)
    by_use = " GROUP BY label ORDER BY count(*) DESC, label"
    rows = await call.gateway.read.rows(LABELS + where.sql + by_use, *where.args)
    return {"labels": [row["label"] for row in rows]}


async def get_validation_history(call: Call) -> dict[str, Any]:
    """Every validation that was the best of its experiment so far."""
    row = await row_of(call.gateway.read, call.int("experimentId"))
    best: float | None = None
    history = []
    for entry in await call.gateway.read.rows(HISTORY, row["id"]):
        metric = entry["metric"] if row["smaller_is_better"] else -entry["metric"]
        if best is None or metric < best:
            best = metric
            history.append(
                {
                    "trialId": entry["trial_id"],
                    "endTime": timestamp(entry["reported_at"]),
                    "searcherMetric": number(entry["metric"]),
                }
            )
    return {"validationHistory": history}


async def get_best_metric(call: Call) -> dict[str, Any]:
    """The best of the searcher's metric so far."""
    row = await row_of(call.gateway.read, call.int("experimentId"))
    if row["best_metric"] is None:
        raise NotFound(f"experiment {row['id']} has no validation yet")
    return {"metric": number(row["best_metric"])}


async def preview_gc(call: Call) -> dict[str, Any]:
    """Which checkpoints a retention policy would delete."""
    row = await row_of(call.gateway.read, call.int("experimentId"))
    reply = await call.send(
        ApplyRetention(
            experiment_id=row["id"],
            save_experiment_best=call.query.number("saveExperimentBest"),
            save_trial_best=call.query.number("saveTrialBest"),
            save_trial_latest=call.query.number("saveTrialLatest"),
            smaller_is_better=row["smaller_is_better"],
            preview=True,
        )
    )
    order = " ORDER BY c.trial_id, c.steps_completed, c.uuid"
    rows = await call.gateway.read.rows(f"{CHECKPOINTS} WHERE c.uuid = ANY($1::text[]){order}", reply.data["deleted"])
    return {"checkpoints": await checkpoints_json(call.gateway.read, rows), "metric_name": row["searcher_metric"]}


VIEW = SIGNED_IN.to("experiment.view")
LIST, VIEW_ONE = VIEW.over_scope(), VIEW.about("experiment", "experimentId")
OWN = VIEW_ONE | TASK

ROUTES = (
    Route("GetExperiments", "GET", "/api/v1/experiments", get_experiments, LIST),
    Route("GetExperimentLabels", "GET", "/api/v1/experiment/labels", get_labels, LIST),
    Route("GetExperiment", "GET", "/api/v1/experiments/{experimentId}", get_experiment, OWN),
    Route(
        "GetExperimentValidationHistory",
        "GET",
        "/api/v1/experiments/{experimentId}/validation-history",
        get_validation_history,
        VIEW_ONE,
    ),
    Route(
        "GetBestSearcherValidationMetric",
        "GET",
        "/api/v1/experiments/{experimentId}/searcher/best_searcher_validation_metric",
        get_best_metric,
        OWN,
    ),
    Route("PreviewGC", "GET", "/experiments/{experimentId}/preview_gc", preview_gc, VIEW_ONE),
)
