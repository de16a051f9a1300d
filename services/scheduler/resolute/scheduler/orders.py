"""The orders for one agent, computed from the state of its pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from resolute.proto.pool import StopTask
from resolute.scheduling.allocation import Allocation, Share
from resolute.scheduling.pool import Pool

ORDERS_BYTES_MAX = 512 * 1024
"""The most bytes of start orders in one message to an agent. NATS carries 1 MiB by default."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one agent has to do: shares to start, tasks to stop, and the resources ids of tasks to keep."""

    start: tuple[tuple[Allocation, Share], ...]
    stop: tuple[StopTask, ...]
    keep: tuple[str, ...]


def plan(pool: Pool, agent_id: str, running: Collection[str]) -> Plan:
    """`running`: the resources ids of tasks that the agent runs, or whose exit it has not reported yet."""
    start: list[tuple[Allocation, Share]] = []
    stop: list[StopTask] = []
    keep: list[str] = []
    agent = pool.agents.get(agent_id)
    for resources_id, allocation_id in agent.shares.items() if agent is not None else ():
        allocation = pool.allocations[allocation_id]
        if allocation.ending:
            stop.append(_stop(allocation, resources_id))
        elif resources_id in running:
            keep.append(resources_id)
        else:
            start.append((allocation, allocation.shares[resources_id]))
    return Plan(tuple(start), tuple(stop), tuple(keep))


def that_fit(sizes_bytes: Sequence[int], most_bytes: int = ORDERS_BYTES_MAX) -> int:
    """How many starts of these sizes fit into one message: at least one, since each has a whole configuration. The
    others are in the answer to a later hello of the agent."""
    taken, size_bytes = 0, 0
    for one in sizes_bytes:
        size_bytes += one
        if taken and size_bytes > most_bytes:
            break
        taken += 1
    return taken


def to_stop(allocation: Allocation) -> list[tuple[str, StopTask]]:
    """(agent id, order) for every share that has not exited, when the allocation is ending; otherwise none."""
    if not allocation.ending:
        return []
    return [
        (share.placement.agent_id, _stop(allocation, resources_id))
        for resources_id, share in allocation.shares.items()
        if not share.exited
    ]


def _stop(allocation: Allocation, resources_id: str) -> StopTask:
    return StopTask(resources_id, why_stop(allocation), allocation.id, peer_failed=allocation.left_to_end)


def why_stop(allocation: Allocation) -> str:
    trouble = allocation.trouble
    if trouble is not None:
        how = trouble.reason or f"exit code {trouble.exit_code}"
        return f"its share on {trouble.placement.agent_id} ended: {how}"
    return allocation.killed_because or "the resources that it served have exited"
