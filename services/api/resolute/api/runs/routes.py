"""Searching runs and experiments, and the columns of such lists."""

from __future__ import annotations

from collections.abc import Sequence

from resolute.api.call import Call
from resolute.api.experiments.messages import SortExperimentsBy
from resolute.api.experiments.presenting import presented
from resolute.api.experiments.queries import QUERIES as EXPERIMENTS
from resolute.api.experiments.queries import Wanted as WantedExperiments
from resolute.api.kernel.common import Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.routing import SIGNED_IN
from resolute.api.runs.actions import ACTIONS
from resolute.api.runs.column_queries import RUN_COLUMNS, SEARCH_COLUMNS, UNSORTABLE
from resolute.api.runs.filters import Columns, Metadata, check_metrics, conditions_of, parse_filter, parse_sort
from resolute.api.runs.messages import (
    ColumnsAnswer,
    ExperimentsFound,
    FoundExperiment,
    GetMetadataValues,
    GetProjectColumns,
    GetProjectNumericMetricsRange,
    LocationType,
    MetadataValuesAnswer,
    RangesAnswer,
    RunsAnswer,
    SearchExperiments,
    Searching,
    SearchRuns,
    TableType,
)
from resolute.api.runs.queries import QUERIES, RunQueries, Search, SearchRow
from resolute.api.runs.shown import (
    fixed_columns,
    hyperparameter_columns,
    metadata_columns,
    metric_columns,
    ranges_shown,
    run_shown,
)
from resolute.api.trials.messages import Trial
from resolute.api.trials.queries import QUERIES as TRIALS
from resolute.api.trials.shown import shown
from resolute.proto.errors import InvalidConfig

LISTED = 100
"""How many rows a page has where the request does not say it."""
LISTED_MOST = 2_000
"""At most so many, since each has all its metrics and hyperparameters. Clients ask for the pages behind it."""


async def search_runs(call: Call, request: SearchRuns) -> RunsAnswer:
    """The runs that fulfil a filter, in any order, in pages."""
    search = search_of(request.body, RUN_COLUMNS)
    found = await queries_of(call).runs(call.scope, search, _window(request.body))
    return RunsAnswer(runs=tuple(map(run_shown, found.rows)), pagination=Pagination.of(found.page))


async def search_experiments(call: Call, request: SearchExperiments) -> ExperimentsFound:
    """The experiments that fulfil a filter, in any order, in pages, each with its best trial."""
    search = search_of(request.body, SEARCH_COLUMNS)
    _check_no_metadata(search)
    found = await queries_of(call).searches(call.scope, search, _window(request.body))
    experiments = await _experiments(call, found.rows)
    return ExperimentsFound(experiments=experiments, pagination=Pagination.of(found.page))


async def _experiments(call: Call, rows: Sequence[SearchRow]) -> tuple[FoundExperiment, ...]:
    if not rows:
        return ()
    wanted = WantedExperiments(ids=[row.id for row in rows])
    ports = call.gateway.ports
    listed = await ports.of(EXPERIMENTS).experiments(
        call.scope, wanted, SortExperimentsBy.ID, descending=False, window=Window()
    )
    experiments = {row.id: row for row in listed.rows}
    trials = await _best_trials(call, rows)
    return tuple(
        FoundExperiment(experiment=presented(experiments[row.id]), best_trial=trials.get(row.best_trial_id or 0))
        for row in rows
        if row.id in experiments
    )


async def _best_trials(call: Call, rows: Sequence[SearchRow]) -> dict[int, Trial]:
    ids = [row.best_trial_id for row in rows if row.best_trial_id is not None]
    found = await call.gateway.ports.of(TRIALS).trials_of(ids)
    return {trial.id: trial for trial in await shown(call.gateway.measured, found)}


def search_of(asked: Searching, columns: Columns) -> Search:
    """What a request looks for. Raises InvalidConfig, naming the field."""
    wanted = parse_filter(asked.filter, columns)
    orders = parse_sort(asked.sort, columns, UNSORTABLE)
    check_metrics(wanted.filter, orders)
    return Search(wanted, orders, asked.project_id or 0)


def _check_no_metadata(search: Search) -> None:
    named = [*(one.column for one in conditions_of(search.wanted.filter)), *(one.column for one in search.orders)]
    for column in named:
        if isinstance(column, Metadata):
            name = ".".join(("metadata", *column.path))
            raise InvalidConfig(f"filter, sort: {name}: experiments have no metadata; search their runs instead")


EVERYTHING = -1
"""A limit that asks for all there is."""


def _window(asked: Searching) -> Window:
    limit = asked.limit or LISTED
    return Window(asked.offset, LISTED_MOST if limit == EVERYTHING else min(limit, LISTED_MOST))


# ---------------------------------------------------------------- columns


async def get_project_columns(call: Call, request: GetProjectColumns) -> ColumnsAnswer:
    """The columns that lists of the project's searches or runs can have, and be filtered and sorted by."""
    queries, of_runs = queries_of(call), request.table_type is TableType.RUN
    spaces = await queries.hyperparameters(call.scope, request.id)
    fixed, location, of_hyperparameters = (
        (RUN_COLUMNS, LocationType.RUN, LocationType.RUN_HYPERPARAMETERS)
        if of_runs
        else (SEARCH_COLUMNS, LocationType.EXPERIMENT, LocationType.HYPERPARAMETERS)
    )
    columns = [
        *fixed_columns(fixed, location),
        *hyperparameter_columns(spaces, of_hyperparameters),
        *metric_columns(await queries.metric_names(call.scope, request.id)),
    ]
    if of_runs:
        columns.extend(metadata_columns(await queries.metadata(call.scope, request.id)))
    return ColumnsAnswer(columns=tuple(columns))


async def get_metric_ranges(call: Call, request: GetProjectNumericMetricsRange) -> RangesAnswer:
    """Between which values the metrics of the best trials of the project's searches are."""
    queries = queries_of(call)
    ranges = await queries.ranges(call.scope, request.id)
    best = await queries.best_range(call.scope, request.id)
    return RangesAnswer(ranges=tuple(ranges_shown(ranges, best)))


async def get_metadata_values(call: Call, request: GetMetadataValues) -> MetadataValuesAnswer:
    """The texts that runs of the project keep under a key of their metadata."""
    path = request.key.removeprefix("metadata.").split(".")
    return MetadataValuesAnswer(
        values=tuple(await queries_of(call).metadata_values(call.scope, request.project_id, path))
    )


def queries_of(call: Call) -> RunQueries:
    return call.gateway.ports.of(QUERIES)


VIEW = SIGNED_IN.to("experiment.view")

ROUTES = (
    *ACTIONS,
    operation(
        "SearchRuns",
        "POST",
        "/api/v1/runs",
        search_runs,
        VIEW.over_scope(),
        request=SearchRuns,
        response=RunsAnswer,
        tag="Internal",
    ),
    operation(
        "SearchExperiments",
        "POST",
        "/api/v1/experiments-search",
        search_experiments,
        VIEW.over_scope(),
        request=SearchExperiments,
        response=ExperimentsFound,
        tag="Experiments",
    ),
    operation(
        "GetProjectColumns",
        "GET",
        "/api/v1/projects/{id}/columns",
        get_project_columns,
        VIEW.about("project", "id"),
        request=GetProjectColumns,
        response=ColumnsAnswer,
        tag="Projects",
    ),
    operation(
        "GetProjectNumericMetricsRange",
        "GET",
        "/api/v1/projects/{id}/experiments/metric-ranges",
        get_metric_ranges,
        VIEW.about("project", "id"),
        request=GetProjectNumericMetricsRange,
        response=RangesAnswer,
        tag="Projects",
    ),
    operation(
        "GetMetadataValues",
        "GET",
        "/api/v1/projects/{projectId}/metadata/{key}",
        get_metadata_values,
        VIEW.about("project", "projectId"),
        request=GetMetadataValues,
        response=MetadataValuesAnswer,
        tag="Internal",
    ),
)
