"""The twin of the queries of changes to the queue: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from resolute.api.experiments.projection import CONFIGS, EXPERIMENTS, Experiment
from resolute.api.kernel.cache import CachedRows
from resolute.api.queue.change_queries import ChangeableJob
from resolute.api.tasks.tables import ALLOCATIONS, Allocation
from resolute.config import slots_of
from resolute.proto.queue import JobSetting


@dataclass(frozen=True)
class MemoryChanges:
    """`tables`: those of experiments and tasks."""

    tables: CachedRows

    async def changeable(self, job_id: str) -> ChangeableJob | None:
        experiment = next((one for one in self.tables.all(EXPERIMENTS) if one.job_id == job_id), None)
        live = self._live(job_id)
        if experiment is None and not live:
            return None
        resources = {} if experiment is None else self._resources(experiment)
        asked = resources.get("slots_per_trial")
        if asked is None:
            asked = max((one.slots for one in live), default=0)
        priorities = [one.priority for one in live if one.priority is not None]
        return ChangeableJob(
            job_id=job_id,
            experiment_id=None if experiment is None else experiment.id,
            state=None if experiment is None else experiment.state,
            pool=min((one.pool for one in live), default="" if experiment is None else experiment.resource_pool),
            slots=slots_of({"slots_per_trial": asked}),
            single_agent=bool(resources.get("is_single_node")),
            priority=min(priorities, default=resources.get("priority")),
            live=bool(live),
        )

    async def is_agreed(self, experiment_id: int, setting: JobSetting) -> bool:
        experiment = self.tables.get(EXPERIMENTS, experiment_id)
        if experiment is None or self.tables.get(CONFIGS, experiment_id) is None:
            return True
        configured = self._resources(experiment).get(setting.value)
        live = (one for one in self._live(experiment.job_id) if one.pool == experiment.resource_pool)
        return all(getattr(one, setting.value) == configured for one in live)

    def _live(self, job_id: str) -> list[Allocation]:
        return [one for one in self.tables.all(ALLOCATIONS) if one.job_id == job_id and one.ended_at is None]

    def _resources(self, experiment: Experiment) -> dict[str, Any]:
        row = self.tables.get(CONFIGS, experiment.id)
        found: dict[str, Any] = {} if row is None else row.config.get("resources", {})
        return found
