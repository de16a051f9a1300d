"""The messages about searching runs and experiments, and about acting on many runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.experiments.messages import Experiment
from resolute.api.kernel.common import Id, Limit, Offset, Pagination
from resolute.api.kernel.fields import INT64, JsonObject, OrAbsent, WireEnum, text
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.trials.messages import Trial, TrialState

FilterText = Annotated[str, text(1_000_000)]
SortText = Annotated[str, text(10_000)]

# ---------------------------------------------------------------- searching


class Searching(Input):
    project_id: Id | None = None
    """Only what is in this project; 0 or null is every project."""
    filter: FilterText | None = None
    """JSON text: see the guide on searching runs."""
    sort: SortText | None = None
    """`searcherMetricsVal=asc,id=desc`: columns and directions."""
    limit: Limit = 0
    offset: Offset = 0


class SearchingRuns(Searching, wire_name="v1SearchRunsRequest"):
    pass


class SearchRuns(Request):
    body: InBody[SearchingRuns]


class FlatRunExperiment(Message, wire_name="v1FlatRunExperiment"):
    """The search that a run is of."""

    id: int
    name: str
    description: str
    searcher_type: str
    searcher_metric: str
    resource_pool: str
    progress: float
    """From 0 to 1."""
    is_multitrial: bool
    unmanaged: bool
    external_experiment_id: OrAbsent[str] = None
    forked_from: OrAbsent[int] = None
    pachyderm_integration: OrAbsent[JsonObject] = None


class FlatRun(Message, wire_name="v1FlatRun"):
    """A run: one training with fixed hyperparameters, the trial of the same id."""

    id: int
    state: TrialState
    start_time: datetime
    end_time: datetime | None = None
    duration: OrAbsent[int] = None
    """Seconds from its start to its end."""
    archived: bool
    parent_archived: bool
    """Whether its search, its project or its workspace is archived."""
    project_id: int
    project_name: str
    workspace_id: int
    workspace_name: str
    user_id: OrAbsent[int] = None
    labels: tuple[str, ...] = ()
    hyperparameters: OrAbsent[JsonObject] = None
    summary_metrics: OrAbsent[JsonObject] = None
    """By group and name of the metric: count, sum, min, max, mean and last."""
    searcher_metric_value: OrAbsent[float] = None
    checkpoint_count: int
    checkpoint_size: Annotated[int, INT64]
    """Bytes, of the checkpoints that have files."""
    metadata: OrAbsent[JsonObject] = None
    log_policy_matched: OrAbsent[str] = None
    external_run_id: OrAbsent[str] = None
    local_id: str = ""
    experiment: OrAbsent[FlatRunExperiment] = None


class RunsAnswer(Message, wire_name="v1SearchRunsResponse"):
    runs: tuple[FlatRun, ...]
    pagination: Pagination


class SearchingExperiments(Searching, wire_name="v1SearchExperimentsRequest"):
    pass


class SearchExperiments(Request):
    body: InBody[SearchingExperiments]


class FoundExperiment(Message, wire_name="v1SearchExperimentExperiment"):
    experiment: Experiment
    best_trial: Trial | None = None
    """By the searcher's metric."""


class ExperimentsFound(Message, wire_name="v1SearchExperimentsResponse"):
    experiments: tuple[FoundExperiment, ...]
    pagination: Pagination


# ---------------------------------------------------------------- columns


class TableType(WireEnum, wire_name="v1TableType"):
    UNSPECIFIED = "TABLE_TYPE_UNSPECIFIED"
    EXPERIMENT = "TABLE_TYPE_EXPERIMENT"
    RUN = "TABLE_TYPE_RUN"


class LocationType(WireEnum, wire_name="v1LocationType"):
    UNSPECIFIED = "LOCATION_TYPE_UNSPECIFIED"
    EXPERIMENT = "LOCATION_TYPE_EXPERIMENT"
    HYPERPARAMETERS = "LOCATION_TYPE_HYPERPARAMETERS"
    VALIDATIONS = "LOCATION_TYPE_VALIDATIONS"
    TRAINING = "LOCATION_TYPE_TRAINING"
    CUSTOM_METRIC = "LOCATION_TYPE_CUSTOM_METRIC"
    RUN = "LOCATION_TYPE_RUN"
    RUN_HYPERPARAMETERS = "LOCATION_TYPE_RUN_HYPERPARAMETERS"
    RUN_METADATA = "LOCATION_TYPE_RUN_METADATA"


class ColumnType(WireEnum, wire_name="v1ColumnType"):
    UNSPECIFIED = "COLUMN_TYPE_UNSPECIFIED"
    TEXT = "COLUMN_TYPE_TEXT"
    NUMBER = "COLUMN_TYPE_NUMBER"
    DATE = "COLUMN_TYPE_DATE"
    ARRAY = "COLUMN_TYPE_ARRAY"


class ProjectColumn(Message, wire_name="v1ProjectColumn"):
    column: str
    location: LocationType
    type: ColumnType
    display_name: str = ""


class GetProjectColumns(Request):
    id: InPath[Id]
    table_type: InQuery[TableType] = TableType.UNSPECIFIED
    """Columns of searches, or of runs; unspecified is searches."""


class ColumnsAnswer(Message, wire_name="v1GetProjectColumnsResponse"):
    columns: tuple[ProjectColumn, ...]


class GetProjectNumericMetricsRange(Request):
    id: InPath[Id]


class MetricsRange(Message, wire_name="v1MetricsRange"):
    metrics_name: str
    min: float
    max: float


class RangesAnswer(Message, wire_name="v1GetProjectNumericMetricsRangeResponse"):
    ranges: tuple[MetricsRange, ...] = ()
    """Of the best trials of the project's searches."""


class GetMetadataValues(Request):
    project_id: InPath[Id]
    key: InPath[Annotated[str, text(1000)]]


class MetadataValuesAnswer(Message, wire_name="v1GetMetadataValuesResponse"):
    values: tuple[str, ...] = ()
    """Texts, each once, in their order: at most 1000."""
