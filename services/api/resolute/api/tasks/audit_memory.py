"""The twin that looks for states which no right decision leads to: the same sentences, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from resolute.api.kernel.cache import CachedRows
from resolute.api.pools.projection import AGENTS
from resolute.api.shown_states import ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.api.trials.tables import TRIALS

K = TypeVar("K")


@dataclass(frozen=True)
class MemoryAudit:
    """`tables`: those of tasks, trials and pools."""

    tables: CachedRows

    async def impossible(self) -> Sequence[str]:
        held = list(self._held())
        return sorted([*self._in_two_pools(), *self._on_no_agent(held), *_held_twice(held), *self._of_allocations()])

    def _held(self) -> Iterator[tuple[Placement, Allocation]]:
        for placement in self.tables.all(PLACEMENTS):
            allocation = self.tables.get(ALLOCATIONS, placement.allocation_id)
            if allocation is not None and allocation.ended_at is None and placement.state != ShareState.EXITED:
                yield placement, allocation

    def _in_two_pools(self) -> Iterator[str]:
        alive = ((agent.agent_id, agent.pool) for agent in self.tables.all(AGENTS) if agent.alive)
        return (f"agent {agent_id} is in several pools at once: {pools}" for agent_id, pools in _several(alive))

    def _on_no_agent(self, held: Iterable[tuple[Placement, Allocation]]) -> Iterator[str]:
        for placement, allocation in held:
            agent = self.tables.get(AGENTS, placement.agent_id, allocation.pool)
            if agent is None or not agent.alive:
                yield (
                    f"{allocation.allocation_id} runs on agent {placement.agent_id}, which is not in its pool "
                    f"{allocation.pool}"
                )

    def _of_allocations(self) -> Iterator[str]:
        running = [row for row in self.tables.all(ALLOCATIONS) if row.ended_at is None]
        for row in running:
            trial = None if row.trial_id is None else self.tables.get(TRIALS, row.trial_id)
            if trial is not None and trial.ended_at is not None:
                yield f"{row.allocation_id} is {row.state} in pool {row.pool}, though its trial {trial.id} has ended"
        for task_id, allocations in _several((row.task_id, row.allocation_id) for row in running):
            yield f"task {task_id} has several allocations at once: {allocations}"


def _held_twice(held: Iterable[tuple[Placement, Allocation]]) -> Iterator[str]:
    slots = (
        ((placement.agent_id, slot_id), allocation.allocation_id)
        for placement, allocation in held
        for slot_id in placement.slot_ids
    )
    for (agent_id, slot_id), allocations in _several(slots):
        yield f"slot {slot_id} of agent {agent_id} is held by several at once: {allocations}"


def _several(pairs: Iterable[tuple[K, str]]) -> Iterator[tuple[K, str]]:
    """The keys that stand in several pairs, with the second parts of these pairs in order."""
    found: dict[K, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return ((key, ", ".join(sorted(values))) for key, values in found.items() if len(values) > 1)
