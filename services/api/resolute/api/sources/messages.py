"""The messages about the use of checkpoints by trials, and about the metrics of these trials."""

from __future__ import annotations

from typing import Annotated

from resolute.api.kernel.common import Id, Name
from resolute.api.kernel.fields import Needed, OrAbsent, WireEnum, text, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.metrics.messages import MetricsReport


class SourceType(WireEnum, wire_name="v1TrialSourceInfoType"):
    UNSPECIFIED = "TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"
    INFERENCE = "TRIAL_SOURCE_INFO_TYPE_INFERENCE"
    FINE_TUNING = "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"


class TrialSourceInfo(Input, wire_name="v1TrialSourceInfo"):
    trial_id: Needed[Id] = 0
    """The trial that uses the checkpoint."""
    checkpoint_uuid: Needed[Name] = ""
    trial_source_info_type: Needed[SourceType] = SourceType.UNSPECIFIED
    """What the trial uses it for."""
    model_id: OrAbsent[Id] = None
    """The version of a model that the checkpoint is, where the trial found it so. Both fields, or none."""
    model_version: OrAbsent[Id] = None


class Reported(Input, wire_name="v1ReportTrialSourceInfoRequest"):
    trial_source_info: Needed[TrialSourceInfo | None] = None


class ReportTrialSourceInfo(Request):
    body: InBody[Reported]


class ReportedAnswer(Message, wire_name="v1ReportTrialSourceInfoResponse"):
    trial_id: int
    checkpoint_uuid: str


class GetTrialMetricsByCheckpoint(Request):
    checkpoint_uuid: InPath[Name]
    metric_group: InQuery[Name] = ""
    """All groups, where it is empty."""
    trial_source_info_type: InQuery[SourceType] = SourceType.UNSPECIFIED
    """Trials that use it for any purpose, where it is left out."""


class MetricsByCheckpointAnswer(Message, wire_name="v1GetTrialMetricsByCheckpointResponse"):
    metrics: tuple[MetricsReport, ...]


class GetTrialMetricsByModelVersion(Request):
    model_name: InPath[Annotated[str, text(255)]]
    model_version_num: InPath[Annotated[int, whole(least=0)]]
    metric_group: InQuery[Name] = ""
    """All groups, where it is empty."""
    trial_source_info_type: InQuery[SourceType] = SourceType.UNSPECIFIED
    """Trials that use it for any purpose, where it is left out."""


class MetricsByModelVersionAnswer(Message, wire_name="v1GetTrialMetricsByModelVersionResponse"):
    metrics: tuple[MetricsReport, ...]
