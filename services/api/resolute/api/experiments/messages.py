"""The messages about experiments, and those of the operations that read them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import orjson

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import INT64, Flag, JsonObject, OrAbsent, StoredObject, WireEnum, items, whole
from resolute.api.kernel.messages import InPath, InQuery, Message, Request
from resolute.api.queue.messages import JobSummary
from resolute.api.wire import camel


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


# ---------------------------------------------------------------- lists, and one of them


class SortExperimentsBy(WireEnum, wire_name="v1GetExperimentsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    DESCRIPTION = "SORT_BY_DESCRIPTION"
    START_TIME = "SORT_BY_START_TIME"
    END_TIME = "SORT_BY_END_TIME"
    STATE = "SORT_BY_STATE"
    NUM_TRIALS = "SORT_BY_NUM_TRIALS"
    PROGRESS = "SORT_BY_PROGRESS"
    USER = "SORT_BY_USER"
    NAME = "SORT_BY_NAME"
    FORKED_FROM = "SORT_BY_FORKED_FROM"
    RESOURCE_POOL = "SORT_BY_RESOURCE_POOL"
    PROJECT_ID = "SORT_BY_PROJECT_ID"
    CHECKPOINT_SIZE = "SORT_BY_CHECKPOINT_SIZE"
    CHECKPOINT_COUNT = "SORT_BY_CHECKPOINT_COUNT"
    SEARCHER_METRIC_VAL = "SORT_BY_SEARCHER_METRIC_VAL"


def _dotted(field: str) -> str:
    """Of a parameter that filters by a part of something: `experiment_id_filter__gt` is `experimentIdFilter.gt`."""
    return ".".join(map(camel, field.split("__")))


Labels = Annotated[tuple[Name, ...], items(100)]
ExperimentIds = Annotated[tuple[Annotated[int, whole()], ...], items(1000)]


class GetExperiments(Request, alias_generator=_dotted):
    archived: InQuery[Flag | None] = None
    description: InQuery[Name] = ""
    """A part of the description, in any case of letters."""
    experiment_id_filter__gt: InQuery[Annotated[int, whole()] | None] = None
    experiment_id_filter__gte: InQuery[Annotated[int, whole()] | None] = None
    experiment_id_filter__incl: InQuery[ExperimentIds] = ()
    """Only these."""
    experiment_id_filter__lt: InQuery[Annotated[int, whole()] | None] = None
    experiment_id_filter__lte: InQuery[Annotated[int, whole()] | None] = None
    experiment_id_filter__not_in: InQuery[ExperimentIds] = ()
    """All but these."""
    labels: InQuery[Labels] = ()
    """All of which an experiment has."""
    limit: InQuery[Limit] = 0
    name: InQuery[Name] = ""
    """A part of the name, in any case of letters."""
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    project_id: InQuery[Id] = 0
    show_trial_data: InQuery[Flag | None] = None
    """Whether experiments are shown with the numbers of their trials."""
    sort_by: InQuery[SortExperimentsBy] = SortExperimentsBy.UNSPECIFIED
    states: InQuery[Annotated[tuple[ExperimentState, ...], items(100_000)]] = ()
    user_ids: InQuery[Annotated[tuple[Annotated[int, whole(least=1)], ...], items(1000)]] = ()
    """Of the owners."""
    users: InQuery[Annotated[tuple[Name, ...], items(1000)]] = ()
    """The owners' names."""


class ExperimentsAnswer(Message, wire_name="v1GetExperimentsResponse"):
    experiments: tuple[Experiment, ...]
    pagination: Pagination


class GetExperiment(Request):
    experiment_id: InPath[Id]


class ExperimentAnswer(Message, wire_name="v1GetExperimentResponse"):
    experiment: Experiment
    job_summary: JobSummary | None = None
    """How its job stands in the queue; null when the job asks for nothing now."""
    config: StoredObject = orjson.Fragment("{}")


class GetExperimentLabels(Request):
    project_id: InQuery[Id] = 0


class LabelsAnswer(Message, wire_name="v1GetExperimentLabelsResponse"):
    labels: tuple[str, ...] = ()


# ---------------------------------------------------------------- what its validations came to


class GetExperimentValidationHistory(Request):
    experiment_id: InPath[Id]


class ValidationHistoryEntry(Message, wire_name="v1ValidationHistoryEntry"):
    trial_id: int
    end_time: datetime
    searcher_metric: float


class ValidationHistoryAnswer(Message, wire_name="v1GetExperimentValidationHistoryResponse"):
    validation_history: tuple[ValidationHistoryEntry, ...] = ()


class GetBestSearcherValidationMetric(Request):
    experiment_id: InPath[Id]


class BestMetricAnswer(Message, wire_name="v1GetBestSearcherValidationMetricResponse"):
    metric: float | None = None
