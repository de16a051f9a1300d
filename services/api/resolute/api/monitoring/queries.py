"""What monitoring systems can ask of the cluster's state: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables
from resolute.api.shown_states import ShareState
from resolute.proto.states import ExperimentState

ROWS_MOST = 20_000
"""Of each kind; those that live come first, then the newest."""


@dataclass(frozen=True, slots=True)
class AllocationRow:
    allocation_id: str
    task_id: str
    name: str
    job_id: str
    lives: bool


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """The part of an allocation on one agent."""

    resources_id: str
    allocation_id: str
    agent_id: str
    slot_ids: tuple[int, ...]
    lives: bool


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    id: int
    job_id: str
    labels: tuple[str, ...]
    lives: bool


Slot = tuple[str, int]
"""An agent, and the number of a slot there."""


class MonitoringQueries(Protocol):
    """`since`: what ended before is left out."""

    async def allocations(self, since: datetime) -> Sequence[AllocationRow]: ...

    async def containers(self, since: datetime) -> Sequence[ContainerRow]: ...

    async def gpus(self) -> Mapping[Slot, str]:
        """The UUIDs of GPUs. Of an agent that was in several pools, the pool that it joined last counts."""

    async def experiments(self, since: datetime) -> Sequence[ExperimentRow]: ...

    async def counts(self) -> Mapping[ExperimentState, int]:
        """How many experiments there are, by state, in the order of the states' names."""


# ---------------------------------------------------------------- Postgres

ALLOCATIONS = f"""SELECT allocation_id, task_id, name, job_id, ended_at IS NULL AS lives
FROM read_tasks.allocations WHERE ended_at IS NULL OR ended_at > $1
ORDER BY lives DESC, requested_at DESC, allocation_id LIMIT {ROWS_MOST}"""

CONTAINERS = f"""SELECT p.resources_id, p.allocation_id, p.agent_id, p.slot_ids,
    a.ended_at IS NULL AND p.state <> '{ShareState.EXITED}' AS lives
FROM read_tasks.placements p JOIN read_tasks.allocations a USING (allocation_id)
WHERE a.ended_at IS NULL OR a.ended_at > $1
ORDER BY lives DESC, a.requested_at DESC, p.resources_id LIMIT {ROWS_MOST}"""

GPUS = """SELECT s.agent_id, s.slot_id, s.uuid FROM read_pools.slots s JOIN read_pools.agents a USING (agent_id, pool)
WHERE s.kind IN ('cuda', 'rocm') AND s.uuid <> '' ORDER BY a.joined_at, a.pool"""

EXPERIMENTS = f"""SELECT id, job_id, labels, ended_at IS NULL AS lives FROM read_experiments.experiments
WHERE ended_at IS NULL OR ended_at > $1 ORDER BY lives DESC, id DESC LIMIT {ROWS_MOST}"""

COUNTS = "SELECT state, count(*) AS experiments FROM read_experiments.experiments GROUP BY state ORDER BY state"


class PostgresMonitoring:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def allocations(self, since: datetime) -> Sequence[AllocationRow]:
        return [AllocationRow(*row) for row in await self._tables.rows(ALLOCATIONS, since)]

    async def containers(self, since: datetime) -> Sequence[ContainerRow]:
        rows = await self._tables.rows(CONTAINERS, since)
        return [
            ContainerRow(
                row["resources_id"], row["allocation_id"], row["agent_id"], tuple(row["slot_ids"]), row["lives"]
            )
            for row in rows
        ]

    async def gpus(self) -> Mapping[Slot, str]:
        return {(row["agent_id"], row["slot_id"]): row["uuid"] for row in await self._tables.rows(GPUS)}

    async def experiments(self, since: datetime) -> Sequence[ExperimentRow]:
        rows = await self._tables.rows(EXPERIMENTS, since)
        return [ExperimentRow(row["id"], row["job_id"], tuple(row["labels"]), row["lives"]) for row in rows]

    async def counts(self) -> Mapping[ExperimentState, int]:
        return {ExperimentState(row["state"]): row["experiments"] for row in await self._tables.rows(COUNTS)}


QUERIES: Port[MonitoringQueries] = Port(PostgresMonitoring)
