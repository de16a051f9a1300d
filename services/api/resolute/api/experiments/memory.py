"""The twin of the queries about experiments: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import orjson

from resolute.api.checkpoints.projection import CHECKPOINTS, Checkpoint
from resolute.api.experiments.messages import SortExperimentsBy
from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment
from resolute.api.experiments.queries import ExperimentRow, Outline, ValidationRow, Wanted
from resolute.api.identity.projection import USERS, User
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, Phase
from resolute.api.tasks.tables import ALLOCATIONS
from resolute.api.trials.tables import STANDINGS, TRIALS, VALIDATIONS
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES, Project, Workspace
from resolute.proto.states import ExperimentState, has_files


@dataclass(frozen=True)
class MemoryExperiments:
    """`tables`: those of all slices. Texts are compared as the database `C` compares them."""

    tables: CachedRows
    progress: Mapping[int, float] = field(default_factory=dict)
    """What trials report, by their numbers."""
    blobs: Mapping[str, int] = field(default_factory=dict)
    """The bytes of what is stored, by its address."""

    async def experiments(
        self, scope: Scope, wanted: Wanted, by: SortExperimentsBy, *, descending: bool, window: Window
    ) -> Listed[ExperimentRow]:
        found = [self._row(row) for row in self._within(scope) if _fulfils(row, self._owner(row), wanted)]
        column = COLUMNS.get(by, attrgetter("id"))
        return cut(ordered(found, column, attrgetter("id"), descending=descending), window)

    async def experiment_ids(self, scope: Scope, wanted: Wanted) -> Sequence[int]:
        return [row.id for row in self._within(scope) if _fulfils(row, self._owner(row), wanted)]

    async def experiment(self, experiment_id: int) -> ExperimentRow | None:
        row = self.tables.get(EXPERIMENTS, experiment_id)
        return None if row is None else self._row(row, tuple(self._trial_ids(experiment_id)))

    async def outline(self, experiment_id: int) -> Outline | None:
        row = self.tables.get(EXPERIMENTS, experiment_id)
        if row is None:
            return None
        project, _ = self._place(row)
        standing = self.tables.get(STANDINGS, row.id)
        return Outline(
            id=row.id,
            name=row.name,
            owner_id=row.owner_id,
            workspace_id=None if project is None else project.workspace_id,
            archived=row.archived,
            unmanaged=row.unmanaged,
            smaller_is_better=row.smaller_is_better,
            searcher_metric=row.searcher_metric,
            best_metric=None if standing is None else standing.best_metric,
        )

    async def archived(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Mapping[int, bool]:
        within = self._within(scope, project_id)
        return {row.id: row.archived for row in within if row.id in ids}

    async def trial_ids(self, experiment_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        return {one: found for one in experiment_ids if (found := self._trial_ids(one))}

    async def labels(self, scope: Scope, project_id: int = 0) -> Sequence[str]:
        used = Counter(label for row in self._within(scope, project_id) for label in row.labels)
        return sorted(used, key=lambda label: (-used[label], label))

    async def validations(self, experiment_id: int) -> Sequence[ValidationRow]:
        found = [row for row in self.tables.all(VALIDATIONS) if row.experiment_id == experiment_id]
        found.sort(key=attrgetter("reported_at", "trial_id", "steps_completed"))
        return [ValidationRow(row.trial_id, row.metric, row.reported_at) for row in found if row.metric is not None]

    # ------------------------------------------------------------ what belongs to an experiment

    def _within(self, scope: Scope, project_id: int = 0) -> list[Experiment]:
        return [
            row
            for row in self.tables.all(EXPERIMENTS)
            if scope.covers(getattr(self._place(row)[0], "workspace_id", None)) and project_id in (0, row.project_id)
        ]

    def _place(self, row: Experiment) -> tuple[Project | None, Workspace | None]:
        project = self.tables.get(PROJECTS, row.project_id)
        return project, None if project is None else self.tables.get(WORKSPACES, project.workspace_id)

    def _user(self, row: Experiment) -> User | None:
        return self.tables.get(USERS, row.owner_id)

    def _owner(self, row: Experiment) -> str:
        user = self._user(row)
        return row.owner if user is None else user.username

    def _trial_ids(self, experiment_id: int) -> list[int]:
        return [trial.id for trial in self.tables.all(TRIALS) if trial.experiment_id == experiment_id]

    def _checkpoints(self, experiment_id: int) -> list[Checkpoint]:
        found = [one for one in self.tables.all(CHECKPOINTS) if one.experiment_id == experiment_id]
        return [one for one in found if has_files(one.state)]

    def _reported(self, experiment_id: int) -> float | None:
        found = [self.progress[one] for one in self._trial_ids(experiment_id) if one in self.progress]
        return sum(found) if found else None

    def _phase(self, row: Experiment) -> str:
        if row.state != ExperimentState.ACTIVE:
            return row.state
        if row.unmanaged:
            return Phase.RUNNING
        of_it = [one for one in self.tables.all(ALLOCATIONS) if one.experiment_id == row.id and one.ended_at is None]
        return max((PHASES.get(one.state, Phase.QUEUED) for one in of_it), key=list(Phase).index, default=Phase.QUEUED)

    def _row(self, row: Experiment, trial_ids: tuple[int, ...] = ()) -> ExperimentRow:
        project, workspace = self._place(row)
        checkpoints, user = self._checkpoints(row.id), self._user(row)
        standing, stored = self.tables.get(STANDINGS, row.id), self.tables.get(CONFIGS, row.id)
        assert stored is not None, "every experiment has a configuration"
        return ExperimentRow(
            id=row.id,
            job_id=row.job_id,
            name=row.name,
            description=row.description,
            notes=row.notes,
            labels=row.labels,
            state=row.state,
            phase=self._phase(row),
            reason=row.reason,
            archived=row.archived,
            started_at=row.started_at,
            ended_at=row.ended_at,
            parent_id=row.parent_id,
            unmanaged=row.unmanaged,
            external_id=row.external_id,
            resource_pool=row.resource_pool,
            searcher_type=row.searcher_type,
            searcher_metric=row.searcher_metric,
            config=orjson.dumps(stored.config).decode(),
            original_config=stored.original_config,
            hyperparameters=_json(stored.config.get("hyperparameters")),
            max_trials=_json((stored.config.get("searcher") or {}).get("max_trials")),
            search_progress=row.search_progress,
            reported_progress=self._reported(row.id),
            trials=standing.trials if standing else 0,
            best_trial_id=standing.best_trial_id if standing else None,
            best_metric=standing.best_metric if standing else None,
            checkpoints=len(checkpoints),
            checkpoint_bytes=sum(one.size_bytes for one in checkpoints),
            model_definition_bytes=self.blobs.get(row.model_definition or ""),
            owner_id=row.owner_id,
            owner=self._owner(row),
            owner_display_name=user.display_name if user else "",
            project_id=row.project_id,
            project=project.name if project else "",
            project_owner_id=project.owner_id if project else 0,
            workspace_id=project.workspace_id if project else 0,
            workspace=workspace.name if workspace else "",
            parent_archived=any(place.archived for place in (project, workspace) if place is not None),
            trial_ids=trial_ids,
        )


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


PHASES: Mapping[str, Phase] = {
    AllocationState.ASSIGNED: Phase.STARTING,
    AllocationState.RUNNING: Phase.RUNNING,
    AllocationState.TERMINATING: Phase.RUNNING,
}


def _where_any(name: str) -> Callable[[ExperimentRow], Any]:
    """Experiments without any come last."""
    return lambda row: getattr(row, name) if row.checkpoints else None


COLUMNS: Mapping[SortExperimentsBy, Callable[[ExperimentRow], Any]] = {
    SortExperimentsBy.DESCRIPTION: attrgetter("description"),
    SortExperimentsBy.NAME: attrgetter("name"),
    SortExperimentsBy.START_TIME: attrgetter("started_at"),
    SortExperimentsBy.END_TIME: attrgetter("ended_at"),
    SortExperimentsBy.STATE: attrgetter("state"),
    SortExperimentsBy.NUM_TRIALS: attrgetter("trials"),
    SortExperimentsBy.PROGRESS: attrgetter("reported_progress"),
    SortExperimentsBy.USER: attrgetter("owner"),
    SortExperimentsBy.FORKED_FROM: attrgetter("parent_id"),
    SortExperimentsBy.RESOURCE_POOL: attrgetter("resource_pool"),
    SortExperimentsBy.PROJECT_ID: attrgetter("project_id"),
    SortExperimentsBy.CHECKPOINT_SIZE: _where_any("checkpoint_bytes"),
    SortExperimentsBy.CHECKPOINT_COUNT: _where_any("checkpoints"),
    SortExperimentsBy.SEARCHER_METRIC_VAL: attrgetter("best_metric"),
}


def _fulfils(row: Experiment, owner: str, wanted: Wanted) -> bool:
    numbers = wanted.id_range
    return all(
        (
            wanted.archived in (None, row.archived),
            wanted.name_part.lower() in row.name.lower(),
            wanted.description_part.lower() in row.description.lower(),
            set(wanted.labels) <= set(row.labels),
            not wanted.owner_ids or row.owner_id in wanted.owner_ids,
            not wanted.owners or owner in wanted.owners,
            wanted.project_id in (0, row.project_id),
            not wanted.states or row.state in wanted.states,
            numbers.above is None or row.id > numbers.above,
            numbers.least is None or row.id >= numbers.least,
            numbers.below is None or row.id < numbers.below,
            numbers.most is None or row.id <= numbers.most,
            not wanted.ids or row.id in wanted.ids,
            row.id not in wanted.excluded_ids,
        )
    )
