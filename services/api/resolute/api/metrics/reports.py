"""Reports of metrics as requests bring them, read by functions of their own: they come often, and many at once.

The messages say what the OpenAPI documents say of a report, and each value is held against the type and the range that
they declare. What a report lacks is found later, when it is known that its task may report for the trial
(`reporting.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Self, TypeVar

from resolute.api.kernel import values
from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.decoding import Decoded
from resolute.api.kernel.fields import Instant, items
from resolute.api.kernel.kinds import Kind, bounded
from resolute.api.kernel.messages import Input
from resolute.api.kernel.values import Unfit
from resolute.api.metrics.measured import Metrics
from resolute.proto.errors import InvalidConfig

T = TypeVar("T")

GROUP = bounded("string", None, 255)
COUNT = bounded("int", 0)
INSTANT = bounded("string(date-time)")
OBJECT = bounded("object")
REPORTS = bounded("list", None, 1_000_000)
BATCHES = bounded("list")

LARGEST_COUNT = COUNT.most or 0


class PostedMetrics(Input, wire_name="v1TrialMetrics"):
    trial_id: Id
    """The trial in the path counts."""
    trial_run_id: Id
    """The run that reports: its own number, or 0."""
    metrics: Metrics
    report_time: Instant = None
    """When it was measured; the time of the request, where it is left out."""
    steps_completed: Id = 0
    """A number of batches. Groups other than training and validation need none."""


class PostedReport(Input, wire_name="v1ReportTrialMetricsRequest"):
    group: Name
    """A name without dots, such as training."""
    metrics: PostedMetrics


class PostedBatch(Input, wire_name="ReportTrialMetricsBatchRequest"):
    reports: Annotated[tuple[PostedReport, ...], items(1_000_000)]


# ---------------------------------------------------------------- as this gateway reads them


@dataclass(frozen=True, slots=True)
class Measured:
    """The part of a report that its group does not say. What is None was left out."""

    run_id: int
    """0 where it was left out."""
    steps: int | None
    at: datetime | None
    averages: dict[str, Any] | None
    batches: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Report:
    group: str
    """Empty where it was left out."""
    measured: Measured | None


@dataclass(frozen=True, slots=True)
class OneReport(Decoded):
    documented: ClassVar[Any] = PostedReport
    report: Report

    @classmethod
    def decoded(cls, document: Any) -> Self:
        return cls(_report(document, ""))


@dataclass(frozen=True, slots=True)
class GroupReport(Decoded):
    """A report whose group the operation itself says."""

    documented: ClassVar[Any] = PostedMetrics
    measured: Measured

    @classmethod
    def decoded(cls, document: Any) -> Self:
        return cls(_measured(document, ""))


@dataclass(frozen=True, slots=True)
class BatchOfReports(Decoded):
    documented: ClassVar[Any] = PostedBatch
    reports: tuple[Report, ...] | None
    """None where there is no list."""

    @classmethod
    def decoded(cls, document: Any) -> Self:
        given = document.get("reports")
        if given is None:
            return cls(None)
        reports = _fit("reports", values.check_list, REPORTS, given)
        return cls(tuple(_report(report, f"reports[{place}].") for place, report in enumerate(reports)))


def _report(document: Any, where: str) -> Report:
    found = _object(document, where, "")
    group = _value(found, where, "group", values.check_text, GROUP)
    measured = found.get("metrics")
    return Report(group or "", None if measured is None else _measured(measured, f"{where}metrics."))


def _measured(document: Any, where: str) -> Measured:
    found = _object(document, where, "")
    averages, batches = _metrics(found.get("metrics"), where)
    _count(found, where, "trialId")
    return Measured(
        run_id=_count(found, where, "trialRunId") or 0,
        at=_value(found, where, "reportTime", values.check_instant, INSTANT),
        steps=_count(found, where, "stepsCompleted"),
        averages=averages,
        batches=batches,
    )


def _metrics(document: Any, where: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]] | None]:
    if document is None:
        return None, None
    found = _object(document, where, "metrics.")
    averages = found.get("avgMetrics")
    if averages is not None:
        _object(averages, where, "metrics.avgMetrics.")
    batches = found.get("batchMetrics")
    return averages, None if batches is None else _batches(batches, f"{where}metrics.batchMetrics")


def _batches(given: Any, path: str) -> list[dict[str, Any]] | None:
    """None where there are none."""
    batches = _fit(path, values.check_list, BATCHES, given)
    return [_object(one, f"{path}[{place}].", "") for place, one in enumerate(batches)] or None


# ---------------------------------------------------------------- single values


def _object(value: Any, where: str, name: str) -> dict[str, Any]:
    """`where` and `name` end in the dot that would come before a field of it."""
    if type(value) is dict:
        return value
    return _fit(f"{where}{name}"[:-1] or "body", values.check_object, OBJECT, value)


def _count(found: dict[str, Any], where: str, name: str) -> int | None:
    value = found.get(name)
    if value is None or (type(value) is int and 0 <= value <= LARGEST_COUNT):  # as nearly all are
        return value
    return _fit(f"{where}{name}", values.check_whole, COUNT, value)


def _value(found: dict[str, Any], where: str, name: str, check: Callable[[Kind, Any], T], kind: Kind) -> T | None:
    value = found.get(name)
    return None if value is None else _fit(f"{where}{name}", check, kind, value)


def _fit(path: str, check: Callable[[Kind, Any], T], kind: Kind, value: Any) -> T:
    """What the check answers. Raises InvalidConfig, naming `path`."""
    try:
        return check(kind, value)
    except Unfit as unfit:
        raise InvalidConfig(f"{path}: {unfit}") from None
