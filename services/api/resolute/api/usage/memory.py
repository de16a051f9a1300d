"""The twin of the queries about the use of the cluster: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from resolute.api.experiments.projection import EXPERIMENTS, Experiment
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.scope import Outside
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.api.usage.periods import beginnings
from resolute.api.usage.queries import By, HeldRow, Periods, Sum
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES


@dataclass(frozen=True)
class MemoryUsage:
    """`tables`: those of tasks, experiments, users and workspaces."""

    tables: CachedRows

    async def held(self, bounds: Outside, after: datetime, before: datetime, now: datetime) -> Sequence[HeldRow]:
        found = list(self._between(after, before, now))
        return sorted(found, key=lambda row: (self._allocation(row).assigned_at, row.allocation_id))

    async def sums(self, bounds: Outside, by: By, periods: Periods, now: datetime) -> Sequence[Sum]:
        return [
            Sum(began_at, key, seconds)
            for began_at in beginnings(periods)
            for key, seconds in self._sums(by, began_at, _end_of(began_at, periods.monthly), now).items()
        ]

    def _sums(self, by: By, began_at: datetime, ended_at: datetime, now: datetime) -> dict[str, float]:
        sums: dict[str, float] = {}
        for row in self._between(began_at, ended_at, now):
            for key in _keys(row, by):
                sums[key] = sums.get(key, 0.0) + row.slots * (row.ended_at - row.began_at).total_seconds()
        return sums

    def _between(self, after: datetime, before: datetime, now: datetime) -> Iterator[HeldRow]:
        for one in self.tables.all(ALLOCATIONS):
            ended_at = one.ended_at or now
            if one.assigned_at is not None and one.assigned_at < min(before, now) and ended_at > after:
                yield self._held(one, max(one.assigned_at, after), min(ended_at, before))

    def _held(self, one: Allocation, began_at: datetime, ended_at: datetime) -> HeldRow:
        experiment = next((row for row in self.tables.all(EXPERIMENTS) if row.id == one.experiment_id), None)
        return HeldRow(
            allocation_id=one.allocation_id,
            task_type=one.task_type,
            owner=one.owner,
            owner_id=next((user.id for user in self.tables.all(USERS) if user.username == one.owner), None),
            experiment_id=one.experiment_id,
            slots=one.slots,
            pool=one.pool,
            labels=() if experiment is None else experiment.labels,
            workspace="" if experiment is None else self._workspace(experiment),
            began_at=began_at,
            ended_at=ended_at,
        )

    def _workspace(self, experiment: Experiment) -> str:
        project = self.tables.get(PROJECTS, experiment.project_id)
        workspace = None if project is None else self.tables.get(WORKSPACES, project.workspace_id)
        return "" if workspace is None else workspace.name

    def _allocation(self, row: HeldRow) -> Allocation:
        found = self.tables.get(ALLOCATIONS, row.allocation_id)
        assert found is not None, "the row was made of it"
        return found


def _keys(row: HeldRow, by: By) -> Sequence[str]:
    match by:
        case By.OWNER:
            return [row.owner]
        case By.POOL:
            return [row.pool]
        case By.LABEL:
            return row.labels
        case By.WHOLE:
            return [""]


def _end_of(began_at: datetime, monthly: bool) -> datetime:
    return (began_at + timedelta(days=32)).replace(day=1) if monthly else began_at + timedelta(days=1)
