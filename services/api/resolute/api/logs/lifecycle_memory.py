"""The twin of what the lines about a task's life name: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter

from resolute.api.kernel.cache import CachedRows
from resolute.api.logs.lifecycle_queries import AllocationRow, HostRow, TrialRow
from resolute.api.pools.projection import AGENTS, SLOTS, Agent
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation
from resolute.api.trials.tables import RUNS, TRIALS, Trial
from resolute.proto.pool import Placement

GPUS = ("cuda", "rocm")


@dataclass(frozen=True)
class MemoryLifecycle:
    """`tables`: those of tasks, trials and pools."""

    tables: CachedRows

    async def allocations(self, allocation_ids: Collection[str]) -> Sequence[AllocationRow]:
        found = (self.tables.get(ALLOCATIONS, allocation_id) for allocation_id in sorted(set(allocation_ids)))
        return [self._allocation(one) for one in found if one is not None]

    def _allocation(self, row: Allocation) -> AllocationRow:
        placed = self.tables.where(PLACEMENTS, "allocation_id", row.allocation_id)
        placements = tuple(
            Placement(one.resources_id, one.agent_id, one.slot_ids) for one in sorted(placed, key=attrgetter("share"))
        )
        return AllocationRow(row.allocation_id, row.task_id, row.name, placements)

    async def trials(self, trial_ids: Collection[int]) -> Sequence[TrialRow]:
        found = (self.tables.get(TRIALS, trial_id) for trial_id in sorted(set(trial_ids)))
        return [self._trial(one) for one in found if one is not None]

    def _trial(self, row: Trial) -> TrialRow:
        run = self.tables.get(RUNS, row.id, row.run_id)
        return TrialRow(row.id, row.task_id, row.experiment_id, "" if run is None else run.allocation_id)

    async def hosts(self) -> Sequence[HostRow]:
        return [
            self._host(agent)
            for agent in sorted(self.tables.all(AGENTS), key=attrgetter("joined_at", "pool", "agent_id"))
        ]

    def _host(self, agent: Agent) -> HostRow:
        slots = self.tables.where(SLOTS, "agent_id", agent.agent_id)
        gpus = {slot.slot_id: slot.uuid for slot in slots if slot.pool == agent.pool and slot.kind in GPUS}
        return HostRow(agent.agent_id, agent.host, gpus)
