"""Tasks and allocations as the wire shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from resolute.api import shown_states, wire
from resolute.api.pools.queries import SlotRow
from resolute.api.pools.shown import device_shown
from resolute.api.shown_states import ShareState
from resolute.api.tasks.messages import (
    AgentDevices,
    Allocation,
    AllocationState,
    AllocationSummary,
    ResourcesSummary,
    StartedResources,
    Task,
    TaskType,
)
from resolute.api.tasks.queries import AllocationRow, OtherTask, PlacementRow, TrialTimes

STATES: Mapping[shown_states.AllocationState, AllocationState] = {
    shown_states.AllocationState.QUEUED: AllocationState.QUEUED,
    shown_states.AllocationState.ASSIGNED: AllocationState.STARTING,
    shown_states.AllocationState.RUNNING: AllocationState.RUNNING,
    shown_states.AllocationState.TERMINATING: AllocationState.TERMINATING,
    shown_states.AllocationState.TERMINATED: AllocationState.TERMINATED,
}


def allocation_of(row: AllocationRow) -> Allocation:
    return Allocation(
        allocation_id=row.allocation_id,
        task_id=row.task_id,
        slots=row.slots,
        state=STATES[row.state],
        is_ready=row.state is shown_states.AllocationState.RUNNING and row.ready is not False,
        start_time=wire.timestamp(row.started_at),
        end_time=wire.timestamp(row.ended_at),
        exit_reason=row.why if row.ended else None,
        status_code=row.exit_code if row.ended else None,
    )


def task_of(
    task_id: str, allocations: Sequence[AllocationRow], trial: TrialTimes | None, other: OtherTask | None = None
) -> Task:
    """At least one of `allocations`, `trial` and `other` is there: a task that is no trial's may wait for its
    allocation. It ends with its last allocation."""
    if not allocations and other is not None:
        kind = TaskType(f"TASK_TYPE_{other.kind}")
        return Task(
            task_id=task_id, task_type=kind, start_time=other.created_at, end_time=other.ended_at, allocations=()
        )
    ends = [row.ended_at for row in allocations if row.ended_at is not None]
    last_end = max(ends) if ends and len(ends) == len(allocations) else None
    return Task(
        task_id=task_id,
        task_type=TaskType(f"TASK_TYPE_{allocations[0].task_type}") if allocations else TaskType.TRIAL,
        start_time=allocations[0].requested_at if trial is None else trial.started_at,
        end_time=last_end if trial is None else trial.ended_at,
        allocations=tuple(map(allocation_of, allocations)),
    )


def summary_of(
    row: AllocationRow, placements: Sequence[PlacementRow], slots: Sequence[SlotRow], scheduler: str
) -> AllocationSummary:
    """`slots`: those of the agents that it is placed on, and perhaps of others."""
    return AllocationSummary(
        allocation_id=row.allocation_id,
        task_id=row.task_id,
        name=row.name,
        registered_time=row.requested_at,
        resources=tuple(_resources_of(placement, slots) for placement in placements),
        slots_needed=row.slots,
        resource_pool=row.pool,
        scheduler_type=scheduler,
        priority=row.priority,
    )


def _resources_of(placement: PlacementRow, slots: Sequence[SlotRow]) -> ResourcesSummary:
    held = [one for one in slots if one.agent_id == placement.agent_id and one.slot_id in placement.slot_ids]
    return ResourcesSummary(
        resources_id=placement.resources_id,
        allocation_id=placement.allocation_id,
        container_id=placement.resources_id,
        agent_devices={placement.agent_id: AgentDevices(devices=tuple(map(device_shown, held)))},
        started=StartedResources() if placement.state is ShareState.RUNNING else None,
    )
