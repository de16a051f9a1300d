"""The messages about trials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from resolute.api.checkpoints.messages import CheckpointState
from resolute.api.experiments.messages import ExperimentState
from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import INT64, Flag, JsonObject, Needed, OrAbsent, WireEnum, items, number
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.metrics.measured import Metrics

NO_METADATA: Mapping[str, Any] = {}


# ---------------------------------------------------------------- what answers show


class TrialState(WireEnum, wire_name="trialv1State"):
    """An active trial is shown by how far its allocation has come, from QUEUED to RUNNING."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    CANCELED = "STATE_CANCELED"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    """No answer of this release has it."""
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class MetricsWorkload(Message, wire_name="v1MetricsWorkload"):
    """What a trial reported after training, or of a validation."""

    metrics: Metrics
    num_inputs: Needed[int] = 0
    """Always 0: trials do not report it."""
    total_batches: int
    """The batches that the trial had trained by then."""
    end_time: datetime | None = None


class CheckpointWorkload(Message, wire_name="v1CheckpointWorkload"):
    """The short form of a checkpoint, among the workloads of its trial."""

    uuid: str = ""
    state: CheckpointState
    total_batches: int
    end_time: datetime | None = None
    resources: Mapping[str, Annotated[int, INT64]] = {}
    """Bytes, by the path of the file within the checkpoint."""
    metadata: JsonObject = NO_METADATA


class Trial(Message, wire_name="trialv1Trial"):
    id: int
    experiment_id: int
    start_time: datetime
    end_time: datetime | None = None
    state: TrialState
    restarts: int
    hparams: JsonObject
    total_batches_processed: int
    best_validation: MetricsWorkload | None = None
    """By the searcher's metric."""
    latest_validation: MetricsWorkload | None = None
    best_checkpoint: CheckpointWorkload | None = None
    """Of the checkpoints that have all their files, the one whose validation is the best."""
    runner_state: str = ""
    wall_clock_time: float = 0.0
    """Seconds in which its runs that have ended trained."""
    warm_start_checkpoint_uuid: str = ""
    task_id: str = ""
    task_ids: tuple[str, ...] = ()
    total_checkpoint_size: Annotated[int, INT64] = 0
    """Bytes, of the checkpoints that have files."""
    checkpoint_count: int = 0
    summary_metrics: JsonObject | None = None
    """By group and name of the metric: count, sum, min, max, mean and last. Lists leave it null."""
    searcher_metric_value: OrAbsent[float] = None
    state_reason: OrAbsent[str] = None
    """Not of Determined's wire: other clients ignore it."""
    log_retention_days: OrAbsent[int] = None
    """The trial's own setting, or else the experiment's."""
    logs_removed_at: OrAbsent[datetime] = None
    """Not of Determined's wire."""
    log_policy_matched: OrAbsent[str] = None
    metadata: OrAbsent[JsonObject] = None


# ---------------------------------------------------------------- reading and ending trials


class SortTrialsBy(WireEnum, wire_name="v1GetExperimentTrialsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    BEST_VALIDATION_METRIC = "SORT_BY_BEST_VALIDATION_METRIC"
    LATEST_VALIDATION_METRIC = "SORT_BY_LATEST_VALIDATION_METRIC"
    BATCHES_PROCESSED = "SORT_BY_BATCHES_PROCESSED"
    DURATION = "SORT_BY_DURATION"
    RESTARTS = "SORT_BY_RESTARTS"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    LOG_RETENTION_DAYS = "SORT_BY_LOG_RETENTION_DAYS"


class GetExperimentTrials(Request):
    experiment_id: InPath[Id]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortTrialsBy] = SortTrialsBy.UNSPECIFIED
    states: InQuery[Annotated[tuple[ExperimentState, ...], items(100_000)]] = ()
    """ACTIVE also means QUEUED, STARTING and RUNNING."""


class TrialsAnswer(Message, wire_name="v1GetExperimentTrialsResponse"):
    trials: tuple[Trial, ...]
    pagination: Pagination


class GetTrial(Request):
    trial_id: InPath[Id]


class TrialAnswer(Message, wire_name="v1GetTrialResponse"):
    trial: Trial


class KillTrial(Request):
    id: InPath[Id]


# ---------------------------------------------------------------- what a running trial reports


class ProgressReport(Input, wire_name="v1ReportTrialProgressRequest"):
    progress: Needed[Annotated[float, number(least=0, most=1)] | None] = 0.0
    """Null is refused, although a missing one means 0."""
    trial_id: Needed[Id] = 0
    """The trial in the path counts."""
    is_raw: Flag = False
    """Ignored: progress is always a share of the whole."""


class ReportTrialProgress(Request):
    trial_id: InPath[Id]
    body: InBody[ProgressReport]


class RunnerMetadata(Input, wire_name="v1TrialRunnerMetadata"):
    state: Needed[Name] = ""
    """What the trial does now, in the harness's words."""


class PostTrialRunnerMetadata(Request):
    trial_id: InPath[Id]
    body: InBody[RunnerMetadata]


class EarlyExitReason(WireEnum, wire_name="v1TrialEarlyExitExitedReason"):
    UNSPECIFIED = "EXITED_REASON_UNSPECIFIED"
    INVALID_HP = "EXITED_REASON_INVALID_HP"
    INIT_INVALID_HP = "EXITED_REASON_INIT_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"
    MISCONFIGURED = "EXITED_REASON_MISCONFIGURED"


class EarlyExitReport(Input, wire_name="v1TrialEarlyExit"):
    reason: Needed[EarlyExitReason] = EarlyExitReason.UNSPECIFIED


class ReportTrialSearcherEarlyExit(Request):
    trial_id: InPath[Id]
    body: InBody[EarlyExitReport]


class RunStart(Input, wire_name="v1RunPrepareForReportingRequest"):
    run_id: Needed[Id] = 0
    """The id of the trial."""
    checkpoint_storage: JsonObject | None = None
    """Ignored: the configuration of the experiment says where checkpoints are stored."""


class RunPrepareForReporting(Request):
    body: InBody[RunStart]


class RunStartAnswer(Message, wire_name="v1RunPrepareForReportingResponse"):
    storage_id: OrAbsent[int] = None
    """Always left out."""


# ---------------------------------------------------------------- metadata


class GetRunMetadata(Request):
    run_id: InPath[Id]
    """The id of the trial."""


class RunMetadataAnswer(Message, wire_name="v1GetRunMetadataResponse"):
    metadata: JsonObject = NO_METADATA


class NewRunMetadata(Input, wire_name="v1PostRunMetadataRequest"):
    metadata: Needed[JsonObject | None] = None
    """What takes the place of all metadata before."""
    run_id: Id = 0
    """The trial in the path counts."""


class PostRunMetadata(Request):
    run_id: InPath[Id]
    body: InBody[NewRunMetadata]


class NewRunMetadataAnswer(RunMetadataAnswer, wire_name="v1PostRunMetadataResponse"):
    pass
