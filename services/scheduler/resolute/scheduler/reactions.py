"""From events of a pool to orders for its agents: pushed at once, and healed by the next hello when lost."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationKillRequested, ResourcesExited, SlotsAssigned, StopTask
from resolute.scheduler import orders
from resolute.scheduling.allocation import Allocation, Share
from resolute.scheduling.pool import Pool

ANSWERED = (SlotsAssigned, AllocationKillRequested, ResourcesExited)
"""The events that lead to orders."""


def about(recorded: Recorded) -> Hashable:
    """Orders about different allocations may be sent at once; an event that leads to none is about nothing."""
    return getattr(recorded.event, "allocation_id", recorded.id)


def to_start(event: Event, pool: Pool) -> Sequence[tuple[Allocation, Share]]:
    """Shares that agents should start because of `event`; `pool` is as it is now, maybe long after."""
    match event:
        case SlotsAssigned(allocation_id=allocation_id):
            allocation = pool.allocations.get(allocation_id)
            if allocation is not None and not allocation.ending:
                return [(allocation, share) for share in allocation.shares.values() if _has_yet_to_start(share)]
    return []


def to_stop(event: Event, pool: Pool) -> Sequence[tuple[str, StopTask]]:
    """(agent, order) for the shares that should stop because of `event`."""
    match event:
        case AllocationKillRequested(allocation_id=allocation_id) | ResourcesExited(allocation_id=allocation_id):
            allocation = pool.allocations.get(allocation_id)
            if allocation is not None:
                return orders.to_stop(allocation)
    return []


def _has_yet_to_start(share: Share) -> bool:
    return share.address is None and not share.exited
