"""The twin of the queries for monitoring: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.monitoring.queries import ROWS_MOST, AllocationRow, ContainerRow, ExperimentRow, Slot
from resolute.api.pools.projection import AGENTS, SLOTS
from resolute.api.shown_states import ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation
from resolute.proto.states import ExperimentState

Row = TypeVar("Row", AllocationRow, ContainerRow, ExperimentRow)


@dataclass(frozen=True)
class MemoryMonitoring:
    """`tables`: those of tasks, experiments and pools."""

    tables: CachedRows

    async def allocations(self, since: datetime) -> Sequence[AllocationRow]:
        newest = self._newest_allocations(since)
        return _alive_first(
            [AllocationRow(a.allocation_id, a.task_id, a.name, a.job_id, a.ended_at is None) for a in newest]
        )

    async def containers(self, since: datetime) -> Sequence[ContainerRow]:
        by_id = {one.allocation_id: one for one in self._newest_allocations(since)}
        placements = sorted(self.tables.all(PLACEMENTS), key=attrgetter("resources_id"))
        placed = [one for one in placements if one.allocation_id in by_id]
        placed.sort(key=lambda one: by_id[one.allocation_id].requested_at, reverse=True)
        return _alive_first(
            [
                ContainerRow(
                    one.resources_id,
                    one.allocation_id,
                    one.agent_id,
                    one.slot_ids,
                    by_id[one.allocation_id].ended_at is None and one.state != ShareState.EXITED,
                )
                for one in placed
            ]
        )

    async def gpus(self) -> Mapping[Slot, str]:
        agents = sorted(self.tables.all(AGENTS), key=attrgetter("joined_at", "pool"))
        return {
            (slot.agent_id, slot.slot_id): slot.uuid
            for agent in agents
            for slot in self.tables.all(SLOTS)
            if (slot.agent_id, slot.pool) == (agent.agent_id, agent.pool) and _is_gpu(slot.kind) and slot.uuid
        }

    async def experiments(self, since: datetime) -> Sequence[ExperimentRow]:
        rows = [one for one in self.tables.all(EXPERIMENTS) if one.ended_at is None or one.ended_at > since]
        rows.sort(key=attrgetter("id"), reverse=True)
        return _alive_first([ExperimentRow(one.id, one.job_id, one.labels, one.ended_at is None) for one in rows])

    async def counts(self) -> Mapping[ExperimentState, int]:
        found = Counter(ExperimentState(one.state) for one in self.tables.all(EXPERIMENTS))
        return {state: found[state] for state in sorted(found)}

    def _newest_allocations(self, since: datetime) -> list[Allocation]:
        kept = [one for one in self.tables.all(ALLOCATIONS) if one.ended_at is None or one.ended_at > since]
        return sorted(kept, key=attrgetter("requested_at"), reverse=True)


def _is_gpu(kind: str) -> bool:
    return kind in ("cuda", "rocm")


def _alive_first(rows: Sequence[Row]) -> Sequence[Row]:
    lives: Callable[[Row], bool] = attrgetter("lives")
    return sorted(rows, key=lives, reverse=True)[:ROWS_MOST]
