"""Finding tasks and allocations by their ids, for the calls of running tasks.

A task may call before the tables of this gateway show that the task exists. So whatever is not found is looked for once
more in tables that show everything, and only then is it unknown: an answer 404 ends a trial, and must be true.
"""

from __future__ import annotations

from collections.abc import Sequence

from resolute.api.gateway import Gateway
from resolute.api.kernel.newest import looked_for
from resolute.api.tasks.queries import QUERIES, AllocationRow, PlacementRow, TaskQueries
from resolute.proto.errors import NotFound


def queries_of(gateway: Gateway) -> TaskQueries:
    return gateway.ports.of(QUERIES)


async def allocation(gateway: Gateway, allocation_id: str) -> AllocationRow:
    """Raises NotFound."""
    row = await looked_for(gateway.read, lambda: queries_of(gateway).allocation(allocation_id))
    if row is None:
        raise NotFound(f"allocation {allocation_id!r} not found")
    return row


async def placements(gateway: Gateway, allocation_id: str, resources_id: str) -> Sequence[PlacementRow]:
    """The parts of an allocation, in the order of their ranks. Raises NotFound when `resources_id` is none of them."""

    async def with_resources() -> Sequence[PlacementRow] | None:
        found = await queries_of(gateway).placements([allocation_id])
        return found if any(one.resources_id == resources_id for one in found) else None

    found = await looked_for(gateway.read, with_resources)
    if found is None:
        raise NotFound(f"allocation {allocation_id} has no resources {resources_id}")
    return found


async def task(gateway: Gateway, task_id: str) -> str:
    """The id itself. Raises NotFound when there is no such task."""

    async def known() -> str | None:
        return task_id if await queries_of(gateway).is_known(task_id) else None

    found = await looked_for(gateway.read, known)
    if found is None:
        raise NotFound(f"task {task_id!r} not found")
    return found


async def task_ended(gateway: Gateway, task_id: str) -> bool:
    """Whether no more output is to be expected of the task."""
    return await queries_of(gateway).has_ended(task_id)
