"""The orders to agents that follow from an event of a pool. They are sent at once. An order that is lost is repeated in
the answer to the agent's next hello."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationKillRequested, ResourcesExited, ResourcesServeOthers, SlotsAssigned, StopTask
from resolute.scheduler import orders
from resolute.scheduling.allocation import Allocation, Share
from resolute.scheduling.pool import Pool

ANSWERED = (SlotsAssigned, AllocationKillRequested, ResourcesExited, ResourcesServeOthers)
"""The events that lead to orders."""


def partition_of(recorded: Recorded) -> Hashable:
    """The allocation of an event: orders about different allocations may be sent side by side. An event without one is
    a partition of its own."""
    return getattr(recorded.event, "allocation_id", recorded.id)


def to_start(event: Event, pool: Pool) -> Sequence[tuple[Allocation, Share]]:
    """The shares that agents have to start because of `event`. `pool` is the newest state, which may be much later."""
    match event:
        case SlotsAssigned(allocation_id=allocation_id):
            allocation = pool.allocations.get(allocation_id)
            if allocation is not None and not allocation.ending:
                return [(allocation, share) for share in allocation.shares.values() if _has_yet_to_start(share)]
    return []


def to_stop(event: Event, pool: Pool) -> Sequence[tuple[str, StopTask]]:
    """(agent id, order) for the shares that have to stop because of `event`."""
    match event:
        case (
            AllocationKillRequested(allocation_id=allocation_id)
            | ResourcesExited(allocation_id=allocation_id)
            | ResourcesServeOthers(allocation_id=allocation_id)
        ):
            allocation = pool.allocations.get(allocation_id)
            if allocation is not None:
                return orders.to_stop(allocation)
    return []


def _has_yet_to_start(share: Share) -> bool:
    return share.address is None and not share.exited
