"""The messages of charts: what a stream follows, and what is new in each of its answers."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import JsonObject, Needed, items, whole
from resolute.api.kernel.messages import InPath, InQuery, Message, Request
from resolute.api.metrics.messages import DataPoint, MetricType

Period = Annotated[int, whole(least=0, most=86_400)]
"""Seconds between two messages; 30 where it is 0."""
Count = Annotated[int, whole(least=0, most=100_000)]


class ExpMetricNames(Request):
    ids: InQuery[Needed[Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]]] = ()
    """Experiments."""
    period_seconds: InQuery[Period] = 0


class MetricIdentifier(Message, wire_name="v1MetricIdentifier"):
    group: str
    name: str


class ExpMetricNamesAnswer(Message, wire_name="v1ExpMetricNamesResponse"):
    """Each name is sent once."""

    searcher_metrics: tuple[str, ...] = ()
    training_metrics: tuple[str, ...] = ()
    validation_metrics: tuple[str, ...] = ()
    metric_names: tuple[MetricIdentifier, ...] = ()
    """Of all groups, those of training and validation included."""


class OfOneMetric(Request):
    experiment_id: InPath[Id]
    group: InQuery[Name] = ""
    """This or `metricType`."""
    metric_name: InQuery[Needed[Name]] = ""
    metric_type: InQuery[MetricType] = MetricType.UNSPECIFIED
    period_seconds: InQuery[Period] = 0


class MetricBatches(OfOneMetric):
    pass


class MetricBatchesAnswer(Message, wire_name="v1MetricBatchesResponse"):
    batches: tuple[int, ...] = ()


class TrialsSample(OfOneMetric):
    max_trials: InQuery[Annotated[int, whole(least=0, most=1000)]] = 0
    """How many of the best trials; 25 where it is 0."""
    max_datapoints: InQuery[Count] = 0
    """How many points of each trial at most; 1,000 where it is 0."""
    start_batches: InQuery[Id] = 0
    end_batches: InQuery[Id] = 0
    """The last batch; 0 is no bound."""


class SampledTrial(Message, wire_name="v1TrialsSampleResponseTrial"):
    trial_id: int
    hparams: JsonObject
    data: tuple[DataPoint, ...]
    """Points that were not sent before; all of them for a trial that has just become one of the best."""


class TrialsSampleAnswer(Message, wire_name="v1TrialsSampleResponse"):
    trials: tuple[SampledTrial, ...]
    promoted_trials: tuple[int, ...]
    """Trials that have become some of the best since the last message."""
    demoted_trials: tuple[int, ...]
    """Trials that no longer are."""


class TrialsSnapshot(OfOneMetric):
    batches_processed: InQuery[Needed[Id]] = 0
    batches_margin: InQuery[Id] = 0
    """How far from that a report may be. The nearest counts."""


class TrialAtBatches(Message, wire_name="v1TrialsSnapshotResponseTrial"):
    trial_id: int
    hparams: JsonObject
    metric: float
    batches_processed: int


class TrialsSnapshotAnswer(Message, wire_name="v1TrialsSnapshotResponse"):
    trials: tuple[TrialAtBatches, ...]
    """Those that are new, or whose value changed, since the last message."""
