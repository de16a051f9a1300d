"""The twin of the queries about trials: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, Phase
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.messages import SortTrialsBy
from resolute.api.trials.queries import CheckpointRow, OutsideRow, TrialRow
from resolute.api.trials.tables import RUNS, TRIALS, VALIDATIONS, Run, Trial
from resolute.api.workspaces.projection import PROJECTS
from resolute.proto.states import STOPPING, CheckpointState, ExperimentState, TrialState, has_files


@dataclass(frozen=True, slots=True)
class MemoryTrials:
    """`tables`: those of all slices. Texts are compared as the database `C` compares them."""

    tables: CachedRows
    batches: Mapping[int, int] = field(default_factory=dict)
    """The last step that trials reported metrics of, by the id of the trial."""

    async def trials(
        self,
        scope: Scope,
        experiment_id: int,
        phases: Collection[str],
        by: SortTrialsBy,
        *,
        descending: bool,
        window: Window,
    ) -> Listed[TrialRow]:
        within = self.tables.where(TRIALS, "experiment_id", experiment_id) if self._covers(scope, experiment_id) else []
        found = [row for row in map(self._row, within) if not phases or row.phase in phases]
        column = self._column(by)
        return cut(ordered(found, column, lambda row: row.id, descending=descending), window)

    async def trial(self, trial_id: int) -> TrialRow | None:
        trial = self.tables.get(TRIALS, trial_id)
        return None if trial is None else self._row(trial)

    async def trials_of(self, ids: Sequence[int]) -> Sequence[TrialRow]:
        return [self._row(trial) for one in sorted(set(ids)) if (trial := self.tables.get(TRIALS, one))]

    async def experiment_of(self, trial_id: int) -> int | None:
        trial = self.tables.get(TRIALS, trial_id)
        return None if trial is None else trial.experiment_id

    async def metadata(self, trial_id: int) -> Mapping[str, Any] | None:
        trial = self.tables.get(TRIALS, trial_id)
        return None if trial is None else trial.metadata

    async def running_outside(self, beyond: int, most: int) -> Sequence[OutsideRow]:
        found = [row for trial in self.tables.all(TRIALS) if trial.id > beyond and (row := self._outside(trial))]
        return sorted(found, key=lambda row: row.trial_id)[:most]

    async def trial_outside(self, scope: Scope, experiment: str, trial: str) -> int | None:
        within = {
            one.id
            for one in self.tables.all(EXPERIMENTS)
            if one.unmanaged and one.external_id == experiment and self._covers(scope, one.id)
        }
        found = [one for one in self.tables.all(TRIALS) if one.experiment_id in within and one.request_id == trial]
        return max(found, key=lambda one: one.experiment_id).id if found else None

    def _outside(self, trial: Trial) -> OutsideRow | None:
        experiment = self.tables.get(EXPERIMENTS, trial.experiment_id)
        run = self.tables.get(RUNS, trial.id, trial.run_id)
        if experiment is None or not experiment.unmanaged or experiment.state != ExperimentState.ACTIVE:
            return None
        if run is None or run.started_at is None or not _runs(run):
            return None
        return OutsideRow(trial.id, trial.experiment_id, trial.run_id, run.started_at)

    def _covers(self, scope: Scope, experiment_id: int) -> bool:
        experiment = self.tables.get(EXPERIMENTS, experiment_id)
        project = None if experiment is None else self.tables.get(PROJECTS, experiment.project_id)
        return experiment is not None and scope.covers(None if project is None else project.workspace_id)

    def _column(self, by: SortTrialsBy) -> Callable[[TrialRow], Any]:
        if by is SortTrialsBy.BATCHES_PROCESSED:
            return lambda row: self.batches.get(row.id)
        if by is SortTrialsBy.LATEST_VALIDATION_METRIC:
            return lambda row: self._trial(row.id).latest_metric
        return COLUMNS.get(by, lambda row: row.id)

    def _trial(self, trial_id: int) -> Trial:
        trial = self.tables.get(TRIALS, trial_id)
        assert trial is not None, "its row was made of it"
        return trial

    def _row(self, trial: Trial) -> TrialRow:
        experiment = self.tables.get(EXPERIMENTS, trial.experiment_id)
        assert experiment is not None, "every trial is of an experiment"
        checkpoints = [one for one in self.tables.all(CHECKPOINTS) if one.trial_id == trial.id]
        with_files = [one for one in checkpoints if has_files(one.state)]
        own = trial.log_retention_days
        return TrialRow(
            id=trial.id,
            experiment_id=trial.experiment_id,
            task_id=trial.task_id,
            phase=self._phase(trial, experiment),
            reason=trial.reason,
            started_at=trial.started_at,
            ended_at=trial.ended_at,
            restarts=trial.restarts,
            hparams=trial.hparams,
            warm_start=trial.warm_start or "",
            searcher_metric=experiment.searcher_metric,
            smaller_is_better=experiment.smaller_is_better,
            best_metric=trial.best_metric,
            best_checkpoint=self._best(checkpoints, experiment.smaller_is_better),
            checkpoints=len(with_files),
            checkpoint_bytes=sum(one.size_bytes for one in with_files),
            wall_s=sum(map(_ran_s, self.tables.where(RUNS, "trial_id", trial.id)), 0.0),
            log_retention_days=experiment.log_retention_days if own is None else own,
            logs_removed_at=trial.logs_removed_at,
            log_policy_matched=trial.log_policy_matched,
            metadata=trial.metadata,
        )

    def _phase(self, trial: Trial, experiment: Experiment) -> str:
        if trial.state != TrialState.ACTIVE:
            return trial.state
        if experiment.state in (*STOPPING, ExperimentState.PAUSED):
            return experiment.state
        run = self.tables.get(RUNS, trial.id, trial.run_id)
        if experiment.unmanaged:
            return Phase.RUNNING if _runs(run) else TrialState.PAUSED
        if (phase := self._phase_of_allocation(run)) is not None:
            return phase
        waits = trial.target_reached and run is not None and run.ended_at is not None
        return TrialState.PAUSED if waits else Phase.QUEUED

    def _phase_of_allocation(self, run: Run | None) -> str | None:
        allocation = None if run is None else self.tables.get(ALLOCATIONS, run.allocation_id)
        return None if allocation is None or allocation.ended_at is not None else PHASES.get(allocation.state)

    def _best(self, checkpoints: Collection[Checkpoint], smaller_is_better: bool) -> CheckpointRow | None:
        def rank(one: Checkpoint) -> tuple[bool, float, int, str]:
            validation = self.tables.get(VALIDATIONS, one.trial_id, one.steps_completed)
            metric = None if validation is None else validation.metric
            signed = 0.0 if metric is None else metric if smaller_is_better else -metric
            return (metric is None, signed, -one.steps_completed, one.uuid)

        complete = [one for one in checkpoints if one.state == CheckpointState.COMPLETED]
        best = min(complete, key=rank, default=None)
        if best is None:
            return None
        return CheckpointRow(best.uuid, best.steps_completed, best.resources, best.metadata, best.reported_at)


PHASES: Mapping[str, str] = {
    AllocationState.RUNNING: Phase.RUNNING,
    AllocationState.ASSIGNED: Phase.STARTING,
    AllocationState.TERMINATING: TrialState.STOPPING_CANCELED,
}
"""How an active trial is shown, by the state of its allocation."""

COLUMNS: Mapping[SortTrialsBy, Callable[[TrialRow], Any]] = {
    SortTrialsBy.START_TIME: lambda row: row.started_at,
    SortTrialsBy.END_TIME: lambda row: row.ended_at,
    SortTrialsBy.STATE: lambda row: row.phase,
    SortTrialsBy.BEST_VALIDATION_METRIC: lambda row: row.best_metric,
    SortTrialsBy.DURATION: lambda row: None if row.ended_at is None else row.ended_at - row.started_at,
    SortTrialsBy.RESTARTS: lambda row: row.restarts,
    SortTrialsBy.CHECKPOINT_SIZE: lambda row: row.checkpoint_bytes,
    SortTrialsBy.LOG_RETENTION_DAYS: lambda row: row.log_retention_days,
}


def _runs(run: Run | None) -> bool:
    return run is not None and run.started_at is not None and run.ended_at is None


def _ran_s(run: Run) -> float:
    if run.ended_at is None or run.started_at is None:
        return 0.0
    return (run.ended_at - run.started_at).total_seconds()
