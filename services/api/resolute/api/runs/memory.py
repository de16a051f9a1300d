"""The twin of the queries about runs and searches: the same answers, from rows that are in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.experiments.memory import MemoryExperiments
from resolute.api.experiments.progress import progress_of
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.experiments.queries import ExperimentRow
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut
from resolute.api.runs.filters import Value
from resolute.api.runs.matching import ABSENT, NO_REPORTS, Facts, Summary, at, in_order, matches
from resolute.api.runs.queries import (
    VALUES_MAX,
    MetricName,
    Range,
    RunRow,
    Search,
    SearchRow,
    kind_of,
    shown_group,
)
from resolute.api.scope import Scope
from resolute.api.trials.memory import MemoryTrials
from resolute.api.trials.tables import TRIALS, Trial
from resolute.proto.states import STOPPING, ExperimentState, TrialState, has_files

Metrics = Mapping[tuple[str, str], Summary]
NO_METRICS: Metrics = {}


@dataclass(frozen=True)
class MemoryRuns:
    """`tables`: those of all slices. Texts are compared as the database `C` compares them."""

    tables: CachedRows
    metrics: Mapping[int, Metrics] = field(default_factory=dict)
    """What runs reported, by their ids, and by group and name."""
    progress: Mapping[int, float] = field(default_factory=dict)
    """What runs report of their progress, by their ids."""

    async def runs(self, scope: Scope, search: Search, window: Window) -> Listed[RunRow]:
        found = in_order(await self._found(scope, search), search.orders)
        listed = cut([row.id for row in found], window)
        return Listed([await self._row(one) for one in listed.rows], listed.page)

    async def run_ids(self, scope: Scope, search: Search) -> Sequence[int]:
        return sorted(row.id for row in await self._found(scope, search))

    async def runs_of(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Sequence[RunRow]:
        within = await self._within(scope, project_id)
        return [await self._row(trial.id) for trial, _ in within if trial.id in ids]

    async def searches(self, scope: Scope, search: Search, window: Window) -> Listed[SearchRow]:
        rows = [self._of_search(row) for row in await self._experiments(scope, search.project_id)]
        found = [row for row in rows if _wanted(row, search)]
        best = {row.id: row.best_trial_id for row in await self._experiments(scope, search.project_id)}
        listed = cut(in_order(found, search.orders), window)
        return Listed([SearchRow(row.id, best[row.id]) for row in listed.rows], listed.page)

    async def metric_names(self, scope: Scope, project_id: int) -> Sequence[MetricName]:
        found: dict[tuple[str, str], tuple[bool, bool]] = {}
        for trial, _ in await self._within(scope, project_id):
            for named, summary in self.metrics.get(trial.id, NO_METRICS).items():
                numbers, texts = found.get(named, (False, False))
                found[named] = numbers or summary.last is not None, texts or summary.last_text is not None
        return [MetricName(*named, kind_of(*of_it)) for named, of_it in sorted(found.items())]

    async def hyperparameters(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        rows = await self._experiments(scope, project_id)
        return _different(orjson.loads(row.hyperparameters) for row in rows if row.hyperparameters is not None)

    async def metadata(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        within = await self._within(scope, project_id)
        return _different(trial.metadata for trial, _ in within if trial.metadata is not None)

    async def ranges(self, scope: Scope, project_id: int) -> Sequence[Range]:
        found: dict[tuple[str, str, str], list[float]] = {}
        for row in await self._experiments(scope, project_id):
            for (group, name), summary in self._best_metrics(row).items():
                for statistic in ("last", "max", "mean", "min") if summary.last is not None else ():
                    found.setdefault((group, name, statistic), []).append(getattr(summary, statistic))
        return [Range(*named, min(values), max(values)) for named, values in sorted(found.items())]

    async def best_range(self, scope: Scope, project_id: int) -> tuple[float, float] | None:
        rows = await self._experiments(scope, project_id)
        best = [row.best_metric for row in rows if row.best_metric is not None]
        return (min(best), max(best)) if best else None

    async def metadata_values(self, scope: Scope, project_id: int, path: Sequence[str]) -> Sequence[str]:
        values = (at(trial.metadata, path) for trial, _ in await self._within(scope, project_id))
        return sorted({value for value in values if isinstance(value, str)})[:VALUES_MAX]

    # ------------------------------------------------------------ rows

    @property
    def _searches(self) -> MemoryExperiments:
        return MemoryExperiments(self.tables, self.progress)

    async def _experiments(self, scope: Scope, project_id: int) -> Sequence[ExperimentRow]:
        found = [await self._searches.experiment(row.id) for row in self.tables.all(EXPERIMENTS)]
        return [
            row
            for row in found
            if row is not None and scope.covers(row.workspace_id or None) and project_id in (0, row.project_id)
        ]

    async def _within(self, scope: Scope, project_id: int = 0) -> Sequence[tuple[Trial, ExperimentRow]]:
        experiments = {row.id: row for row in await self._experiments(scope, project_id)}
        trials = sorted(self.tables.all(TRIALS), key=lambda trial: trial.id)
        return [(one, experiments[one.experiment_id]) for one in trials if one.experiment_id in experiments]

    async def _found(self, scope: Scope, search: Search) -> Sequence[Facts]:
        rows = [self._of_run(trial, row) for trial, row in await self._within(scope, search.project_id)]
        return [row for row in rows if _wanted(row, search)]

    def _best_metrics(self, row: ExperimentRow) -> Metrics:
        return NO_METRICS if row.best_trial_id is None else self.metrics.get(row.best_trial_id, NO_METRICS)

    def _of_run(self, trial: Trial, row: ExperimentRow) -> Facts:
        count, size_bytes = self._files(trial.id)
        fixed: dict[str, Value | int | None] = {
            **_shared(row),
            "id": trial.id,
            "state": _state(trial, row),
            "startTime": trial.started_at,
            "endTime": trial.ended_at,
            "duration": _seconds(trial),
            "searcherMetricsVal": trial.best_metric,
            "checkpointCount": count,
            "checkpointSize": size_bytes,
            "experimentId": row.id,
            "experimentName": row.name,
            "experimentDescription": row.description,
            "experimentProgress": _progress(row),
            "externalRunId": None,
            "isExpMultitrial": row.trials > 1,
            "archived": trial.archived or row.archived,
            "parentArchived": row.archived or row.parent_archived,
        }
        reported = self.metrics.get(trial.id, NO_METRICS)
        return Facts(trial.id, fixed, _orders(row), reported, trial.hparams, is_search=False, metadata=trial.metadata)

    def _of_search(self, row: ExperimentRow) -> Facts:
        fixed: dict[str, Value | int | None] = {
            **_shared(row),
            "id": row.id,
            "name": row.name,
            "description": row.description,
            "state": row.state,
            "startTime": row.started_at,
            "endTime": row.ended_at,
            "duration": _seconds(row),
            "searcherMetricsVal": row.best_metric,
            "checkpointCount": row.checkpoints,
            "checkpointSize": row.checkpoint_bytes,
            "numTrials": row.trials,
            "progress": _progress(row),
            "externalTrialId": None,
            "archived": row.archived,
        }
        hyperparameters = ABSENT if row.hyperparameters is None else orjson.loads(row.hyperparameters)
        return Facts(row.id, fixed, _orders(row), self._best_metrics(row), hyperparameters, is_search=True)

    def _files(self, trial_id: int) -> tuple[int, int]:
        found = [one for one in self.tables.all(CHECKPOINTS) if one.trial_id == trial_id and has_files(one.state)]
        return len(found), sum(one.size_bytes for one in found)

    async def _row(self, trial_id: int) -> RunRow:
        trial, shown = self.tables.get(TRIALS, trial_id), await MemoryTrials(self.tables).trial(trial_id)
        assert trial is not None, "it was found"
        assert shown is not None, "it was found"
        row = await self._searches.experiment(trial.experiment_id)
        assert row is not None, "every trial is of an experiment"
        says_progress = row.state == ExperimentState.COMPLETED or row.search_progress is not None
        return RunRow(
            id=trial.id,
            experiment_id=row.id,
            phase=shown.phase,
            started_at=trial.started_at,
            ended_at=trial.ended_at,
            archived=trial.archived or row.archived,
            parent_archived=row.archived or row.parent_archived,
            search_archived=row.archived,
            project_id=row.project_id,
            project=row.project,
            workspace_id=row.workspace_id,
            workspace=row.workspace,
            owner_id=row.owner_id,
            labels=row.labels,
            hparams=trial.hparams,
            metadata=trial.metadata,
            best_metric=trial.best_metric,
            log_policy_matched=trial.log_policy_matched,
            checkpoints=shown.checkpoints,
            checkpoint_bytes=shown.checkpoint_bytes,
            experiment=row.name,
            description=row.description,
            searcher_type=row.searcher_type,
            searcher_metric=row.searcher_metric,
            resource_pool=row.resource_pool,
            experiment_state=row.state,
            search_progress=row.search_progress,
            reported_progress=None if says_progress else row.reported_progress,
            max_trials=row.max_trials,
            trials=row.trials,
            unmanaged=row.unmanaged,
            external_id=row.external_id,
            parent_id=row.parent_id,
            metrics=self._shown_metrics(trial.id),
        )

    def _shown_metrics(self, trial_id: int) -> Mapping[str, Mapping[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for (group, name), summary in sorted(self.metrics.get(trial_id, NO_METRICS).items()):
            shown = {"last": summary.last_text, "type": "string"} if summary.last is None else _numbers(summary)
            found.setdefault(shown_group(group), {})[name] = shown
        return found


def _wanted(row: Facts, search: Search) -> bool:
    return (search.wanted.archived_too or not row.fixed["archived"]) and matches(search.wanted.filter, row)


def _shared(row: ExperimentRow) -> Mapping[str, Value | int | None]:
    return {
        "tags": json.dumps(list(row.labels), ensure_ascii=False) if row.labels else None,
        "user": row.owner_id,
        "searcherType": row.searcher_type,
        "searcherMetric": row.searcher_metric,
        "resourcePool": row.resource_pool,
        "forkedFrom": row.parent_id,
        "projectId": row.project_id,
        "externalExperimentId": row.external_id,
        "parentArchived": row.parent_archived,
    }


def _orders(row: ExperimentRow) -> Mapping[str, Value | int | None]:
    return {"user": row.owner}


def _state(trial: Trial, row: ExperimentRow) -> str:
    paused = row.state in (*STOPPING, ExperimentState.PAUSED)
    return row.state if trial.state == TrialState.ACTIVE and paused else trial.state


def _seconds(row: Trial | ExperimentRow) -> float | None:
    return None if row.ended_at is None else float(int((row.ended_at - row.started_at).total_seconds()))


def _progress(row: ExperimentRow) -> float | None:
    progress = progress_of(
        state=row.state,
        of_search=row.search_progress,
        of_trials=row.reported_progress,
        trials=row.trials,
        max_trials=row.max_trials,
    )
    return None if progress is None else 100 * progress


def _numbers(summary: Summary) -> Mapping[str, Any]:
    return {name: getattr(summary, name) for name in ("min", "max", "mean", "last")} | {"type": "number"}


def _different(documents: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    key: Callable[[Mapping[str, Any]], bytes] = lambda one: orjson.dumps(one, option=orjson.OPT_SORT_KEYS)  # noqa: E731
    by_text = {key(one): one for one in documents}
    return [by_text[text] for text in sorted(by_text)]


__all__ = ["NO_REPORTS", "MemoryRuns", "Summary"]
