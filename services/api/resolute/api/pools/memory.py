"""The twin of the queries about pools: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.pools.messages import SortAgentsBy
from resolute.api.pools.projection import AGENTS, BINDINGS, SLOTS, Agent
from resolute.api.pools.queries import AgentRow, ContainerRow, PoolRow, SlotRow, by_pool
from resolute.api.scope import Outside, Scope
from resolute.api.shown_states import AllocationState, ShareState
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS, Allocation, Placement
from resolute.api.workspaces.projection import PROJECTS


@dataclass(frozen=True)
class MemoryPools:
    """`tables`: those of pools, tasks, experiments and workspaces. Texts are compared as the database `C` does it."""

    tables: CachedRows

    async def agents(self, outside: Outside, by: SortAgentsBy, *, descending: bool, window: Window) -> Listed[AgentRow]:
        column = attrgetter("joined_at" if by is SortAgentsBy.TIME else "agent_id")
        found = [_shown(agent) for agent in self._alive()]
        return cut(ordered(found, column, attrgetter("agent_id"), descending=descending), window)

    async def agent(self, agent_id: str) -> AgentRow | None:
        return next((_shown(agent) for agent in self._alive() if agent.agent_id == agent_id), None)

    async def slots(self, agents: Sequence[str]) -> Sequence[SlotRow]:
        by_pool = sorted(self.tables.all(AGENTS), key=attrgetter("pool"), reverse=True)
        latest = sorted(by_pool, key=lambda agent: (agent.alive, agent.joined_at))
        by_id = {agent.agent_id: agent for agent in latest if agent.agent_id in agents}
        return [
            SlotRow(
                agent_id=slot.agent_id,
                slot_id=slot.slot_id,
                kind=slot.kind,
                brand=slot.brand,
                uuid=slot.uuid,
                enabled=slot.enabled and by_id[slot.agent_id].enabled,
                draining=slot.draining or by_id[slot.agent_id].draining,
            )
            for slot in sorted(self.tables.all(SLOTS), key=attrgetter("agent_id", "slot_id"))
            if slot.agent_id in by_id and by_id[slot.agent_id].pool == slot.pool
        ]

    async def containers(self, agents: Sequence[str]) -> Sequence[ContainerRow]:
        return [
            ContainerRow(one.resources_id, one.agent_id, one.allocation_id, one.slot_ids, ShareState(one.state))
            for one in self.tables.all(PLACEMENTS)
            if one.agent_id in agents and one.state != ShareState.EXITED
        ]

    async def allocations_within(self, scope: Scope, allocations: Sequence[str]) -> Collection[str]:
        workspaces = {project.id: project.workspace_id for project in self.tables.all(PROJECTS)}
        of_experiment = {one.id: workspaces.get(one.project_id) for one in self.tables.all(EXPERIMENTS)}
        return {
            one.allocation_id
            for one in self.tables.all(ALLOCATIONS)
            if one.allocation_id in allocations and scope.covers(of_experiment.get(one.experiment_id or 0))
        }

    async def pools(self, named: Sequence[str]) -> Sequence[PoolRow]:
        live, agents = self._live(), self._alive()
        names = {*named, *(agent.pool for agent in agents), *(one.pool for one in live)}
        parts = self._parts(live)
        return [self._pool(name, agents, live, parts[name]) for name in sorted(names)]

    async def bindings(self) -> Mapping[str, frozenset[int]]:
        return by_pool((one.pool, one.workspace_id) for one in self.tables.all(BINDINGS))

    def _alive(self) -> list[Agent]:
        return [agent for agent in self.tables.all(AGENTS) if agent.alive]

    def _live(self) -> list[Allocation]:
        return [one for one in self.tables.all(ALLOCATIONS) if one.ended_at is None]

    def _parts(self, live: Sequence[Allocation]) -> defaultdict[str, list[Placement]]:
        """What works for the allocations, by pool."""
        found, pools = defaultdict(list), {one.allocation_id: one.pool for one in live}
        for part in self.tables.all(PLACEMENTS):
            if part.state != ShareState.EXITED and part.allocation_id in pools:
                found[pools[part.allocation_id]].append(part)
        return found

    def _pool(
        self, name: str, agents: Sequence[Agent], live: Sequence[Allocation], parts: Sequence[Placement]
    ) -> PoolRow:
        there = {agent.agent_id for agent in agents if agent.pool == name}
        slots = [slot for slot in self.tables.all(SLOTS) if slot.pool == name and slot.agent_id in there]
        jobs = [(one.job_id, one.state == AllocationState.QUEUED) for one in live if one.pool == name]
        return PoolRow(
            name=name,
            agents=len(there),
            slots=len(slots),
            kind=max((slot.kind for slot in slots), default=""),
            used=sum(len(part.slot_ids) for part in parts),
            auxiliary=sum(not part.slot_ids for part in parts),
            queued=len({job for job, waits in jobs if waits}),
            scheduled=len({job for job, waits in jobs if not waits}),
        )


def _shown(agent: Agent) -> AgentRow:
    return AgentRow(
        agent_id=agent.agent_id,
        pool=agent.pool,
        host=agent.host,
        version=agent.version,
        enabled=agent.enabled,
        draining=agent.draining,
        joined_at=agent.joined_at,
    )
