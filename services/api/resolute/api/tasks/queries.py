"""What can be asked about tasks and their allocations: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import asyncpg
import orjson

from resolute.api.experiments.projection import WORKSPACE_OF_EXPERIMENT
from resolute.api.interactive.projection import WORKSPACE_OF_TASK
from resolute.api.kernel.listing import Where
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, ShareState


@dataclass(frozen=True, slots=True)
class AllocationRow:
    allocation_id: str
    task_id: str
    task_type: str
    pool: str
    name: str
    slots: int
    priority: int
    state: AllocationState
    why: str
    """Why it is in its state."""
    requested_at: datetime
    started_at: datetime | None
    preemption_deadline_at: datetime | None
    """Until when it must give its slots back; None when it was not asked to."""
    ended_at: datetime | None
    exit_code: int | None
    ready: bool | None = None
    """Whether what runs in it has said that it serves people; None for trials, of which running is all there is."""

    @property
    def started(self) -> bool:
        return self.started_at is not None

    @property
    def ended(self) -> bool:
        return self.ended_at is not None

    @property
    def preempting(self) -> bool:
        return self.preemption_deadline_at is not None


@dataclass(frozen=True, slots=True)
class PlacementRow:
    """The part of an allocation on one agent."""

    resources_id: str
    allocation_id: str
    agent_id: str
    slot_ids: tuple[int, ...]
    state: ShareState
    address: str


@dataclass(frozen=True, slots=True)
class AcceleratorRow:
    """The devices that one container of an allocation was given, as the task reported them."""

    allocation_id: str
    container_id: str
    task_id: str
    node_name: str
    accelerator_type: str
    uuids: tuple[str, ...]
    pool: str
    """Empty where the allocation is not known."""


@dataclass(frozen=True, slots=True)
class TrialTimes:
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class OtherTask:
    """A task that is no trial."""

    kind: str
    created_at: datetime
    ended_at: datetime | None


class TaskQueries(Protocol):
    async def live(self, scope: Scope) -> Sequence[AllocationRow]:
        """The allocations within the scope that run or wait, the oldest first."""

    async def live_tasks(self, scope: Scope) -> Mapping[str, int]:
        """How many tasks within the scope run or wait, by their type. Types without any are left out."""

    async def placements(self, allocation_ids: Collection[str]) -> Sequence[PlacementRow]:
        """The parts of these allocations: by allocation, and then in the order of their ranks."""

    async def of_task(self, task_id: str) -> Sequence[AllocationRow]:
        """The allocations that a task has had, the oldest first."""

    async def allocation(self, allocation_id: str) -> AllocationRow | None: ...

    async def trial(self, task_id: str) -> TrialTimes | None:
        """The trial whose task this is."""

    async def other(self, task_id: str) -> OtherTask | None:
        """The task, where it is no trial's. It may have no allocation yet."""

    async def is_known(self, task_id: str) -> bool:
        """Whether there is such a task."""

    async def has_ended(self, task_id: str) -> bool:
        """Whether the task will run no more. A task that is unknown has not ended."""

    async def accelerators(self, task_id: str) -> Sequence[AcceleratorRow]:
        """By allocation and container."""

    async def context_directory(self, task_id: str) -> str | None:
        """The address at which the archive of the task's context directory is stored; None when it has none."""


# ---------------------------------------------------------------- Postgres

ALLOCATIONS = """SELECT allocation_id, task_id, task_type, pool, name, slots, priority, state, why, requested_at,
    started_at, preemption_deadline_at, ended_at, exit_code,
    (SELECT i.ready FROM read_interactive.tasks i WHERE i.task_id = allocations.task_id) AS ready
FROM read_tasks.allocations"""

BY_AGE = " ORDER BY requested_at, allocation_id"

LIVE_TASKS = "SELECT task_type, count(DISTINCT task_id) AS tasks FROM read_tasks.allocations"

PLACEMENTS = """SELECT resources_id, allocation_id, agent_id, slot_ids, state, address FROM read_tasks.placements
WHERE allocation_id = ANY($1::text[]) ORDER BY allocation_id, share"""

TRIAL = "SELECT started_at, ended_at FROM read_trials.trials WHERE task_id = $1"

KNOWN = """SELECT EXISTS (SELECT 1 FROM read_trials.trials WHERE task_id = $1)
    OR EXISTS (SELECT 1 FROM read_tasks.allocations WHERE task_id = $1)
    OR EXISTS (SELECT 1 FROM read_interactive.tasks WHERE task_id = $1)"""

ENDED = """SELECT t.ended_at IS NOT NULL FROM read_trials.trials t WHERE t.task_id = $1
UNION ALL
SELECT i.ended_at IS NOT NULL FROM read_interactive.tasks i WHERE i.task_id = $1
UNION ALL
SELECT bool_and(a.ended_at IS NOT NULL) FROM read_tasks.allocations a
WHERE a.task_id = $1 AND a.task_type <> 'TRIAL'
    AND NOT EXISTS (SELECT FROM read_interactive.tasks i WHERE i.task_id = $1) HAVING count(*) > 0"""

OTHER = "SELECT kind, created_at, ended_at FROM read_interactive.tasks WHERE task_id = $1"

ACCELERATORS = """SELECT r.allocation_id, r.container_id, r.task_id, r.node_name, r.accelerator_type, r.uuids,
    coalesce(a.pool, '') AS pool
FROM measures.accelerators r LEFT JOIN read_tasks.allocations a ON a.allocation_id = r.allocation_id
WHERE r.task_id = $1 ORDER BY r.allocation_id, r.container_id"""

CONTEXT = """SELECT e.model_definition FROM read_experiments.experiments e
JOIN read_trials.trials t ON t.experiment_id = e.id WHERE t.task_id = $1
UNION ALL SELECT i.context FROM read_interactive.tasks i WHERE i.task_id = $1"""


class PostgresTasks:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def live(self, scope: Scope) -> Sequence[AllocationRow]:
        where = _live(scope)
        return _allocations(await self._tables.rows(f"{ALLOCATIONS}{where.sql}{BY_AGE}", *where.args))

    async def live_tasks(self, scope: Scope) -> Mapping[str, int]:
        where = _live(scope)
        rows = await self._tables.rows(f"{LIVE_TASKS}{where.sql} GROUP BY task_type", *where.args)
        return {row["task_type"]: row["tasks"] for row in rows}

    async def placements(self, allocation_ids: Collection[str]) -> Sequence[PlacementRow]:
        return [_placement(row) for row in await self._tables.rows(PLACEMENTS, sorted(allocation_ids))]

    async def of_task(self, task_id: str) -> Sequence[AllocationRow]:
        return _allocations(await self._tables.rows(f"{ALLOCATIONS} WHERE task_id = $1{BY_AGE}", task_id))

    async def allocation(self, allocation_id: str) -> AllocationRow | None:
        row = await self._tables.row(f"{ALLOCATIONS} WHERE allocation_id = $1", allocation_id)
        return None if row is None else _allocation(row)

    async def trial(self, task_id: str) -> TrialTimes | None:
        row = await self._tables.row(TRIAL, task_id)
        return None if row is None else TrialTimes(row["started_at"], row["ended_at"])

    async def other(self, task_id: str) -> OtherTask | None:
        row = await self._tables.row(OTHER, task_id)
        return None if row is None else OtherTask(**row)

    async def is_known(self, task_id: str) -> bool:
        return bool(await self._tables.value(KNOWN, task_id))

    async def has_ended(self, task_id: str) -> bool:
        return bool(await self._tables.value(ENDED, task_id))

    async def accelerators(self, task_id: str) -> Sequence[AcceleratorRow]:
        rows = await self._tables.rows(ACCELERATORS, task_id)
        return [AcceleratorRow(**{**row, "uuids": tuple(orjson.loads(row["uuids"]))}) for row in rows]

    async def context_directory(self, task_id: str) -> str | None:
        address: str | None = await self._tables.value(CONTEXT, task_id)
        return address


def _live(scope: Scope) -> Where:
    homes = WORKSPACE_OF_EXPERIMENT.format("experiment_id"), WORKSPACE_OF_TASK.format("allocations.task_id")
    where = Where(scope, f"coalesce({', '.join(homes)})")
    where.plain("ended_at IS NULL")
    return where


def _allocations(rows: Sequence[asyncpg.Record]) -> Sequence[AllocationRow]:
    return [_allocation(row) for row in rows]


def _allocation(row: asyncpg.Record) -> AllocationRow:
    return AllocationRow(
        allocation_id=row["allocation_id"],
        task_id=row["task_id"],
        task_type=row["task_type"],
        pool=row["pool"],
        name=row["name"],
        slots=row["slots"],
        priority=row["priority"],
        state=AllocationState(row["state"]),
        why=row["why"],
        requested_at=row["requested_at"],
        started_at=row["started_at"],
        preemption_deadline_at=row["preemption_deadline_at"],
        ended_at=row["ended_at"],
        exit_code=row["exit_code"],
        ready=row["ready"],
    )


def _placement(row: asyncpg.Record) -> PlacementRow:
    return PlacementRow(
        resources_id=row["resources_id"],
        allocation_id=row["allocation_id"],
        agent_id=row["agent_id"],
        slot_ids=tuple(row["slot_ids"]),
        state=ShareState(row["state"]),
        address=row["address"],
    )


QUERIES: Port[TaskQueries] = Port(PostgresTasks)
