"""The messages about experiments that several operations share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import orjson

from resolute.api.kernel.fields import INT64, JsonObject, OrAbsent, StoredObject, WireEnum
from resolute.api.kernel.messages import Message


class ExperimentState(WireEnum, wire_name="experimentv1State"):
    """An active experiment is shown by how far the furthest of its allocations has come, from QUEUED to RUNNING."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    PAUSED = "STATE_PAUSED"
    STOPPING_COMPLETED = "STATE_STOPPING_COMPLETED"
    STOPPING_CANCELED = "STATE_STOPPING_CANCELED"
    STOPPING_ERROR = "STATE_STOPPING_ERROR"
    COMPLETED = "STATE_COMPLETED"
    CANCELED = "STATE_CANCELED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    DELETING = "STATE_DELETING"
    DELETE_FAILED = "STATE_DELETE_FAILED"
    STOPPING_KILLED = "STATE_STOPPING_KILLED"
    QUEUED = "STATE_QUEUED"
    PULLING = "STATE_PULLING"
    """In requests only: no answer of this release has it."""
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"


class Experiment(Message, wire_name="v1Experiment"):
    id: int
    job_id: str
    name: str
    description: str = ""
    notes: str = ""
    labels: tuple[str, ...] = ()
    state: ExperimentState
    archived: bool
    start_time: datetime
    end_time: datetime | None = None
    num_trials: int
    trial_ids: tuple[int, ...] = ()
    """Lists have them only where `showTrialData` asks for them."""
    progress: float | None = None
    """From 0 to 1: the mean progress of all trials that there will be, or what the search itself reports."""
    forked_from: int | None = None
    resource_pool: str = ""
    searcher_type: str
    searcher_metric: str = ""
    hyperparameters: StoredObject = orjson.Fragment("{}")
    config: StoredObject
    """The merged configuration, with all edits and without secrets."""
    original_config: str
    """The YAML as its author wrote it, without secrets."""
    unmanaged: bool = False
    checkpoint_count: int = 0
    checkpoint_size: Annotated[int, INT64] = 0
    """Bytes, of the checkpoints that have files."""
    username: str
    display_name: str = ""
    user_id: int = 0
    project_id: int
    project_name: str = ""
    project_owner_id: int
    workspace_id: int = 0
    workspace_name: str = ""
    parent_archived: bool = False
    """Whether its project or its workspace is archived."""
    best_trial_id: OrAbsent[int] = None
    best_trial_searcher_metric: OrAbsent[float] = None
    duration: OrAbsent[int] = None
    """Seconds from its start to its end."""
    state_reason: OrAbsent[str] = None
    """Not of Determined's wire: other clients ignore it."""
    external_experiment_id: OrAbsent[str] = None
    external_trial_id: OrAbsent[str] = None
    model_definition_size: OrAbsent[int] = None
    """Bytes of the archive."""
    pachyderm_integration: OrAbsent[JsonObject] = None
