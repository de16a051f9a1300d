"""The twin of what the gateway asks about the runs whose lines arrive: the same answers, from rows in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from resolute.api.experiments.projection import CONFIGS
from resolute.api.kernel.cache import CachedRows
from resolute.api.logs.shipping_queries import PoliciesRow, ShareRow
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Placement
from resolute.api.trials.tables import RUNS, TRIALS


@dataclass(frozen=True)
class MemoryShipping:
    """`tables`: those of tasks, trials and experiments."""

    tables: CachedRows

    async def shares(self, resources_ids: Collection[str]) -> Sequence[ShareRow]:
        placed = (self.tables.get(PLACEMENTS, resources_id) for resources_id in sorted(set(resources_ids)))
        found = (self._share(placement) for placement in placed if placement is not None)
        return [share for share in found if share is not None]

    def _share(self, placement: Placement) -> ShareRow | None:
        allocation = self.tables.get(ALLOCATIONS, placement.allocation_id)
        if allocation is None:
            return None
        return ShareRow(
            agent_id=placement.agent_id,
            resources_id=placement.resources_id,
            allocation_id=placement.allocation_id,
            task_id=allocation.task_id,
            experiment_id=allocation.experiment_id,
            given_up_at=allocation.ended_at if placement.exit_code is None else None,
            deleted=allocation.trial_id is not None and self.tables.get(TRIALS, allocation.trial_id) is None,
        )

    async def policies(self, allocation_id: str, task_id: str) -> PoliciesRow | None:
        for run in self.tables.all(RUNS):
            trial = self.tables.get(TRIALS, run.trial_id) if run.allocation_id == allocation_id else None
            config = None if trial is None else self.tables.get(CONFIGS, trial.experiment_id)
            if trial is not None and trial.task_id == task_id and config is not None:
                policies = config.config.get("log_policies") or []
                return PoliciesRow(trial.experiment_id, trial.id, run.run_id, policies)
        return None
