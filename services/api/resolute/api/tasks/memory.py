"""The twin of the queries about tasks: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.interactive.projection import TASKS as INTERACTIVE
from resolute.api.kernel.cache import CachedRows
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.queries import AcceleratorRow, AllocationRow, OtherTask, PlacementRow, TrialTimes
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.api.trials.tables import TRIALS, Trial
from resolute.api.workspaces.projection import PROJECTS


@dataclass(frozen=True)
class MemoryTasks:
    """`tables`: those of tasks, trials, experiments and workspaces. Those that a test does not ask about may be
    missing."""

    tables: CachedRows
    reported: Sequence[AcceleratorRow] = ()
    """What tasks reported of their devices; the pools of these rows are not looked at."""

    async def live(self, scope: Scope) -> Sequence[AllocationRow]:
        return self._allocations(lambda one: one.ended_at is None and scope.covers(self._workspace_of(one)))

    async def live_tasks(self, scope: Scope) -> Mapping[str, int]:
        found: dict[str, set[str]] = defaultdict(set)
        for one in await self.live(scope):
            found[one.task_type].add(one.task_id)
        return {task_type: len(tasks) for task_type, tasks in found.items()}

    async def placements(self, allocation_ids: Collection[str]) -> Sequence[PlacementRow]:
        within = [row for row in self.tables.all(PLACEMENTS) if row.allocation_id in allocation_ids]
        return [_placement(row) for row in sorted(within, key=attrgetter("allocation_id", "share"))]

    async def of_task(self, task_id: str) -> Sequence[AllocationRow]:
        return self._allocations(lambda one: one.task_id == task_id)

    async def allocation(self, allocation_id: str) -> AllocationRow | None:
        row = self.tables.get(ALLOCATIONS, allocation_id)
        return None if row is None else self._shown(row)

    async def trial(self, task_id: str) -> TrialTimes | None:
        trial = self._trial(task_id)
        return None if trial is None else TrialTimes(trial.started_at, trial.ended_at)

    async def other(self, task_id: str) -> OtherTask | None:
        row = self.tables.get(INTERACTIVE, task_id)
        return None if row is None else OtherTask(row.kind, row.created_at, row.ended_at)

    async def is_known(self, task_id: str) -> bool:
        known = self._trial(task_id) is not None or await self.other(task_id) is not None
        return known or bool(await self.of_task(task_id))

    async def has_ended(self, task_id: str) -> bool:
        if (trial := self._trial(task_id)) is not None:
            return trial.ended_at is not None
        if (other := await self.other(task_id)) is not None:
            return other.ended_at is not None
        others = [one for one in await self.of_task(task_id) if one.task_type != "TRIAL"]
        return bool(others) and all(one.ended for one in others)

    async def accelerators(self, task_id: str) -> Sequence[AcceleratorRow]:
        found = [row for row in self.reported if row.task_id == task_id]
        placed = [(row, self.tables.get(ALLOCATIONS, row.allocation_id)) for row in found]
        shown = [replace(row, pool="" if allocation is None else allocation.pool) for row, allocation in placed]
        return sorted(shown, key=attrgetter("allocation_id", "container_id"))

    async def context_directory(self, task_id: str) -> str | None:
        trial = self._trial(task_id)
        experiment = None if trial is None else self.tables.get(EXPERIMENTS, trial.experiment_id)
        if experiment is not None:
            return experiment.model_definition
        other = self.tables.get(INTERACTIVE, task_id)
        return None if other is None else other.context

    def _allocations(self, wanted: Callable[[Allocation], bool]) -> Sequence[AllocationRow]:
        found = [self._shown(row) for row in self.tables.all(ALLOCATIONS) if wanted(row)]
        return sorted(found, key=attrgetter("requested_at", "allocation_id"))

    def _shown(self, row: Allocation) -> AllocationRow:
        task = self.tables.get(INTERACTIVE, row.task_id) if row.experiment_id is None else None
        return _allocation(row, None if task is None else task.ready)

    def _workspace_of(self, allocation: Allocation) -> int | None:
        if allocation.experiment_id is None:
            task = self.tables.get(INTERACTIVE, allocation.task_id)
            return None if task is None else task.workspace_id
        experiment = self.tables.get(EXPERIMENTS, allocation.experiment_id)
        project = None if experiment is None else self.tables.get(PROJECTS, experiment.project_id)
        return None if project is None else project.workspace_id

    def _trial(self, task_id: str) -> Trial | None:
        return next((trial for trial in self.tables.all(TRIALS) if trial.task_id == task_id), None)


def _allocation(row: Allocation, ready: bool | None) -> AllocationRow:
    return AllocationRow(
        allocation_id=row.allocation_id,
        task_id=row.task_id,
        task_type=row.task_type,
        pool=row.pool,
        name=row.name,
        slots=row.slots,
        priority=row.priority,
        state=AllocationState(row.state),
        why=row.why,
        requested_at=row.requested_at,
        started_at=row.started_at,
        preemption_deadline_at=row.preemption_deadline_at,
        ended_at=row.ended_at,
        exit_code=row.exit_code,
        ready=ready,
    )


def _placement(row: Placement) -> PlacementRow:
    return PlacementRow(
        resources_id=row.resources_id,
        allocation_id=row.allocation_id,
        agent_id=row.agent_id,
        slot_ids=tuple(row.slot_ids),
        state=ShareState(row.state),
        address=row.address,
    )
