"""What the lines about a task's life name: the task, its trial, and the agents that it runs on. The port, and Postgres
behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from resolute.api.kernel.ports import Port, Tables
from resolute.proto.pool import Placement


@dataclass(frozen=True, slots=True)
class AllocationRow:
    allocation_id: str
    task_id: str
    name: str
    placements: tuple[Placement, ...]
    """In the order of their shares."""


@dataclass(frozen=True, slots=True)
class TrialRow:
    id: int
    task_id: str
    experiment_id: int
    allocation_id: str
    """That of its latest run; empty before the first."""


@dataclass(frozen=True, slots=True)
class HostRow:
    agent_id: str
    host: str
    gpus: Mapping[int, str]
    """By slot id, the ids of its GPUs."""


class LifecycleQueries(Protocol):
    async def allocations(self, allocation_ids: Collection[str]) -> Sequence[AllocationRow]:
        """Those of them that there are, in no particular order."""

    async def trials(self, trial_ids: Collection[int]) -> Sequence[TrialRow]:
        """Those of them that there are, in no particular order."""

    async def hosts(self) -> Sequence[HostRow]:
        """One for each agent and pool: of an agent that was in several pools, the last is that of the pool that it
        joined last."""


ALLOCATIONS = """SELECT a.allocation_id, a.task_id, a.name,
    coalesce(jsonb_agg(jsonb_build_object(
        'resources_id', p.resources_id, 'agent_id', p.agent_id, 'slot_ids', to_jsonb(p.slot_ids)
    ) ORDER BY p.share) FILTER (WHERE p.resources_id IS NOT NULL), '[]') AS placements
FROM read_tasks.allocations a LEFT JOIN read_tasks.placements p USING (allocation_id)
WHERE a.allocation_id = ANY($1::text[]) GROUP BY a.allocation_id"""

TRIALS = """SELECT t.id, t.task_id, t.experiment_id, coalesce(r.allocation_id, '') AS allocation_id
FROM read_trials.trials t LEFT JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
WHERE t.id = ANY($1::bigint[])"""

HOSTS = """SELECT g.agent_id, g.host, coalesce(jsonb_object_agg(s.slot_id::text, s.uuid)
    FILTER (WHERE s.kind IN ('cuda', 'rocm')), '{}') AS gpus
FROM read_pools.agents g LEFT JOIN read_pools.slots s USING (agent_id, pool) GROUP BY g.agent_id, g.pool
ORDER BY g.joined_at, g.pool COLLATE "C", g.agent_id COLLATE "C\""""


class PostgresLifecycle:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def allocations(self, allocation_ids: Collection[str]) -> Sequence[AllocationRow]:
        rows = await self._tables.rows(ALLOCATIONS, list(allocation_ids))
        return [
            AllocationRow(row["allocation_id"], row["task_id"], row["name"], _placements(row["placements"]))
            for row in rows
        ]

    async def trials(self, trial_ids: Collection[int]) -> Sequence[TrialRow]:
        return [TrialRow(**row) for row in await self._tables.rows(TRIALS, list(trial_ids))]

    async def hosts(self) -> Sequence[HostRow]:
        return [
            HostRow(row["agent_id"], row["host"], {int(slot): uuid for slot, uuid in orjson.loads(row["gpus"]).items()})
            for row in await self._tables.rows(HOSTS)
        ]


def _placements(text: str) -> tuple[Placement, ...]:
    return tuple(Placement(one["resources_id"], one["agent_id"], tuple(one["slot_ids"])) for one in orjson.loads(text))


LIFECYCLE: Port[LifecycleQueries] = Port(PostgresLifecycle)
