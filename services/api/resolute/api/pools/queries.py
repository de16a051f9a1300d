"""What can be asked about agents, slots and resource pools: the port, and Postgres behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import asyncpg

from resolute.api.experiments.projection import WORKSPACE_OF_EXPERIMENT
from resolute.api.kernel.listing import Where, listed_in, ordering
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.pools.messages import SortAgentsBy
from resolute.api.scope import Outside, Scope
from resolute.api.shown_states import AllocationState, ShareState


@dataclass(frozen=True, slots=True)
class AgentRow:
    agent_id: str
    pool: str
    host: str
    version: str
    enabled: bool
    draining: bool
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class SlotRow:
    agent_id: str
    slot_id: int
    kind: str
    brand: str
    uuid: str
    enabled: bool
    """Whether both the slot and its agent are."""
    draining: bool
    """Whether the slot or its agent is."""


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """The part of an allocation on one agent."""

    resources_id: str
    agent_id: str
    allocation_id: str
    slot_ids: tuple[int, ...]
    state: ShareState


@dataclass(frozen=True, slots=True)
class PoolRow:
    name: str
    agents: int
    """Agents that are there; likewise the slots."""
    slots: int
    kind: str
    """The kind of its slots; the last in the alphabet where there are several."""
    used: int
    """Slots that allocations hold."""
    auxiliary: int
    """Containers that hold no slot."""
    queued: int
    """Jobs with an allocation that waits. A job may be among both."""
    scheduled: int
    """Jobs with an allocation that holds its slots."""


class PoolQueries(Protocol):
    async def agents(self, outside: Outside, by: SortAgentsBy, *, descending: bool, window: Window) -> Listed[AgentRow]:
        """The agents that are there, in the order that is asked for, and by id where that leaves two alike."""

    async def agent(self, agent_id: str) -> AgentRow | None:
        """None also for an agent that is not there any more."""

    async def slots(self, agents: Sequence[str]) -> Sequence[SlotRow]:
        """The slots of these agents, by agent and number. An agent that was in several pools has those of the pool
        where it is, or was last."""

    async def containers(self, agents: Sequence[str]) -> Sequence[ContainerRow]:
        """What works on these agents, by id."""

    async def allocations_within(self, scope: Scope, allocations: Sequence[str]) -> Collection[str]:
        """Those of the allocations that lie within the scope."""

    async def pools(self, named: Sequence[str]) -> Sequence[PoolRow]:
        """The pools of these names, besides those that agents or work are in, by name."""

    async def bindings(self) -> Mapping[str, frozenset[int]]:
        """The workspaces that a pool is bound to, by the pool's name. Pools that are bound to none are left out."""


# ---------------------------------------------------------------- Postgres

AGENTS = """SELECT agent_id, pool, host, version, enabled, draining, joined_at FROM read_pools.agents"""

AGENTS_COUNTED = "SELECT count(*) FROM read_pools.agents"

SLOTS = """SELECT s.agent_id, s.slot_id, s.kind, s.brand, s.uuid, s.enabled AND a.enabled AS enabled,
    s.draining OR a.draining AS draining
FROM (SELECT DISTINCT ON (agent_id) * FROM read_pools.agents WHERE agent_id = ANY($1::text[])
      ORDER BY agent_id, alive DESC, joined_at DESC, pool) a
JOIN read_pools.slots s USING (agent_id, pool) ORDER BY s.agent_id, s.slot_id"""

CONTAINERS = f"""SELECT resources_id, agent_id, allocation_id, slot_ids, state FROM read_tasks.placements
WHERE agent_id = ANY($1::text[]) AND state <> '{ShareState.EXITED}' ORDER BY resources_id"""

POOLS = f"""SELECT pool.name, coalesce(a.agents, 0) AS agents, coalesce(a.slots, 0) AS slots,
    coalesce(a.kind, '') AS kind,
    coalesce(u.used, 0) AS used, coalesce(u.auxiliary, 0) AS auxiliary, coalesce(q.queued, 0) AS queued,
    coalesce(q.scheduled, 0) AS scheduled
FROM (SELECT unnest($1::text[]) AS name UNION SELECT pool FROM read_pools.agents WHERE alive
      UNION SELECT pool FROM read_tasks.allocations WHERE ended_at IS NULL) pool
LEFT JOIN (SELECT a.pool, count(DISTINCT a.agent_id) AS agents, count(s.slot_id) AS slots, max(s.kind) AS kind
           FROM read_pools.agents a LEFT JOIN read_pools.slots s USING (agent_id, pool) WHERE a.alive GROUP BY a.pool) a
    ON a.pool = pool.name
LEFT JOIN (SELECT l.pool, sum(cardinality(p.slot_ids)) AS used,
                  count(*) FILTER (WHERE cardinality(p.slot_ids) = 0) AS auxiliary
           FROM read_tasks.placements p JOIN read_tasks.allocations l USING (allocation_id)
           WHERE l.ended_at IS NULL AND p.state <> '{ShareState.EXITED}' GROUP BY l.pool) u ON u.pool = pool.name
LEFT JOIN (SELECT pool, count(DISTINCT job_id) FILTER (WHERE state = '{AllocationState.QUEUED}') AS queued,
                  count(DISTINCT job_id) FILTER (WHERE state <> '{AllocationState.QUEUED}') AS scheduled
           FROM read_tasks.allocations WHERE ended_at IS NULL GROUP BY pool) q ON q.pool = pool.name
ORDER BY pool.name"""


BINDINGS = "SELECT pool, workspace_id FROM read_pools.bindings"


class PostgresPools:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def agents(self, outside: Outside, by: SortAgentsBy, *, descending: bool, window: Window) -> Listed[AgentRow]:
        column = "joined_at" if by is SortAgentsBy.TIME else "agent_id"
        where = Where(outside)
        where.plain("alive")
        order = ordering(column, "agent_id", descending=descending)
        found = await listed_in(self._tables, AGENTS, AGENTS_COUNTED, where, order, window)
        return Listed([_agent(row) for row in found.rows], found.page)

    async def agent(self, agent_id: str) -> AgentRow | None:
        row = await self._tables.row(f"{AGENTS} WHERE alive AND agent_id = $1", agent_id)
        return None if row is None else _agent(row)

    async def slots(self, agents: Sequence[str]) -> Sequence[SlotRow]:
        return [SlotRow(**row) for row in await self._tables.rows(SLOTS, agents)]

    async def containers(self, agents: Sequence[str]) -> Sequence[ContainerRow]:
        return [_container(row) for row in await self._tables.rows(CONTAINERS, agents)]

    async def allocations_within(self, scope: Scope, allocations: Sequence[str]) -> Collection[str]:
        if scope.is_everything:
            return allocations
        where = Where(scope, WORKSPACE_OF_EXPERIMENT.format("experiment_id"))
        where.add("allocation_id = ANY(?::text[])", allocations)
        found = await self._tables.rows(f"SELECT allocation_id FROM read_tasks.allocations{where.sql}", *where.args)
        return frozenset(row["allocation_id"] for row in found)

    async def pools(self, named: Sequence[str]) -> Sequence[PoolRow]:
        return [_pool(row) for row in await self._tables.rows(POOLS, named)]

    async def bindings(self) -> Mapping[str, frozenset[int]]:
        return by_pool((row["pool"], row["workspace_id"]) for row in await self._tables.rows(BINDINGS))


def by_pool(pairs: Iterable[tuple[str, int]]) -> Mapping[str, frozenset[int]]:
    """The numbers of workspaces by pool, of pairs of a pool and a workspace."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for pool, workspace_id in pairs:
        found[pool].add(workspace_id)
    return {pool: frozenset(workspace_ids) for pool, workspace_ids in found.items()}


def _agent(row: asyncpg.Record) -> AgentRow:
    return AgentRow(**row)


def _container(row: asyncpg.Record) -> ContainerRow:
    return ContainerRow(**{**row, "slot_ids": tuple(row["slot_ids"]), "state": ShareState(row["state"])})


def _pool(row: asyncpg.Record) -> PoolRow:
    return PoolRow(**{**row, "used": int(row["used"])})


QUERIES: Port[PoolQueries] = Port(PostgresPools)
