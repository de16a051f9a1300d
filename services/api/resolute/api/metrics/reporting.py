"""Storing what trials report: each report once, and a validation is announced to the search that ranks trials by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from resolute import codec
from resolute.api.body_kinds import REPORTS_MAX
from resolute.api.call import Call
from resolute.api.measures.metrics import MetricRow
from resolute.api.metrics.messages import (
    ReportAnswer,
    ReportTrainingMetrics,
    ReportTrialMetrics,
    ReportTrialMetricsBatch,
    ReportValidationMetrics,
)
from resolute.api.metrics.reports import Measured, Report
from resolute.api.tasks.runs import run_of
from resolute.api.trials import lookup
from resolute.api.trials.lookup_queries import TrialRef
from resolute.api.trials.outside import check_reporter
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import ReportValidation, ValidationTaken

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)

SECONDS_MOST = 2**31 - 1

GO_ON, STOP = ReportAnswer(), ReportAnswer(stop=True)


async def report_trial_metrics(call: Call, request: ReportTrialMetrics) -> ReportAnswer:
    return await store(call, request.trial_id, (request.body.report,))


async def report_training_metrics(call: Call, request: ReportTrainingMetrics) -> ReportAnswer:
    return await store(call, request.trial_id, (Report("training", request.body.measured),))


async def report_validation_metrics(call: Call, request: ReportValidationMetrics) -> ReportAnswer:
    return await store(call, request.trial_id, (Report("validation", request.body.measured),))


async def report_batch(call: Call, request: ReportTrialMetricsBatch) -> ReportAnswer:
    """Many reports of one trial at once, in order: for a harness that has some waiting, as after an outage.

    The operation is not of Determined's wire. All reports are stored, or none.
    """
    reports = request.body.reports
    if reports is None:
        raise InvalidConfig("reports: expected a list of reports, each an object with metrics and group")
    if len(reports) > REPORTS_MAX:
        raise InvalidConfig(f"reports: expected at most {REPORTS_MAX:,} reports in a batch; found {len(reports):,}")
    return await store(call, request.trial_id, reports, where="reports[{}].")


async def store(call: Call, trial_id: int, reports: Sequence[Report], where: str = "") -> ReportAnswer:
    """Store reports, and announce what the searcher must know; answer when all is durable.

    A trial that does not get the answer reports again, and nothing is stored or announced twice.
    """
    trial, now = await lookup.trial(call.gateway, trial_id), call.gateway.context.now()
    rows = [row_from(trial_id, report, now, where.format(n)) for n, report in enumerate(reports)]
    check_reporter(call, trial)
    if (run_id := _run_that_reports(call)) is not None:
        rows = [_of_the_run(row, run_id, where.format(n)) for n, row in enumerate(rows)]
    validations = [validation_of(row, trial, where.format(n)) for n, row in enumerate(rows)]
    await call.gateway.measured.add(rows, len(call.read.raw))
    stops = [await _announce(call, one) for one in validations if one is not None]
    return STOP if any(stops) else GO_ON


def row_from(trial_id: int, report: Report, now: datetime, where: str = "") -> MetricRow:
    """A report as a row of the store. Raises InvalidConfig, naming the field, which begins with `where`."""
    measured, group = report.measured, report.group
    if measured is None:
        raise InvalidConfig(f"{where}metrics: expected an object with trialId, trialRunId, stepsCompleted and metrics")
    if not group or "." in group:
        raise InvalidConfig(f"{where}group: expected a name without dots, such as training; found {group!r}")
    if measured.averages is None:
        raise InvalidConfig(f"{where}metrics.metrics.avgMetrics: expected an object of metrics by name")
    reported_at = measured.at or now
    return MetricRow(
        trial_id=trial_id,
        run_id=measured.run_id,
        kind=group,
        steps=_steps(measured, group, reported_at, where),
        metrics=measured.averages,
        batch_metrics=measured.batches,
        reported_at=reported_at,
    )


def _run_that_reports(call: Call) -> int | None:
    """None for a user, who reports for a trial outside of the cluster and names the run."""
    return None if call.principal.task is None else run_of(call.principal.task.allocation_id)


def _of_the_run(row: MetricRow, run_id: int, where: str) -> MetricRow:
    """A task reports for its own run, which its token names, and for no other."""
    if row.run_id == run_id:
        return row
    if row.run_id != 0:
        raise InvalidConfig(f"{where}metrics.trialRunId: expected {run_id}, the run that reports; found {row.run_id}")
    return replace(row, run_id=run_id)


def _steps(measured: Measured, group: str, reported_at: datetime, where: str) -> int:
    """The step of a report. System metrics carry a time and no step: the second since 2020 stands in and orders them,
    counted up to zero from below, so that it is not taken for a number of batches."""
    if measured.steps is not None or group in ("training", "validation"):
        return measured.steps or 0
    if not is_in_range(reported_at):
        raise InvalidConfig(f"{where}metrics.reportTime: expected an instant from 2020 to 2087; found {reported_at}")
    return _seconds(reported_at) - SECONDS_MOST


def is_in_range(reported_at: datetime) -> bool:
    """Whether a report without a step may have this time."""
    return 0 <= _seconds(reported_at) < SECONDS_MOST


def _seconds(reported_at: datetime) -> int:
    return int((reported_at - EPOCH).total_seconds())


# ---------------------------------------------------------------- what the search has to know


def validation_of(row: MetricRow, trial: TrialRef, where: str = "") -> ReportValidation | None:
    """The validation that the searcher ranks the trial by; None for a report that decides nothing.

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


def searcher_metric(value: Any, field: str) -> float | None:
    """The searcher's metric as a number; None for NaN and the infinities, which rank last."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidConfig(f"{field}: the searcher's metric must be a number; found {value!r}") from None
    return number if math.isfinite(number) else None


async def _announce(call: Call, validation: ReportValidation) -> bool:
    """Whether the search has stopped the trial."""
    # The report's own name, not the request's: however often it is sent, the searcher decides about it once.
    name = f"validation-{validation.trial_id}-{validation.run_id}-{validation.steps_completed}"
    try:
        reply = await call.gateway.context.bus.request(validation, replace(call.cause, id=name))
    except Refused:
        # The trial or its experiment is over: the measurement stands, and there is nothing left to decide.
        return False
    return codec.load(ValidationTaken, reply.data).stop
