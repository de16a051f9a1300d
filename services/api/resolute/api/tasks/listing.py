"""Showing tasks and their allocations."""

from __future__ import annotations

from collections import defaultdict

from resolute.api.call import Call
from resolute.api.pools import queries as pools
from resolute.api.tasks.lookup import queries_of
from resolute.api.tasks.messages import (
    Accelerators,
    AcceleratorsAnswer,
    ActiveTasksAnswer,
    AllocationAnswer,
    GetActiveTasksCount,
    GetAllocation,
    GetTask,
    GetTaskAcceleratorData,
    GetTasks,
    TaskAnswer,
    TasksAnswer,
)
from resolute.api.tasks.queries import AcceleratorRow, PlacementRow
from resolute.api.tasks.shown import allocation_of, summary_of, task_of
from resolute.proto.errors import NotFound


async def get_tasks(call: Call, request: GetTasks) -> TasksAnswer:
    """Every allocation that runs or waits."""
    queries, scheduler_of = queries_of(call.gateway), call.gateway.settings.scheduler_of
    live = await queries.live(call.scope)
    placed: dict[str, list[PlacementRow]] = defaultdict(list)
    for placement in await queries.placements([row.allocation_id for row in live]):
        placed[placement.allocation_id].append(placement)
    agents = sorted({one.agent_id for placements in placed.values() for one in placements})
    slots = await call.gateway.ports.of(pools.QUERIES).slots(agents)
    return TasksAnswer(
        allocation_id_to_summary={
            row.allocation_id: summary_of(row, placed[row.allocation_id], slots, scheduler_of(row.pool).type)
            for row in live
        }
    )


async def get_active_tasks_count(call: Call, request: GetActiveTasksCount) -> ActiveTasksAnswer:
    """How many interactive tasks there are."""
    counts = await queries_of(call.gateway).live_tasks(call.scope)
    return ActiveTasksAnswer(
        commands=counts.get("COMMAND", 0),
        notebooks=counts.get("NOTEBOOK", 0),
        shells=counts.get("SHELL", 0),
        tensorboards=counts.get("TENSORBOARD", 0),
    )


async def get_task(call: Call, request: GetTask) -> TaskAnswer:
    """One task and its allocations."""
    queries = queries_of(call.gateway)
    allocations, trial = await queries.of_task(request.task_id), await queries.trial(request.task_id)
    other = await queries.other(request.task_id)
    if not allocations and trial is None and other is None:
        raise NotFound(f"task {request.task_id} not found")
    return TaskAnswer(task=task_of(request.task_id, allocations, trial, other))


async def get_allocation(call: Call, request: GetAllocation) -> AllocationAnswer:
    """One allocation."""
    row = await queries_of(call.gateway).allocation(request.allocation_id)
    if row is None:
        raise NotFound(f"allocation {request.allocation_id} not found")
    return AllocationAnswer(allocation=allocation_of(row))


async def get_accelerators(call: Call, request: GetTaskAcceleratorData) -> AcceleratorsAnswer:
    """Which devices the containers of a task were given."""
    queries = queries_of(call.gateway)
    if not await queries.is_known(request.task_id):
        raise NotFound(f"task {request.task_id} not found")
    found = await queries.accelerators(request.task_id)
    return AcceleratorsAnswer(accelerator_data=tuple(map(_accelerators, found)))


def _accelerators(row: AcceleratorRow) -> Accelerators:
    return Accelerators(
        allocation_id=row.allocation_id,
        container_id=row.container_id,
        task_id=row.task_id,
        node_name=row.node_name,
        resource_pool=row.pool,
        accelerator_type=row.accelerator_type,
        accelerator_uuids=row.uuids,
    )
