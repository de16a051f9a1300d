"""One allocation: the right of a task to run on some slots for a while, from the request to its last exit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from resolute.proto.message import Event
from resolute.proto.pool import (
    AllocationExited,
    AllocationHeldBack,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    AllocationWaits,
    Placement,
    PreemptionAcknowledged,
    PreemptionRequested,
    ResourcesExited,
    ResourcesServeOthers,
    ResourcesStarted,
    SlotsAssigned,
    reference_in,
)
from resolute.proto.queue import WaitRule
from resolute.proto.states import AllocationOutcome


class State(Enum):
    ABSENT = "absent"
    WAITING = "waiting"
    ASSIGNED = "assigned"
    """It holds its slots; not all of its shares run yet."""
    RUNNING = "running"
    PREEMPTING = "preempting"
    """Asked to checkpoint and go."""
    YIELDING = "yielding"
    """It has acknowledged that."""
    KILLING = "killing"
    EXITED = "exited"


FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, AllocationRequested): State.WAITING,
    (State.WAITING, AllocationHeldBack): State.WAITING,
    (State.WAITING, AllocationWaits): State.WAITING,
    (State.WAITING, SlotsAssigned): State.ASSIGNED,
    (State.WAITING, AllocationExited): State.EXITED,
    (State.ASSIGNED, ResourcesStarted): State.ASSIGNED,
    (State.ASSIGNED, AllocationStarted): State.RUNNING,
    (State.ASSIGNED, PreemptionRequested): State.PREEMPTING,
    (State.ASSIGNED, AllocationKillRequested): State.KILLING,
    (State.ASSIGNED, ResourcesServeOthers): State.ASSIGNED,
    (State.ASSIGNED, ResourcesExited): State.ASSIGNED,
    (State.ASSIGNED, AllocationExited): State.EXITED,
    (State.RUNNING, PreemptionRequested): State.PREEMPTING,
    (State.RUNNING, AllocationKillRequested): State.KILLING,
    (State.RUNNING, ResourcesServeOthers): State.RUNNING,
    (State.RUNNING, ResourcesExited): State.RUNNING,
    (State.RUNNING, AllocationExited): State.EXITED,
    (State.PREEMPTING, ResourcesStarted): State.PREEMPTING,
    (State.PREEMPTING, AllocationStarted): State.PREEMPTING,
    (State.PREEMPTING, PreemptionAcknowledged): State.YIELDING,
    (State.PREEMPTING, AllocationKillRequested): State.KILLING,
    (State.PREEMPTING, ResourcesServeOthers): State.PREEMPTING,
    (State.PREEMPTING, ResourcesExited): State.PREEMPTING,
    (State.PREEMPTING, AllocationExited): State.EXITED,
    (State.YIELDING, AllocationKillRequested): State.KILLING,
    (State.YIELDING, ResourcesServeOthers): State.YIELDING,
    (State.YIELDING, ResourcesExited): State.YIELDING,
    (State.YIELDING, AllocationExited): State.EXITED,
    (State.KILLING, ResourcesExited): State.KILLING,
    (State.KILLING, AllocationExited): State.EXITED,
}

STARTABLE = frozenset({State.ASSIGNED, State.PREEMPTING})
"""States in which a share may report that it has started, and have it recorded."""

HOLDING = frozenset({State.ASSIGNED, State.RUNNING, State.PREEMPTING, State.YIELDING, State.KILLING})

PREEMPTIBLE = frozenset({State.ASSIGNED, State.RUNNING})


@dataclass(frozen=True, slots=True)
class Share:
    """What is known of the part on one agent."""

    placement: Placement
    rank: int
    address: str | None = None
    """Where its peers can reach it, once it has started."""
    exited: bool = False
    exit_code: int | None = None
    reason: str = ""
    hopeless: bool = False
    serves: bool = False
    """Whether it only serves the others: it ends when all others have."""


@dataclass(frozen=True, slots=True)
class Allocation:
    request: AllocationRequested
    """What was asked for; once it holds slots, as many as it was given."""
    state: State
    arrival: int
    shares: Mapping[str, Share] = field(default_factory=dict)
    """By resources_id, in order of rank."""
    rule_waiting: str = ""
    """Which rule was recorded to hold it while it waits: a WaitRule, or empty."""
    why_waiting: str = ""
    waits_since: datetime | None = None
    """When that rule came to hold it."""
    first_since: int | None = None
    """How many slots the pool had given when this was recorded to be the first of its line; None while it is not."""
    deadline_at: datetime | None = None
    overdue: bool = False
    killed_because: str = ""
    preempted_because: str = ""
    going_for: str | None = None
    """Which allocation it was asked to make room for."""
    trouble: Share | None = None
    """The first share that failed or was lost before anyone asked for the end."""
    served: bool = False
    """Whether all shares have exited, except for those that only serve others."""

    @property
    def id(self) -> str:
        return self.request.allocation_id

    @property
    def ending(self) -> bool:
        """Whether every share of it that still runs shall end; at once, unless it is `left_to_end`."""
        return self.state is State.KILLING or self.trouble is not None or self.served

    @property
    def left_to_end(self) -> bool:
        """Whether its shares are given time to end by themselves: one of a gang that was running has failed.

        The launchers of a gang end together, and a program around them may have a report to write. Shares that wait for
        one that never started, or for a host that is lost, have nothing to finish. A kill is obeyed at once.
        """
        failed = self.trouble
        if failed is None or failed.exit_code is None or self.state is State.KILLING:
            return False
        return all(share.address is not None for share in self.shares.values())

    @property
    def going(self) -> bool:
        """Whether its slots are on their way back."""
        return self.state in HOLDING and (self.ending or self.state in (State.PREEMPTING, State.YIELDING))

    @property
    def preemptible(self) -> bool:
        """Whether it may be asked to make room for others. A person may ask any that holds slots to go."""
        return self.request.preemptible and self.state in PREEMPTIBLE and not self.ending

    @property
    def gone(self) -> bool:
        return all(share.exited for share in self.shares.values())


def evolve(allocation: Allocation, event: Event) -> Allocation:
    allocation = replace(allocation, state=FLOW[allocation.state, type(event)])
    match event:
        case AllocationHeldBack(reason=reason):
            return replace(allocation, rule_waiting=WaitRule.NEVER_FITS, why_waiting=reason, waits_since=None)
        case AllocationWaits(rule=rule, reason=reason, since=since):
            return replace(allocation, rule_waiting=rule, why_waiting=reason, waits_since=since)
        case SlotsAssigned(placements=placements):
            shares = {p.resources_id: Share(p, rank) for rank, p in enumerate(placements)}
            given = sum(len(placement.slot_ids) for placement in placements)
            request = replace(allocation.request, slots=given, slots_min=None)
            return replace(
                allocation, request=request, shares=shares, rule_waiting="", why_waiting="", waits_since=None
            )
        case ResourcesStarted(resources_id=resources_id, address=address):
            return _with_share(allocation, replace(allocation.shares[resources_id], address=address))
        case PreemptionRequested(deadline_at=deadline_at, reason=reason, for_allocation=other):
            return replace(allocation, deadline_at=deadline_at, preempted_because=reason, going_for=other)
        case AllocationKillRequested(reason=reason, overdue=overdue):
            return replace(allocation, killed_because=reason, overdue=overdue)
        case ResourcesServeOthers(resources_id=resources_id):
            share = replace(allocation.shares[resources_id], serves=True)
            return _looked_over(_with_share(allocation, share))
        case ResourcesExited():
            return _looked_over(_with_exit(allocation, event))
    return allocation


def _looked_over(allocation: Allocation) -> Allocation:
    """With `served`, as its shares say."""
    left = [share for share in allocation.shares.values() if not share.exited]
    served = bool(left) and all(share.serves for share in left)
    return allocation if served == allocation.served else replace(allocation, served=served)


def _with_share(allocation: Allocation, share: Share) -> Allocation:
    return replace(allocation, shares={**allocation.shares, share.placement.resources_id: share})


def _with_exit(allocation: Allocation, event: ResourcesExited) -> Allocation:
    share = replace(
        allocation.shares[event.resources_id],
        exited=True,
        exit_code=event.exit_code,
        reason=event.reason,
        hopeless=event.hopeless,
    )
    if share.exit_code != 0 and not allocation.ending:
        allocation = replace(allocation, trouble=share)
    return _with_share(allocation, share)


def exit_of(allocation: Allocation) -> AllocationExited:
    """The end of an allocation whose shares have all exited, by the share that failed first.

    A lost host is an exception: the task on another host fails first, because it loses its peer before the scheduler
    notices that the host is lost. That must not count as a failure of the task.
    """
    code = _worst_code(allocation)
    if (trouble := allocation.trouble) is not None:
        lost = next((share for share in allocation.shares.values() if share.exited and share.exit_code is None), None)
        if lost is not None and not trouble.hopeless:
            return ended(allocation, AllocationOutcome.LOST, None, lost.reason)
        return replace(
            ended(allocation, AllocationOutcome.EXITED, trouble.exit_code, trouble.reason), hopeless=trouble.hopeless
        )
    if allocation.state is State.KILLING:
        outcome = AllocationOutcome.YIELDED if allocation.overdue else AllocationOutcome.KILLED
        return ended(allocation, outcome, code, allocation.killed_because)
    if allocation.state is State.YIELDING:
        return ended(allocation, AllocationOutcome.YIELDED, code, allocation.preempted_because)
    return ended(allocation, AllocationOutcome.EXITED, code, "")


def ended(allocation: Allocation, outcome: AllocationOutcome, exit_code: int | None, reason: str) -> AllocationExited:
    request = allocation.request
    return AllocationExited(
        allocation_id=allocation.id,
        outcome=outcome,
        exit_code=exit_code,
        reason=reason,
        task_id=request.task_id,
        **reference_in(request),
    )


def _worst_code(allocation: Allocation) -> int | None:
    codes = [share.exit_code for share in _working(allocation) if share.exit_code is not None]
    return max(codes, default=None)


def _working(allocation: Allocation) -> list[Share]:
    """The shares that do not only serve others: there is at least one."""
    return [share for share in allocation.shares.values() if not share.serves]
