"""Runs as answers show them, and the columns that lists of runs and searches can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from resolute.api.experiments.progress import progress_of
from resolute.api.runs.filters import Columns, Kind
from resolute.api.runs.messages import (
    ColumnType,
    FlatRun,
    FlatRunExperiment,
    LocationType,
    MetricsRange,
    ProjectColumn,
)
from resolute.api.runs.queries import MetricName, Range, RunRow
from resolute.api.trials.messages import TrialState

TYPES: Mapping[Kind | None, ColumnType] = {
    Kind.TEXT: ColumnType.TEXT,
    Kind.NUMBER: ColumnType.NUMBER,
    Kind.DATE: ColumnType.DATE,
    Kind.BOOLEAN: ColumnType.UNSPECIFIED,
    None: ColumnType.UNSPECIFIED,
}

GROUPS = {"validation": LocationType.VALIDATIONS, "training": LocationType.TRAINING}


def run_shown(row: RunRow) -> FlatRun:
    return FlatRun(
        id=row.id,
        state=TrialState(f"STATE_{row.phase}"),
        start_time=row.started_at,
        end_time=row.ended_at,
        duration=None if row.ended_at is None else int((row.ended_at - row.started_at).total_seconds()),
        archived=row.archived,
        parent_archived=row.parent_archived,
        project_id=row.project_id,
        project_name=row.project,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace,
        user_id=row.owner_id,
        labels=row.labels,
        hyperparameters=row.hparams,
        summary_metrics=row.metrics,
        searcher_metric_value=row.best_metric,
        checkpoint_count=row.checkpoints,
        checkpoint_size=row.checkpoint_bytes,
        metadata=row.metadata,
        log_policy_matched=row.log_policy_matched,
        experiment=_experiment(row),
    )


def _experiment(row: RunRow) -> FlatRunExperiment:
    progress = progress_of(
        state=row.experiment_state,
        of_search=row.search_progress,
        of_trials=row.reported_progress,
        trials=row.trials,
        max_trials=row.max_trials,
    )
    return FlatRunExperiment(
        id=row.experiment_id,
        name=row.experiment,
        description=row.description,
        searcher_type=row.searcher_type,
        searcher_metric=row.searcher_metric,
        resource_pool=row.resource_pool,
        progress=progress or 0.0,
        is_multitrial=row.trials > 1,
        unmanaged=row.unmanaged,
        external_experiment_id=row.external_id,
        forked_from=row.parent_id,
    )


# ---------------------------------------------------------------- columns


def fixed_columns(columns: Columns, location: LocationType) -> Iterator[ProjectColumn]:
    for name, column in columns.items():
        kind = Kind.TEXT if name == "user" else column.kind  # its values are ids, which lists show as names
        yield ProjectColumn(column=name, location=location, type=TYPES[kind], display_name=_display(name))


def _display(name: str) -> str:
    """`searcherMetricsVal` is `Searcher Metrics Val`."""
    spaced = "".join(f" {one}" if one.isupper() else one for one in name)
    return spaced[0].upper() + spaced[1:]


def metric_columns(names: Sequence[MetricName]) -> Iterator[ProjectColumn]:
    for one in names:
        statistics = ("last", "max", "mean", "min") if one.kind is Kind.NUMBER else ("last",)
        location = GROUPS.get(one.group, LocationType.CUSTOM_METRIC)
        for statistic in statistics:
            yield ProjectColumn(column=f"{one.group}.{one.name}.{statistic}", location=location, type=TYPES[one.kind])


def hyperparameter_columns(spaces: Iterable[Mapping[str, Any]], location: LocationType) -> Iterator[ProjectColumn]:
    return _columns("hp", (leaf for space in spaces for leaf in _axes(space)), location)


def metadata_columns(documents: Iterable[Mapping[str, Any]]) -> Iterator[ProjectColumn]:
    leaves = (leaf for document in documents for leaf in _leaves(document))
    return _columns("metadata", leaves, LocationType.RUN_METADATA)


def _columns(first: str, leaves: Iterable[tuple[str, ColumnType]], location: LocationType) -> Iterator[ProjectColumn]:
    """One for each path; values of several types make its type unspecified."""
    types: dict[str, set[ColumnType]] = {}
    for path, type_ in leaves:
        types.setdefault(path, set()).add(type_)
    for path, found in sorted(types.items()):
        type_ = next(iter(found)) if len(found) == 1 else ColumnType.UNSPECIFIED
        yield ProjectColumn(column=f"{first}.{path}", location=location, type=type_)


def _axes(space: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, ColumnType]]:
    for name, axis in space.items():
        if isinstance(axis, Mapping) and "type" not in axis:
            yield from _axes(axis, f"{within}{name}.")
        else:
            yield f"{within}{name}", _type_of_axis(axis)


def _type_of_axis(axis: Any) -> ColumnType:
    if not isinstance(axis, Mapping):
        return _type_of(axis)
    if axis["type"] in ("int", "double", "log"):
        return ColumnType.NUMBER
    types = {_type_of(value) for value in axis.get("vals", [axis.get("val")])}
    return types.pop() if len(types) == 1 else ColumnType.UNSPECIFIED


def _leaves(document: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, ColumnType]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", _type_of(value)


def _type_of(value: Any) -> ColumnType:
    match value:
        case bool():
            return ColumnType.TEXT
        case int() | float():
            return ColumnType.NUMBER
        case str():
            return ColumnType.TEXT
        case list():
            return ColumnType.ARRAY
    return ColumnType.UNSPECIFIED


def ranges_shown(ranges: Sequence[Range], best: tuple[float, float] | None) -> Iterator[MetricsRange]:
    for one in ranges:
        name = f"{one.group}.{one.name}.{one.statistic}"
        yield MetricsRange(metrics_name=name, min=one.least, max=one.most)
    if best is not None:
        yield MetricsRange(metrics_name="searcherMetricsVal", min=best[0], max=best[1])
