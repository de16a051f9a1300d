"""The messages about metrics: reports of trials, and what is read back of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import JsonObject, Needed, OrAbsent, items, whole
from resolute.api.kernel.messages import InBody, InPath, InQuery, Message, Request
from resolute.api.metrics.reports import BatchOfReports, GroupReport, OneReport

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
