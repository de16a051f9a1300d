"""The twin of the queries about checkpoints: the same answers, from rows and reports that are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from resolute.api.checkpoints.messages import SortCheckpointsBy
from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.checkpoints.queries import CheckpointRow, Order, StoredRow, Wanted
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.trials.tables import TRIALS, VALIDATIONS
from resolute.api.workspaces.projection import PROJECTS
from resolute.proto.states import CheckpointState


@dataclass(frozen=True, slots=True)
class Report:
    """The metrics that a run reported after so many batches."""

    trial_id: int
    run_id: int
    kind: str
    steps: int
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class MemoryCheckpoints:
    """`tables`: those of checkpoints, trials, experiments and workspaces. Texts are compared as the database `C`
    compares them."""

    tables: CachedRows
    reports: Sequence[Report] = ()

    async def checkpoints(self, scope: Scope, wanted: Wanted, order: Order, window: Window) -> Listed[CheckpointRow]:
        kept = (row for row in self.tables.all(CHECKPOINTS) if _fulfils(row, wanted))
        within = [self._shown(row) for row in kept if self._lies_within(scope, row.experiment_id)]
        return cut(ordered(within, self._column(order), lambda row: row.uuid, descending=order.descending), window)

    async def checkpoint(self, uuid: str) -> CheckpointRow | None:
        row = self.tables.get(CHECKPOINTS, uuid)
        return None if row is None else self._shown(row)

    async def several(self, uuids: Sequence[str]) -> Sequence[CheckpointRow]:
        found = [self._shown(row) for row in self.tables.all(CHECKPOINTS) if row.uuid in uuids]
        return sorted(found, key=lambda row: (row.trial_id, row.steps_completed, row.uuid))

    async def stored(self, uuid: str) -> StoredRow | None:
        row = self.tables.get(CHECKPOINTS, uuid)
        return None if row is None else StoredRow(CheckpointState(row.state), row.storage or {})

    async def has_experiment(self, experiment_id: int) -> bool:
        return self.tables.get(EXPERIMENTS, experiment_id) is not None

    async def has_trial(self, trial_id: int) -> bool:
        return self.tables.get(TRIALS, trial_id) is not None

    def _lies_within(self, scope: Scope, experiment_id: int) -> bool:
        experiment = self.tables.get(EXPERIMENTS, experiment_id)
        project = None if experiment is None else self.tables.get(PROJECTS, experiment.project_id)
        return scope.covers(None if project is None else project.workspace_id)

    def _column(self, order: Order) -> Any:
        if order.by is SortCheckpointsBy.SEARCHER_METRIC:
            return self._rank
        if (name := FIELDS.get(order.by)) is not None:
            return lambda row: getattr(row, name)
        if order.metric:
            return lambda row: self._measured(row, order.metric)
        return lambda row: row.trial_id

    def _rank(self, row: CheckpointRow) -> float | None:
        """The smaller, the better."""
        experiment = self.tables.get(EXPERIMENTS, row.experiment_id)
        smaller_is_better = experiment is not None and experiment.smaller_is_better
        return row.metric if row.metric is None or smaller_is_better else -row.metric

    def _measured(self, row: CheckpointRow, metric: str) -> float | None:
        """The metric of the latest run that reported it as a number."""
        values = [
            report.metrics.get(metric) for report in self._reports(row.trial_id, row.steps_completed, "validation")
        ]
        return next((value for value in values if isinstance(value, int | float) and not isinstance(value, bool)), None)

    def _reports(self, trial_id: int, steps: int, kind: str) -> list[Report]:
        """The latest run's first."""
        found = [one for one in self.reports if (one.trial_id, one.steps, one.kind) == (trial_id, steps, kind)]
        return sorted(found, key=lambda report: report.run_id, reverse=True)

    def _latest(self, trial_id: int, steps: int, kind: str) -> Mapping[str, Any] | None:
        return next((report.metrics for report in self._reports(trial_id, steps, kind)), None)

    def _shown(self, row: Checkpoint) -> CheckpointRow:
        trial, place = self.tables.get(TRIALS, row.trial_id), (row.trial_id, row.steps_completed)
        config, validation = self.tables.get(CONFIGS, row.experiment_id), self.tables.get(VALIDATIONS, *place)
        return CheckpointRow(
            uuid=row.uuid,
            experiment_id=row.experiment_id,
            trial_id=row.trial_id,
            task_id=row.task_id,
            allocation_id=row.allocation_id,
            steps_completed=row.steps_completed,
            state=CheckpointState(row.state),
            storage=row.storage or {},
            resources=row.resources or {},
            metadata=row.metadata or {},
            reported_at=row.reported_at,
            hparams=None if trial is None else trial.hparams,
            config=None if config is None else orjson.dumps(config.config).decode(),
            metric=None if validation is None else validation.metric,
            training=self._latest(*place, "training"),
            validation=self._latest(*place, "validation"),
        )


FIELDS = {
    SortCheckpointsBy.UUID: "uuid",
    SortCheckpointsBy.TRIAL_ID: "trial_id",
    SortCheckpointsBy.BATCH_NUMBER: "steps_completed",
    SortCheckpointsBy.END_TIME: "reported_at",
    SortCheckpointsBy.STATE: "state",
}


def _fulfils(row: Checkpoint, wanted: Wanted) -> bool:
    return (
        wanted.experiment_id in (None, row.experiment_id)
        and wanted.trial_id in (None, row.trial_id)
        and (not wanted.states or row.state in wanted.states)
    )
