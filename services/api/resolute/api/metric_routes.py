"""Metrics over REST that are read together with the trial itself: charts that compare trials, and workloads."""

from __future__ import annotations

from typing import Any

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.metrics.queries import Point, Series, Stored
from resolute.api.metrics.reading import batches_of, queries
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.trials import lookup
from resolute.api.trials.reading import trial_of


async def compare_trials(call: Call) -> dict[str, Any]:
    """Time series of several trials, thinned to `maxDatapoints` each."""
    query = call.query
    names, kinds = _wanted(query.texts("metricNames"), query.texts("metricIds"), query.text("group"))
    first, last, most = query.number("startBatches"), query.number("endBatches"), query.number("maxDatapoints") or 200
    wanted, metrics = Series(first, last, tuple(sorted(names)), most), queries(call)
    compared = []
    for trial_id in query.numbers("trialIds"):
        await lookup.trial(call.gateway, trial_id)
        compared.append(
            {
                "trial": await trial_of(call, trial_id),
                "metrics": [
                    {
                        "group": kind,
                        "type": _METRIC_TYPE.get(kind, "METRIC_TYPE_UNSPECIFIED"),
                        "data": [_point_view(point, names) for point in await metrics.series(trial_id, kind, wanted)],
                    }
                    for kind in kinds or await metrics.groups(trial_id)
                ],
            }
        )
    return {"trials": compared}


_METRIC_TYPE = {"training": "METRIC_TYPE_TRAINING", "validation": "METRIC_TYPE_VALIDATION"}


def _wanted(names: list[str], ids: list[str], group: str) -> tuple[set[str], list[str]]:
    """Names and groups asked for: by name within one group, or by ids of the form group.name."""
    pairs = [metric_id.partition(".")[::2] for metric_id in ids]
    kinds = sorted({kind for kind, _ in pairs}) or ([group] if group else [])
    return {*names, *(name for _, name in pairs)}, kinds


def _point_view(point: Point, names: set[str]) -> dict[str, Any]:
    values = {name: value for name, value in point.metrics.items() if not names or name in names}
    return {"batches": batches_of(point.steps), "values": values, "time": wire.timestamp(point.reported_at)}


async def trial_workloads(call: Call) -> dict[str, Any]:
    """What a trial did, in order of steps: trainings, validations and checkpoints."""
    trial, measured = await lookup.trial(call.gateway, call.int("trialId")), call.gateway.measured
    chosen = _CHOSEN.get(call.query.text("filter"), ("training", "validation", "checkpoint"))
    kinds = [kind for kind in chosen if kind != "checkpoint"]
    checkpoints = await call.gateway.checkpoint_workloads(trial.trial_id) if "checkpoint" in chosen else []
    steps = [checkpoint["totalBatches"] for checkpoint in checkpoints]
    total = await measured.workload_count(trial.trial_id, kinds, steps)
    page = wire.page_of(total, offset=call.query.number("offset"), limit=call.query.number("limit"))
    found = await measured.workloads(
        trial.trial_id,
        kinds,
        steps,
        offset=page.start,
        limit=page.end - page.start,
        newest_first=call.query.text("orderBy") in ("ORDER_BY_DESC", "2"),
    )
    shown = [
        {"checkpoint": checkpoints[one]} if isinstance(one, int) else {one.kind: workload_view(one)} for one in found
    ]
    return {"workloads": shown, "pagination": page.as_json()}


_CHOSEN = {
    "FILTER_OPTION_CHECKPOINT": ("checkpoint",),
    "FILTER_OPTION_VALIDATION": ("validation",),
    "FILTER_OPTION_CHECKPOINT_OR_VALIDATION": ("checkpoint", "validation"),
}


def workload_view(row: Stored) -> dict[str, Any]:
    """A row as v1MetricsWorkload."""
    return {
        "endTime": wire.timestamp(row.reported_at),
        "metrics": {"avgMetrics": row.metrics, "batchMetrics": []},
        "numInputs": 0,
        "totalBatches": batches_of(row.steps),
    }


READ = SIGNED_IN.to("experiment.view")
API = "/api/v1/trials"

ROUTES = (
    Route("CompareTrials", "GET", f"{API}/time-series", compare_trials, READ.about("trial", "query.trialIds")),
    Route("GetTrialWorkloads", "GET", f"{API}/{{trialId}}/workloads", trial_workloads, READ.about("trial", "trialId")),
)
