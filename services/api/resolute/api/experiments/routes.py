"""Reading experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolute.api.call import Call
from resolute.api.experiments.actions import ACTIONS
from resolute.api.experiments.changing import CHANGES
from resolute.api.experiments.continuing import SUBMISSIONS
from resolute.api.experiments.filters import kept_states
from resolute.api.experiments.messages import (
    BestMetricAnswer,
    ExperimentAnswer,
    ExperimentsAnswer,
    GetBestSearcherValidationMetric,
    GetExperiment,
    GetExperimentLabels,
    GetExperiments,
    GetExperimentValidationHistory,
    LabelsAnswer,
    ValidationHistoryAnswer,
    ValidationHistoryEntry,
)
from resolute.api.experiments.presenting import experiment_for, outline_of, presented
from resolute.api.experiments.previewing import PREVIEWING
from resolute.api.experiments.queries import QUERIES, ExperimentQueries, IdRange, ValidationRow, Wanted
from resolute.api.kernel.common import OrderBy, Pagination
from resolute.api.kernel.operations import operation
from resolute.api.kernel.paging import Window
from resolute.api.queue.jobs import job_summary
from resolute.api.routing import SIGNED_IN, TASK
from resolute.proto.errors import NotFound

LISTED = 100
"""How many experiments a page has where the request does not say it."""


async def get_experiments(call: Call, request: GetExperiments) -> ExperimentsAnswer:
    """The experiments, by owner, state, label, name and more, in any order, in pages."""
    queries = _queries(call)
    found = await queries.experiments(
        call.scope,
        _wanted(request),
        request.sort_by,
        descending=request.order_by is OrderBy.DESC,
        window=Window(request.offset, request.limit or LISTED),
    )
    trials = await queries.trial_ids([row.id for row in found.rows]) if request.show_trial_data else {}
    experiments = tuple(presented(row, trial_ids=trials.get(row.id, ())) for row in found.rows)
    return ExperimentsAnswer(experiments=experiments, pagination=Pagination.of(found.page))


def _wanted(request: GetExperiments) -> Wanted:
    return Wanted(
        archived=request.archived,
        name_part=request.name,
        description_part=request.description,
        labels=request.labels,
        owner_ids=request.user_ids,
        owners=request.users,
        project_id=request.project_id,
        states=kept_states(request.states),
        ids=request.experiment_id_filter__incl,
        excluded_ids=request.experiment_id_filter__not_in,
        id_range=IdRange(
            above=request.experiment_id_filter__gt,
            least=request.experiment_id_filter__gte,
            below=request.experiment_id_filter__lt,
            most=request.experiment_id_filter__lte,
        ),
    )


async def get_experiment(call: Call, request: GetExperiment) -> ExperimentAnswer:
    """One experiment, and how its job stands in the queue."""
    experiment = await experiment_for(call, request.experiment_id)
    summary = await job_summary(call, experiment.job_id)
    return ExperimentAnswer(experiment=experiment, job_summary=summary, config=experiment.config)


async def get_labels(call: Call, request: GetExperimentLabels) -> LabelsAnswer:
    """Every label in use, the most used first."""
    return LabelsAnswer(labels=tuple(await _queries(call).labels(call.scope, request.project_id)))


async def get_validation_history(call: Call, request: GetExperimentValidationHistory) -> ValidationHistoryAnswer:
    """Every validation that was the best of its experiment so far."""
    experiment = await outline_of(call, request.experiment_id)
    found = await _queries(call).validations(experiment.id)
    best = best_so_far(found, smaller_is_better=experiment.smaller_is_better)
    return ValidationHistoryAnswer(validation_history=tuple(map(_entry, best)))


def best_so_far(validations: Sequence[ValidationRow], *, smaller_is_better: bool) -> Iterator[ValidationRow]:
    """Those that were better than all before them."""
    sign, best = 1 if smaller_is_better else -1, None
    for one in validations:
        if best is None or sign * one.metric < best:
            best = sign * one.metric
            yield one


def _entry(row: ValidationRow) -> ValidationHistoryEntry:
    return ValidationHistoryEntry(trial_id=row.trial_id, end_time=row.reported_at, searcher_metric=row.metric)


async def get_best_metric(call: Call, request: GetBestSearcherValidationMetric) -> BestMetricAnswer:
    """The best of the searcher's metric so far."""
    experiment = await outline_of(call, request.experiment_id)
    if experiment.best_metric is None:
        raise NotFound(f"experiment {experiment.id} has no validation yet")
    return BestMetricAnswer(metric=experiment.best_metric)


def _queries(call: Call) -> ExperimentQueries:
    return call.gateway.ports.of(QUERIES)


VIEW = SIGNED_IN.to("experiment.view")
LIST, VIEW_ONE = VIEW.over_scope(), VIEW.about("experiment", "experimentId")
OWN = VIEW_ONE | TASK

TAG = "Experiments"
ONE = "/api/v1/experiments/{experimentId}"

ROUTES = (
    *SUBMISSIONS,
    *ACTIONS,
    *CHANGES,
    operation(
        "GetExperiments",
        "GET",
        "/api/v1/experiments",
        get_experiments,
        LIST,
        request=GetExperiments,
        response=ExperimentsAnswer,
        tag=TAG,
    ),
    operation(
        "GetExperimentLabels",
        "GET",
        "/api/v1/experiment/labels",
        get_labels,
        LIST,
        request=GetExperimentLabels,
        response=LabelsAnswer,
        tag=TAG,
    ),
    operation(
        "GetExperiment", "GET", ONE, get_experiment, OWN, request=GetExperiment, response=ExperimentAnswer, tag=TAG
    ),
    operation(
        "GetExperimentValidationHistory",
        "GET",
        f"{ONE}/validation-history",
        get_validation_history,
        VIEW_ONE,
        request=GetExperimentValidationHistory,
        response=ValidationHistoryAnswer,
        tag=TAG,
    ),
    operation(
        "GetBestSearcherValidationMetric",
        "GET",
        f"{ONE}/searcher/best_searcher_validation_metric",
        get_best_metric,
        OWN,
        request=GetBestSearcherValidationMetric,
        response=BestMetricAnswer,
        tag="Internal",
    ),
    *PREVIEWING,
)
