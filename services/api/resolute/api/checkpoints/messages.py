"""The messages about checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import (
    INT64,
    Instant,
    JsonObject,
    Needed,
    OrAbsent,
    StoredObject,
    WireEnum,
    items,
    number,
    text,
)
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.metrics.measured import GivenMetrics, Metrics

FileSizes = Annotated[Mapping[str, Annotated[int, INT64]], items(100_000)]
"""Bytes, by the path of the file within the checkpoint."""

NO_FILES: Mapping[str, int] = {}

Uuids = Annotated[tuple[Name, ...], items(10_000)]

Globs = Annotated[tuple[Annotated[str, text(4096)], ...], items(1000)]


# ---------------------------------------------------------------- what answers show


class CheckpointState(WireEnum, wire_name="checkpointv1State"):
    """How far the checkpoint is written or deleted. Until its last byte is stored, it is ACTIVE."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"


class TrainingMetadata(Message, wire_name="v1CheckpointTrainingMetadata"):
    """The trial that wrote the checkpoint, and what was measured after the same number of batches."""

    trial_id: Id = 0
    experiment_id: Id = 0
    experiment_config: StoredObject | None
    """The merged configuration, without secrets."""
    hparams: JsonObject | None
    training_metrics: Metrics | None
    validation_metrics: Metrics | None
    searcher_metric: OrAbsent[float] = None


class Checkpoint(Message, wire_name="v1Checkpoint"):
    uuid: Name
    task_id: Name = ""
    allocation_id: Name = ""
    report_time: datetime | None
    """When it was announced, or completed."""
    resources: FileSizes
    metadata: JsonObject
    """It always has `steps_completed`: clients take an empty one for a checkpoint that does not exist."""
    state: CheckpointState
    training: TrainingMetadata
    storage_id: Id = 0
    """A number for the place where the files are: the same for all checkpoints that are stored there."""


# ---------------------------------------------------------------- lists, and one checkpoint


class SortCheckpointsBy(WireEnum, wire_name="checkpointv1SortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    UUID = "SORT_BY_UUID"
    TRIAL_ID = "SORT_BY_TRIAL_ID"
    BATCH_NUMBER = "SORT_BY_BATCH_NUMBER"
    END_TIME = "SORT_BY_END_TIME"
    """When it was announced, or completed."""
    STATE = "SORT_BY_STATE"
    SEARCHER_METRIC = "SORT_BY_SEARCHER_METRIC"
    """The best first, whether smaller values are better or larger ones."""


States = Annotated[tuple[CheckpointState, ...], items(100_000)]


class GetExperimentCheckpoints(Request):
    id: InPath[Id]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by_attr: InQuery[SortCheckpointsBy] = SortCheckpointsBy.UNSPECIFIED
    sort_by_metric: InQuery[Name] = ""
    """A validation metric; it counts where `sortByAttr` is left out."""
    states: InQuery[States] = ()


class ExperimentCheckpointsAnswer(Message, wire_name="v1GetExperimentCheckpointsResponse"):
    checkpoints: tuple[Checkpoint, ...]
    pagination: Pagination


class GetTrialCheckpoints(GetExperimentCheckpoints):
    """As for an experiment; the id is the trial's."""


class TrialCheckpointsAnswer(ExperimentCheckpointsAnswer, wire_name="v1GetTrialCheckpointsResponse"):
    pass


class GetCheckpoint(Request):
    checkpoint_uuid: InPath[Name]


class CheckpointAnswer(Message, wire_name="v1GetCheckpointResponse"):
    checkpoint: Checkpoint


class DownloadCheckpoint(Request):
    checkpoint_uuid: InPath[Name]


# ---------------------------------------------------------------- changes


class GivenTrainingMetadata(Input, wire_name="v1CheckpointTrainingMetadata"):
    trial_id: Id = 0
    experiment_id: Id = 0
    experiment_config: JsonObject | None = None
    hparams: JsonObject | None = None
    training_metrics: GivenMetrics | None = None
    validation_metrics: GivenMetrics | None = None
    searcher_metric: OrAbsent[Annotated[float, number()]] = None


class GivenCheckpoint(Input, wire_name="v1Checkpoint"):
    uuid: Needed[Name] = ""
    task_id: Name = ""
    allocation_id: Name = ""
    report_time: Instant = None
    resources: Needed[FileSizes] = NO_FILES
    metadata: Needed[JsonObject | None] = None
    state: Needed[CheckpointState] = CheckpointState.UNSPECIFIED
    training: Needed[GivenTrainingMetadata | None] = None
    storage_id: Id = 0


class NewMetadata(Input, wire_name="v1PostCheckpointMetadataRequest"):
    checkpoint: GivenCheckpoint | None = None
    """Its metadata replace what is there; everything else is ignored."""


class PostCheckpointMetadata(Request):
    checkpoint_uuid: InPath[Name]
    body: InBody[NewMetadata]


class NewMetadataAnswer(Message, wire_name="v1PostCheckpointMetadataResponse"):
    checkpoint: Checkpoint | None


class CheckpointsToDelete(Input, wire_name="v1DeleteCheckpointsRequest"):
    checkpoint_uuids: Needed[Uuids] = ()


class DeleteCheckpoints(Request):
    body: InBody[CheckpointsToDelete]


class FilesToRemove(Input, wire_name="v1CheckpointsRemoveFilesRequest"):
    checkpoint_uuids: Needed[Uuids] = ()
    checkpoint_globs: Globs = ()
    """Which files: `events.*`, `**/*`. Without any, the cluster looks which files there are."""


class CheckpointsRemoveFiles(Request):
    body: InBody[FilesToRemove]


# ---------------------------------------------------------------- what tasks report


class ReportCheckpoint(Request):
    body: InBody[GivenCheckpoint]


class FilesLeft(Input, wire_name="PatchCheckpointOptionalResources"):
    resources: FileSizes = NO_FILES


class CheckpointPatch(Input, wire_name="v1PatchCheckpoint"):
    uuid: Needed[Name] = ""
    resources: FilesLeft | None = None
    """The files that the task has left of it."""


class CheckpointPatches(Input, wire_name="v1PatchCheckpointsRequest"):
    checkpoints: Needed[Annotated[tuple[CheckpointPatch, ...], items(10_000)]] = ()


class PatchCheckpoints(Request):
    body: InBody[CheckpointPatches]
