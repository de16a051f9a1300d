"""The messages about metrics: reports of trials, and what is read back of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from resolute.api import wire
from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, JsonObject, Needed, OrAbsent, WireEnum, items, number, text, whole
from resolute.api.kernel.messages import InBody, InPath, InQuery, Message, Request
from resolute.api.metrics.reports import BatchOfReports, GroupReport, OneReport
from resolute.api.trials.messages import CheckpointWorkload, MetricsWorkload, Trial

TrialIds = Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]


# ---------------------------------------------------------------- reports


def _with_trial_as(name: str) -> Callable[[str], str]:
    """Names for the fields of a request whose path calls the trial by another name than `trialId`."""
    return lambda field: name if field == "trial_id" else field


class ReportTrialMetrics(Request, alias_generator=_with_trial_as("metrics_trialId")):
    trial_id: InPath[Id]
    body: InBody[OneReport]


class ReportTrainingMetrics(Request, alias_generator=_with_trial_as("trainingMetrics_trialId")):
    trial_id: InPath[Id]
    body: InBody[GroupReport]


class ReportValidationMetrics(Request, alias_generator=_with_trial_as("validationMetrics_trialId")):
    trial_id: InPath[Id]
    body: InBody[GroupReport]


class ReportTrialMetricsBatch(Request):
    trial_id: InPath[Id]
    body: InBody[BatchOfReports]


class ReportAnswer(Message, wire_name="ReportTrialMetricsResponse"):
    stop: OrAbsent[bool] = None
    """True where the search has stopped the trial, which has nothing more to train."""


# ---------------------------------------------------------------- reading back


class GetMetrics(Request):
    group: InQuery[Needed[Name]] = ""
    """All groups, where it is empty."""
    trial_ids: InQuery[Needed[TrialIds]] = ()


class GetTrainingMetrics(Request):
    trial_ids: InQuery[TrialIds] = ()


class GetValidationMetrics(Request):
    trial_ids: InQuery[TrialIds] = ()


class MetricsReport(Message, wire_name="v1MetricsReport"):
    id: int
    trial_id: int
    trial_run_id: int
    group: str
    total_batches: int
    """0 for reports that have no number of batches."""
    metrics: JsonObject
    """Under `validation_metrics` those of a validation, and under `avg_metrics` those of any other group."""
    end_time: datetime
    """When they were measured."""
    archived: Needed[bool] = False


class MetricsAnswer(Message, wire_name="v1GetMetricsResponse"):
    metrics: tuple[MetricsReport, ...]


class TrainingMetricsAnswer(MetricsAnswer, wire_name="v1GetTrainingMetricsResponse"):
    pass


class ValidationMetricsAnswer(MetricsAnswer, wire_name="v1GetValidationMetricsResponse"):
    pass


# ---------------------------------------------------------------- charts


class MetricType(WireEnum, wire_name="v1MetricType"):
    UNSPECIFIED = "METRIC_TYPE_UNSPECIFIED"
    TRAINING = "METRIC_TYPE_TRAINING"
    VALIDATION = "METRIC_TYPE_VALIDATION"
    PROFILING = "METRIC_TYPE_PROFILING"


def _dotted(field: str) -> str:
    """`timeSeriesFilter.doubleRange.gt` for `time_series_filter__double_range__gt`."""
    return ".".join(map(wire.camel, field.split("__")))


MetricNames = Annotated[tuple[Name, ...], items(1000)]
Numbers = Annotated[tuple[Annotated[int, whole()], ...], items(100_000)]
FilterNumber = Annotated[float | None, number()]
FilterWhole = Annotated[int | None, whole()]
FilterText = Annotated[str, text(65_536)]


class CompareTrials(Request, alias_generator=_dotted):
    end_batches: InQuery[Id] = 0
    """The last step; 0 is no bound."""
    group: InQuery[Name] = ""
    """All groups, where neither this nor `metricIds` names one."""
    max_datapoints: InQuery[Annotated[int, whole(least=0, most=100_000)]] = 0
    """How many points of each series, 200 where it is 0."""
    metric_ids: InQuery[Annotated[tuple[Annotated[str, text(511)], ...], items(1000)]] = ()
    """Metrics with their groups, `group.name`."""
    metric_names: InQuery[MetricNames] = ()
    metric_type: InQuery[MetricType] = MetricType.UNSPECIFIED
    """Taken for the sake of clients, which name the group besides; the same holds for the filter below."""
    start_batches: InQuery[Id] = 0
    time_series_filter__double_range__gt: InQuery[FilterNumber] = None
    time_series_filter__double_range__gte: InQuery[FilterNumber] = None
    time_series_filter__double_range__lt: InQuery[FilterNumber] = None
    time_series_filter__double_range__lte: InQuery[FilterNumber] = None
    time_series_filter__integer_range__gt: InQuery[FilterWhole] = None
    time_series_filter__integer_range__gte: InQuery[FilterWhole] = None
    time_series_filter__integer_range__incl: InQuery[Numbers] = ()
    time_series_filter__integer_range__lt: InQuery[FilterWhole] = None
    time_series_filter__integer_range__lte: InQuery[FilterWhole] = None
    time_series_filter__integer_range__not_in: InQuery[Numbers] = ()
    time_series_filter__name: InQuery[FilterText] = ""
    time_series_filter__time_range__gt: InQuery[FilterText] = ""
    time_series_filter__time_range__gte: InQuery[FilterText] = ""
    time_series_filter__time_range__lt: InQuery[FilterText] = ""
    time_series_filter__time_range__lte: InQuery[FilterText] = ""
    trial_ids: InQuery[TrialIds] = ()


NO_VALUES: JsonObject = {}


class DataPoint(Message, wire_name="v1DataPoint"):
    batches: int
    time: datetime
    values: JsonObject = NO_VALUES
    epoch: OrAbsent[float] = None
    """Never there: trials report no epochs."""


class DownsampledMetrics(Message, wire_name="v1DownsampledMetrics"):
    group: str
    type: MetricType
    data: tuple[DataPoint, ...]


class ComparableTrial(Message, wire_name="v1ComparableTrial"):
    trial: Trial
    metrics: tuple[DownsampledMetrics, ...]


class ComparisonAnswer(Message, wire_name="v1CompareTrialsResponse"):
    trials: tuple[ComparableTrial, ...]


# ---------------------------------------------------------------- workloads


class WorkloadFilter(WireEnum, wire_name="GetTrialWorkloadsRequestFilterOption"):
    UNSPECIFIED = "FILTER_OPTION_UNSPECIFIED"
    CHECKPOINT = "FILTER_OPTION_CHECKPOINT"
    VALIDATION = "FILTER_OPTION_VALIDATION"
    CHECKPOINT_OR_VALIDATION = "FILTER_OPTION_CHECKPOINT_OR_VALIDATION"


class GetTrialWorkloads(Request):
    trial_id: InPath[Id]
    filter: InQuery[WorkloadFilter] = WorkloadFilter.UNSPECIFIED
    group: InQuery[Name] = ""
    """Taken for the sake of clients, as are the metric type, the batch metrics, the key and deleted checkpoints."""
    include_batch_metrics: InQuery[Flag] = False
    limit: InQuery[Limit] = 0
    metric_type: InQuery[MetricType] = MetricType.UNSPECIFIED
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    """By steps."""
    remove_deleted_checkpoints: InQuery[Flag] = False
    sort_key: InQuery[Annotated[str, text(65_536)]] = ""


class WorkloadContainer(Message, wire_name="v1WorkloadContainer"):
    """One of these."""

    training: OrAbsent[MetricsWorkload] = None
    validation: OrAbsent[MetricsWorkload] = None
    checkpoint: OrAbsent[CheckpointWorkload] = None


class WorkloadsAnswer(Message, wire_name="v1GetTrialWorkloadsResponse"):
    workloads: tuple[WorkloadContainer, ...]
    pagination: Pagination
