"""Metrics over REST: reported by trials, read back by trial and group, charted."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from resolute import codec
from resolute.api import lookup, wire
from resolute.api.body_kinds import METRICS, REPORTS_MAX
from resolute.api.call import Call
from resolute.api.lookup import TrialRef
from resolute.api.measures.metrics import MetricRow, Point, Stored
from resolute.api.routing import SIGNED_IN, TASK, Handler, Route
from resolute.api.tasks.runs import run_of
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import ReportValidation, ValidationTaken

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)

SECONDS_MOST = 2**31 - 1


async def report_trial_metrics(call: Call) -> dict[str, Any]:
    report = call.body.get("metrics"), str(call.body.get("group") or "")
    return await _report(call, call.int("metrics_trialId"), report)


async def report_training_metrics(call: Call) -> dict[str, Any]:
    return await _report(call, call.int("trainingMetrics_trialId"), (call.body, "training"))


async def report_validation_metrics(call: Call) -> dict[str, Any]:
    return await _report(call, call.int("validationMetrics_trialId"), (call.body, "validation"))


async def report_batch(call: Call) -> dict[str, Any]:
    """Many reports of one trial at once, in order: for a harness that has some waiting, as after an outage.

    Ours, beside the wire's own: `{"reports": [...]}`, each as ReportTrialMetrics takes it. All are stored, or none.
    """
    reports = call.body.get("reports")
    if not isinstance(reports, list) or not all(isinstance(report, dict) for report in reports):
        raise InvalidConfig("reports: expected a list of reports, each an object with metrics and group")
    if len(reports) > REPORTS_MAX:
        raise InvalidConfig(f"reports: expected at most {REPORTS_MAX:,} reports in a batch; found {len(reports):,}")
    return await _report(
        call,
        call.int("trialId"),
        *((report.get("metrics"), str(report.get("group") or "")) for report in reports),
        where="reports[{}].",
    )


async def _report(call: Call, trial_id: int, *reports: tuple[Any, str], where: str = "") -> dict[str, Any]:
    """Store reports, each with its group, then tell the searcher where it must know; answered when all is durable.
    `stop` in the answer: the search has stopped the trial, which has nothing more to train.

    A trial that does not hear the answer reports again, and nothing is stored or announced twice.
    """
    trial, now = await lookup.trial(call.gateway, trial_id), call.gateway.context.now()
    rows = [row_from(trial_id, *report, now, where.format(n)) for n, report in enumerate(reports)]
    run_id = _run_that_reports(call)
    rows = [_of_the_run(row, run_id, where.format(n)) for n, row in enumerate(rows)]
    news = [news_of(row, trial, where.format(n)) for n, row in enumerate(rows)]
    await call.gateway.measured.add(rows, len(call.read.raw))
    stops = [await _announce(call, one) for one in news if one is not None]
    return {"stop": True} if any(stops) else {}


def row_from(trial_id: int, report: Any, group: str, now: datetime, where: str = "") -> MetricRow:
    """A report as a row of the store. Raises InvalidConfig, naming the field, which begins with `where`."""
    if not isinstance(report, dict):
        raise InvalidConfig(f"{where}metrics: expected an object with trialId, trialRunId, stepsCompleted and metrics")
    if not group or "." in group or "\0" in group:
        raise InvalidConfig(f"{where}group: expected a name without dots, such as training; found {group!r}")
    values = report.get("metrics")
    if not isinstance(values, dict) or not isinstance(values.get("avgMetrics"), dict):
        raise InvalidConfig(f"{where}metrics.metrics.avgMetrics: expected an object of metrics by name")
    reported_at = wire.instant(report.get("reportTime"), f"{where}metrics.reportTime") or now
    return MetricRow(
        trial_id=trial_id,
        run_id=_whole(report.get("trialRunId") or 0, f"{where}metrics.trialRunId"),
        kind=group,
        steps=_steps(report, group, reported_at, where),
        metrics=values["avgMetrics"],
        batch_metrics=values.get("batchMetrics") or None,
        reported_at=reported_at,
    )


def _run_that_reports(call: Call) -> int:
    assert call.principal.task is not None, "only tasks report metrics"
    return run_of(call.principal.task.allocation_id)


def _of_the_run(row: MetricRow, run_id: int, where: str) -> MetricRow:
    """A task reports for its own run, which its token names, and for no other."""
    if row.run_id == run_id:
        return row
    if row.run_id != 0:
        raise InvalidConfig(f"{where}metrics.trialRunId: expected {run_id}, the run that reports; found {row.run_id}")
    return replace(row, run_id=run_id)


def _steps(report: dict[str, Any], group: str, reported_at: datetime, where: str) -> int:
    """The step of a report. System metrics carry a time and no step: the second since 2020 stands in and orders them,
    counted up to zero from below, so that it is not taken for a number of batches."""
    steps = report.get("stepsCompleted")
    if steps is not None or group in ("training", "validation"):
        return _whole(steps or 0, f"{where}metrics.stepsCompleted")
    seconds = int((reported_at - EPOCH).total_seconds())
    if not 0 <= seconds < SECONDS_MOST:
        raise InvalidConfig(f"{where}metrics.reportTime: expected an instant from 2020 to 2087; found {reported_at}")
    return seconds - SECONDS_MOST


def batches_of(steps: int) -> int:
    """What readers are shown of a report's step: a number of batches, 0 where none was reported."""
    return max(steps, 0)


def _whole(value: Any, field: str) -> int:
    """A count as clients send it: a number, or a string of digits; Postgres holds up to 2^31 - 1."""
    number = wire.whole(value, field)
    if not 0 <= number < 2**31:
        raise InvalidConfig(f"{field}: expected 0 to {2**31 - 1}; found {number}")
    return number


def news_of(row: MetricRow, trial: TrialRef, where: str = "") -> ReportValidation | None:
    """What the searcher must hear of a report: a validation's metric that it ranks by; anything else decides nothing.

    Raises InvalidConfig when that metric is no number, or is missing where the search compares trials by it.
    """
    if row.kind != "validation":
        return None
    if missing := [name for name in trial.ranked_by if row.metrics.get(name) is None]:
        raise InvalidConfig(_missing(missing[0], row, trial, where))
    value = row.metrics.get(trial.metric)
    if value is None:
        return None
    metric = searcher_metric(value, f"{where}metrics.avgMetrics.{trial.metric}")
    time = None if trial.time_metric is None else _time(row.metrics.get(trial.time_metric), trial.time_metric, where)
    return ReportValidation(trial.experiment_id, trial.trial_id, row.run_id, row.steps, metric, time)


def _missing(name: str, row: MetricRow, trial: TrialRef, where: str) -> str:
    field = "searcher.metric" if name == trial.metric else "searcher.time_metric"
    reported = ", ".join(sorted(row.metrics)) or "nothing"
    return (
        f"{where}metrics.avgMetrics.{name}: missing. {field} is {name!r}, and {trial.searcher} compares trials by it, "
        f"but this validation reported {reported}. Report {name!r} with every validation, or name another in {field}."
    )


def _time(value: Any, name: str, where: str) -> float | None:
    if value is None:
        return None
    time = searcher_metric(value, f"{where}metrics.avgMetrics.{name}")
    if time is None or time < 0:
        raise InvalidConfig(
            f"{where}metrics.avgMetrics.{name}: expected how far training has come, a number from 0; found {value!r}"
        )
    return time


async def _announce(call: Call, news: ReportValidation) -> bool:
    """Whether the search has stopped the trial."""
    # The report's own name, not the request's: however often it is sent, it is heard once.
    cause = replace(call.cause, id=f"validation-{news.trial_id}-{news.run_id}-{news.steps_completed}")
    try:
        reply = await call.gateway.context.bus.request(news, cause)
    except Refused:
        # The trial or its experiment is over: the measurement stands, and there is nothing left to decide.
        return False
    return codec.load(ValidationTaken, reply.data).stop


def searcher_metric(value: Any, field: str) -> float | None:
    """The searcher's metric as a number; None for NaN and the infinities, which rank last."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidConfig(f"{field}: the searcher's metric must be a number; found {value!r}") from None
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------- reading


def _reader(group: str | None) -> Handler:
    async def handler(call: Call) -> web.StreamResponse:
        kind = group or call.query.text("group")
        trial_ids = call.query.numbers("trialIds")
        for trial_id in trial_ids:
            await lookup.trial(call.gateway, trial_id)
        return await call.stream(_reports(call, trial_ids, kind))

    return handler


async def _reports(call: Call, trial_ids: Sequence[int], kind: str) -> AsyncIterator[dict[str, Any]]:
    for trial_id in trial_ids:
        for group in [kind] if kind else await call.gateway.measured.kinds(trial_id):
            async for page in call.gateway.measured.read(trial_id, group):
                yield {"metrics": [_report_view(row) for row in page]}


def _report_view(row: Stored) -> dict[str, Any]:
    # Shaped as the wire has always carried it: validations under `validation_metrics`, the rest under `avg_metrics`.
    values = {"validation_metrics" if row.kind == "validation" else "avg_metrics": row.metrics}
    return {
        "trialId": row.trial_id,
        "endTime": wire.timestamp(row.reported_at),
        "metrics": values,
        "totalBatches": batches_of(row.steps),
        "archived": False,
        "id": row.id,
        "trialRunId": row.run_id,
        "group": row.kind,
    }


async def compare_trials(call: Call) -> dict[str, Any]:
    """Time series of several trials, thinned to `maxDatapoints` each."""
    query = call.query
    names, kinds = _wanted(query.texts("metricNames"), query.texts("metricIds"), query.text("group"))
    first, last, most = query.number("startBatches"), query.number("endBatches"), _most(query.number("maxDatapoints"))
    measured = call.gateway.measured
    compared = []
    for trial_id in query.numbers("trialIds"):
        await lookup.trial(call.gateway, trial_id)
        compared.append(
            {
                "trial": await call.gateway.trial_view(trial_id),
                "metrics": [
                    {
                        "group": kind,
                        "type": _METRIC_TYPE.get(kind, "METRIC_TYPE_UNSPECIFIED"),
                        "data": [
                            _point_view(point, names)
                            for point in await measured.series(trial_id, kind, sorted(names), first, last, most)
                        ],
                    }
                    for kind in kinds or await measured.kinds(trial_id)
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


def _most(asked: int) -> int:
    if asked < 0:
        raise InvalidConfig(f"maxDatapoints: expected 1 or more; found {asked}")
    return asked or 200


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


REPORT = TASK.to("experiment.edit")
READ = SIGNED_IN.to("experiment.view")
READ_MANY = READ.about("trial", "query.trialIds")
API = "/api/v1/trials"

ROUTES = (
    Route(
        "ReportTrialMetrics",
        "POST",
        f"{API}/{{metrics_trialId}}/metrics",
        report_trial_metrics,
        REPORT.about("trial", "metrics_trialId"),
        body=METRICS,
    ),
    Route(
        "ReportTrialTrainingMetrics",
        "POST",
        f"{API}/{{trainingMetrics_trialId}}/training_metrics",
        report_training_metrics,
        REPORT.about("trial", "trainingMetrics_trialId"),
        body=METRICS,
    ),
    Route(
        "ReportTrialValidationMetrics",
        "POST",
        f"{API}/{{validationMetrics_trialId}}/validation_metrics",
        report_validation_metrics,
        REPORT.about("trial", "validationMetrics_trialId"),
        body=METRICS,
    ),
    Route(
        "ReportTrialMetricsBatch",
        "POST",
        f"{API}/{{trialId}}/metrics/batch",
        report_batch,
        REPORT.about("trial", "trialId"),
        body=METRICS,
    ),
    Route("GetMetrics", "GET", f"{API}/metrics/trial_metrics", _reader(None), READ_MANY),
    Route("GetTrainingMetrics", "GET", f"{API}/metrics/training_metrics", _reader("training"), READ_MANY),
    Route("GetValidationMetrics", "GET", f"{API}/metrics/validation_metrics", _reader("validation"), READ_MANY),
    Route("CompareTrials", "GET", f"{API}/time-series", compare_trials, READ_MANY),
    Route("GetTrialWorkloads", "GET", f"{API}/{{trialId}}/workloads", trial_workloads, READ.about("trial", "trialId")),
)
