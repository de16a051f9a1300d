"""The orders for one agent, computed from the state of its pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from resolute.proto.pool import StopTask
from resolute.scheduling.allocation import Allocation, Share
from resolute.scheduling.pool import Pool

ORDERS_BYTES_MAX = 512 * 1024
"""Of the starts in one message to an agent; NATS carries 1 MiB where nothing else is set."""


@dataclass(frozen=True, slots=True)
class Plan:
    start: tuple[tuple[Allocation, Share], ...]
    stop: tuple[StopTask, ...]
    keep: tuple[str, ...]


def plan(pool: Pool, agent_id: str, running: Collection[str]) -> Plan:
    """`running`: the resources_ids that the agent says are alive, or whose exit it has yet to report."""
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
    """How many of the starts that have these sizes go into one message, the first always: each holds a whole
    configuration. The agent says hello again and again, and is given the others then."""
    taken, size_bytes = 0, 0
    for one in sizes_bytes:
        size_bytes += one
        if taken and size_bytes > most_bytes:
            break
        taken += 1
    return taken


def to_stop(allocation: Allocation) -> list[tuple[str, StopTask]]:
    """(agent, order) for every share that has yet to go, once the allocation is ending."""
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
    return allocation.killed_because
