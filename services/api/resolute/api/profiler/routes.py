"""System metrics of trials: which series there are, their points, and reports in the form of older clients."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence

from resolute.api import signals
from resolute.api.call import Call
from resolute.api.kernel.long_polls import LOOK_AGAIN_S, changed_since, deadline_in, newest_position
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation, stream
from resolute.api.metrics import reporting
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.metrics.reports import Measured as Reported
from resolute.api.metrics.reports import Report
from resolute.api.profiler import messages as m
from resolute.api.profiler.queries import QUERIES, Point, ProfilerQueries
from resolute.api.profiler.series import Measured, Series, group_of, seconds
from resolute.api.routing import OWNERS, SIGNED_IN, TASK
from resolute.api.trials import lookup
from resolute.proto.errors import InvalidConfig

POINTS_MOST = 1000
"""Of one message."""

LATE_S = 600
"""A report may come so long after a newer one of another machine, and its series is found nevertheless."""


# ---------------------------------------------------------------- reading


async def available_series(call: Call, request: m.GetTrialProfilerAvailableSeries) -> AsyncIterator[m.SeriesAnswer]:
    """The series of system metrics that a trial has. A further message, when there are more, has all of them again."""
    await lookup.trial(call.gateway, request.trial_id)
    return _available(call, request.trial_id, follow=request.follow)


async def _available(call: Call, trial_id: int, *, follow: bool) -> AsyncIterator[m.SeriesAnswer]:
    known, first = set[Series](), True
    async for found in _looks(call, trial_id, follow=follow):
        if first or not known.issuperset(found):
            known |= set(found)
            labels = {_label(trial_id, series): None for series in sorted(known, key=_sorted_by)}
            yield m.SeriesAnswer(labels=tuple(labels))
        first = False


def _sorted_by(series: Series) -> tuple[str, ...]:
    return series.group, series.name, series.agent_id, series.gpu_uuid


async def metrics(call: Call, request: m.GetTrialProfilerMetrics) -> AsyncIterator[m.PointsAnswer]:
    """The points of the series that have the given labels, series by series."""
    await lookup.trial(call.gateway, request.trial_id)
    return _points(call, request)


async def _points(call: Call, request: m.GetTrialProfilerMetrics) -> AsyncIterator[m.PointsAnswer]:
    sent: dict[Series, int] = {}
    async for found in _looks(call, request.trial_id, follow=request.follow):
        sent |= {series: BEFORE_ALL_STEPS for series in found if series not in sent and _is_wanted(series, request)}
        for series in list(sent):
            while points := await _queries(call).points(request.trial_id, series, sent[series], POINTS_MOST):
                sent[series] = points[-1].second
                yield m.PointsAnswer(batch=_batch(request.trial_id, series, points))
                if len(points) < POINTS_MOST:
                    break


async def _looks(call: Call, trial_id: int, *, follow: bool) -> AsyncIterator[Sequence[Series]]:
    """Series of the trial: all at once, and while it is followed those with new values, until it has ended."""
    after = BEFORE_ALL_STEPS
    while True:
        seen = await newest_position(call, signals.trial(trial_id))
        over = not follow or await _queries(call).is_over(trial_id)
        newest = await _queries(call).newest(trial_id)
        yield await _queries(call).series(trial_id, after)
        if over:
            return
        after = max(newest - LATE_S, BEFORE_ALL_STEPS)
        await changed_since(call, seen, signals.trial(trial_id), deadline=deadline_in(LOOK_AGAIN_S))


def _is_wanted(series: Series, request: m.GetTrialProfilerMetrics) -> bool:
    return (
        request.name in ("", series.name)
        and request.agent_id in ("", series.agent_id)
        and request.gpu_uuid in ("", series.gpu_uuid)
        and request.metric_type in (m.SeriesType.UNSPECIFIED, series.type)
    )


def _batch(trial_id: int, series: Series, points: Sequence[Point]) -> m.Points:
    return m.Points(
        labels=_label(trial_id, series),
        values=tuple(point.value for point in points),
        batches=tuple(point.batches for point in points),
        timestamps=tuple(point.at for point in points),
    )


def _label(trial_id: int, series: Series) -> m.Labels:
    return m.Labels(
        trial_id=trial_id,
        name=series.name,
        agent_id=series.agent_id or None,
        gpu_uuid=series.gpu_uuid or None,
        metric_type=series.type,
    )


def _queries(call: Call) -> ProfilerQueries:
    return call.gateway.ports.of(QUERIES)


# ---------------------------------------------------------------- reporting


async def post_batch(call: Call, request: m.PostTrialProfilerMetricsBatch) -> Empty:
    """Report system metrics as clients did before 0.38. They are stored as reports of the groups of system metrics."""
    measured: dict[int, list[Measured]] = {}
    for place, given in enumerate(request.body.batches):
        trial_id, found = _measured(given, f"batches[{place}].")
        measured.setdefault(trial_id, []).extend(found)
    for trial_id, found in measured.items():
        reports = [
            Report(one.group, Reported(0, None, one.at, {**one.metrics}, [{"batches": one.batches}]))
            for one in seconds(found)
        ]
        await reporting.store(call, trial_id, reports)
    return Empty()


def _measured(given: m.GivenPoints, where: str) -> tuple[int, list[Measured]]:
    """The trial, and its values. Raises InvalidConfig, naming the field."""
    labels = given.labels
    if labels is None or not labels.trial_id:
        raise InvalidConfig(f"{where}labels.trialId: expected the number of a trial; it is missing")
    if not labels.name or "." in labels.name:
        raise InvalidConfig(f"{where}labels.name: expected the name of a metric, without dots; found {labels.name!r}")
    counts = len(given.values), len(given.batches), len(given.timestamps)
    if len(set(counts)) > 1:
        raise InvalidConfig(
            f"{where}values: expected as many values as batches and timestamps; found {counts[0]}, {counts[1]} and "
            f"{counts[2]}"
        )
    series = _series(labels)
    found = []
    for place, (value, batches, at) in enumerate(zip(given.values, given.batches, given.timestamps, strict=True)):
        if not math.isfinite(value):
            raise InvalidConfig(f"{where}values[{place}]: expected a finite number; found {value}")
        if at is None or not reporting.is_in_range(at):
            raise InvalidConfig(f"{where}timestamps[{place}]: expected an instant from 2020 to 2087; found {at}")
        found.append(Measured(series, at, value, batches))
    return labels.trial_id, found


def _series(labels: m.GivenLabels) -> Series:
    type_ = labels.metric_type or m.SeriesType.UNSPECIFIED
    name = f"{labels.gpu_uuid}.{labels.name}" if labels.gpu_uuid else labels.name
    return Series(group_of(labels.name, type_), labels.agent_id or "", (name,))


# ---------------------------------------------------------------- routes

VIEW = SIGNED_IN.to("experiment.view")
TAG = "Profiler"

ROUTES = (
    stream(
        "GetTrialProfilerMetrics",
        "GET",
        "/api/v1/trials/{labels_trialId}/profiler/metrics",
        metrics,
        VIEW.about("trial", "labels_trialId"),
        request=m.GetTrialProfilerMetrics,
        response=m.PointsAnswer,
        tag=TAG,
    ),
    stream(
        "GetTrialProfilerAvailableSeries",
        "GET",
        "/api/v1/trials/{trialId}/profiler/available_series",
        available_series,
        VIEW.about("trial", "trialId"),
        request=m.GetTrialProfilerAvailableSeries,
        response=m.SeriesAnswer,
        tag=TAG,
    ),
    operation(
        "PostTrialProfilerMetricsBatch",
        "POST",
        "/api/v1/trials/profiler/metrics",
        post_batch,
        (TASK | OWNERS).to("experiment.edit").about("trial", "body.batches.labels.trialId"),
        request=m.PostTrialProfilerMetricsBatch,
        response=Empty,
        tag="Internal",
    ),
)
