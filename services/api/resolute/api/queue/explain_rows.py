"""What the tables know of why a job waits, runs or ended: allocations, with the reasons that the scheduler recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordedReason:
    """A reason as the scheduler recorded it, with the time and the actor of the event."""

    reason: str
    at: datetime
    actor: str
    rule: str = ""
    line: str | None = None
    since: datetime | None = None
    for_allocation: str | None = None
    deadline_at: datetime | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> RecordedReason:
        since, deadline = document.get("since"), document.get("deadline_at")
        return cls(
            reason=document["reason"],
            at=datetime.fromisoformat(document["at"]),
            actor=document["actor"],
            rule=document.get("rule", ""),
            line=document.get("line"),
            since=None if since is None else datetime.fromisoformat(since),
            for_allocation=document.get("for_allocation"),
            deadline_at=None if deadline is None else datetime.fromisoformat(deadline),
        )


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    id: int
    state: str
    reason: str
    resource_pool: str


@dataclass(frozen=True, slots=True)
class AllocationRow:
    allocation_id: str
    task_id: str
    trial_id: int | None
    job_id: str
    pool: str
    state: str
    slots: int
    priority: int
    weight: float
    requested_at: datetime
    ended_at: datetime | None
    outcome: str | None
    exit_code: int | None
    why: str
    waits: RecordedReason | None
    placed: RecordedReason | None
    preempted: RecordedReason | None
    killed: RecordedReason | None


@dataclass(frozen=True, slots=True)
class ShareRow:
    """The part of an allocation on one agent."""

    allocation_id: str
    agent_id: str
    slot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JobName:
    job_id: str
    name: str
    owner: str
    experiment_id: int | None


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """An allocation that waits for something else than its line."""

    allocation_id: str
    job_id: str
    slots: int
    waits: RecordedReason


@dataclass(frozen=True, slots=True)
class SlotCount:
    slots: int
    free: int


@dataclass(frozen=True, slots=True)
class JobsAhead:
    count: int
    first: tuple[str, ...]


NONE_AHEAD = JobsAhead(0, ())
