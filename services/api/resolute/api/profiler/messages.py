"""The messages about system metrics: which series a trial has, their points, and points as older clients post them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api import wire
from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import Flag, Instant, Needed, OrAbsent, WireEnum, items, number, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request

Values = Annotated[tuple[Annotated[float, number()], ...], items(10_000)]
Batches = Annotated[tuple[Annotated[int, whole(least=0)], ...], items(10_000)]


class SeriesType(WireEnum, wire_name="TrialProfilerMetricLabelsProfilerMetricType"):
    UNSPECIFIED = "PROFILER_METRIC_TYPE_UNSPECIFIED"
    SYSTEM = "PROFILER_METRIC_TYPE_SYSTEM"
    TIMING = "PROFILER_METRIC_TYPE_TIMING"
    MISC = "PROFILER_METRIC_TYPE_MISC"


class Labels(Message, wire_name="v1TrialProfilerMetricLabels"):
    """What a series is of."""

    trial_id: Id
    name: Name
    agent_id: OrAbsent[Name] = None
    gpu_uuid: OrAbsent[Name] = None
    """Left out where it is not of one GPU."""
    metric_type: OrAbsent[SeriesType] = None


class Points(Message, wire_name="v1TrialProfilerMetricsBatch"):
    """Points of one series, in order of time. The three lists are equally long."""

    labels: Labels
    values: Values
    batches: Batches
    """How many batches had been trained; 0 where the report did not say it."""
    timestamps: Annotated[tuple[datetime, ...], items(10_000)]


class GetTrialProfilerAvailableSeries(Request):
    trial_id: InPath[Id]
    follow: InQuery[Flag] = False
    """Whether further messages come, until the trial has ended."""


class SeriesAnswer(Message, wire_name="v1GetTrialProfilerAvailableSeriesResponse"):
    labels: tuple[Labels, ...]


def _of_labels(field: str) -> str:
    """The fields of the labels have names such as `labels.agentId`, and in the path `labels_trialId`."""
    if field == "follow":
        return field
    return "labels_trialId" if field == "trial_id" else f"labels.{wire.camel(field)}"


class GetTrialProfilerMetrics(Request, alias_generator=_of_labels):
    trial_id: InPath[Id]
    follow: InQuery[Flag] = False
    """Whether further messages come, until the trial has ended."""
    name: InQuery[Name] = ""
    """All names, where it is empty; the same holds for the agent, the GPU and the type."""
    agent_id: InQuery[Name] = ""
    gpu_uuid: InQuery[Name] = ""
    metric_type: InQuery[SeriesType] = SeriesType.UNSPECIFIED


class PointsAnswer(Message, wire_name="v1GetTrialProfilerMetricsResponse"):
    batch: Points


# ---------------------------------------------------------------- as older clients report them


class GivenLabels(Input, wire_name="v1TrialProfilerMetricLabels"):
    trial_id: Needed[Id] = 0
    name: Needed[Name] = ""
    """Without dots."""
    agent_id: OrAbsent[Name] = None
    gpu_uuid: OrAbsent[Name] = None
    metric_type: OrAbsent[SeriesType] = None


class GivenPoints(Input, wire_name="v1TrialProfilerMetricsBatch"):
    labels: Needed[GivenLabels | None] = None
    values: Needed[Values] = ()
    batches: Needed[Batches] = ()
    timestamps: Needed[Annotated[tuple[Instant, ...], items(10_000)]] = ()


class Posted(Input, wire_name="v1PostTrialProfilerMetricsBatchRequest"):
    batches: Annotated[tuple[GivenPoints, ...], items(1000)] = ()


class PostTrialProfilerMetricsBatch(Request):
    body: InBody[Posted]
