"""The messages about trials."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from resolute.api.checkpoints.messages import CheckpointState
from resolute.api.kernel.fields import INT64, JsonObject, Needed, OrAbsent, WireEnum
from resolute.api.kernel.messages import Message
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
