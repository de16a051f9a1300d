"""The tables of tasks: their rows, and by what rows are found. `tables.sql` creates them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from resolute.api.kernel.rows import Document, Table


@dataclass(frozen=True, slots=True)
class Allocation:
    allocation_id: str
    pool: str
    task_id: str
    task_type: str
    job_id: str
    live_job_id: str
    """As `job_id`; empty once the allocation has ended. A job may have a hundred thousand allocations that ended, and
    what concerns the others is folded without loading those."""
    name: str
    owner: str
    slots: int
    priority: int
    weight: float
    max_slots: int | None
    experiment_id: int | None
    trial_id: int | None
    state: str
    requested_at: datetime
    why: str = ""
    waits: Document = None
    """The recorded reason, with its time and actor, why it waits; the same below."""
    placed: Document = None
    preempted: Document = None
    killed: Document = None
    preemption_deadline_at: datetime | None = None
    assigned_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """The part of an allocation on one agent."""

    resources_id: str
    allocation_id: str
    share: int
    """Its number within the allocation, from 0."""
    agent_id: str
    slot_ids: tuple[int, ...]
    state: str
    address: str = ""
    exit_code: int | None = None
    reason: str = ""


ALLOCATIONS = Table("allocations", Allocation, key=("allocation_id",), lookups=("live_job_id",))

PLACEMENTS = Table("placements", Placement, key=("resources_id",), lookups=("allocation_id",))
