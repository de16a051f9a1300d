"""First come, first served, within priorities: the arithmetic of one policy over a pool, and nothing else.

A smaller number is the higher priority; among equals the older job goes first, and within a job the older
allocation. The order is strict: who is first and does not fit yet keeps those behind him waiting, so that large
jobs do not starve. Only what could not run anyway is passed over: demands beyond the whole pool, and jobs at their
own max_slots. Tasks without slots wait for nobody's slots and have a queue to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from resolute.proto.pool import Placement, ResourcesExited
from resolute.scheduler import placement
from resolute.scheduler.allocation import PREEMPTIBLE, Allocation, State
from resolute.scheduler.pool import Pool, Waiting, evolve


@dataclass(frozen=True, slots=True)
class Assign:
    allocation_id: str
    placements: tuple[Placement, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Preempt:
    allocation_id: str
    reason: str


Decision = Assign | Preempt

Policy = Callable[[Pool], Decision | None]
"""The next thing to do in a pool; None when all that can be done has been. Asked again after each decision."""


def fifo(preemption: bool = False) -> Policy:
    """`preemption`: whether one of higher priority may ask for the slots of lower ones."""

    def next_decision(pool: Pool) -> Decision | None:
        without_slots, first = _first_without_slots(pool), _first_with_slots(pool)
        for candidate in (without_slots, first):
            if candidate is not None and (assigned := _assign(pool, candidate)) is not None:
                return assigned
        return _preempt_for(pool, first) if preemption and first is not None else None

    return next_decision


def demands(pool: Pool) -> Iterator[Waiting]:
    """The first in line of every kind of demand; kinds are (slots, on one agent)."""
    entry = next(iter(pool.waiting), None)
    while entry is not None:
        first = _first_below_its_limit(pool, entry)
        if first is not None:
            yield first
        entry = next(pool.waiting.since((*entry[:2], float("inf"))), None)


def _first_below_its_limit(pool: Pool, head: Waiting) -> Waiting | None:
    for entry in pool.waiting.since(head):
        if entry[:2] != head[:2]:
            return None
        if not pool.max_slots_reached(pool.allocations[entry[-1]]):
            return entry
    return None


def _first_without_slots(pool: Pool) -> Allocation | None:
    entry = next(iter(pool.waiting), None)
    return pool.allocations[entry[-1]] if entry is not None and entry[0] == 0 else None


def _first_with_slots(pool: Pool) -> Allocation | None:
    able = (e for e in demands(pool) if e[0] > 0 and placement.could_ever_fit(pool, e[0], e[1]))
    first = min(able, key=lambda entry: entry[2:], default=None)
    return pool.allocations[first[-1]] if first is not None else None


def _assign(pool: Pool, first: Allocation) -> Assign | None:
    request = first.request
    placements = placement.find(pool, first.id, request.slots, request.single_agent)
    if not placements:
        return None
    hosts = ", ".join(p.agent_id for p in placements)
    if request.slots == 0:
        reason = f"needs no slots; {hosts} runs the fewest such tasks"
    elif len(placements) == 1:
        reason = f"first in the queue at priority {request.priority}; {hosts} is the tightest fit"
    else:
        reason = f"first in the queue at priority {request.priority}; larger than one agent, so all of {hosts}"
    return Assign(first.id, placements, reason)


def _preempt_for(pool: Pool, first: Allocation) -> Preempt | None:
    """The next of the lower priorities to go, when that and what is going already makes room; the youngest first."""
    imagined = pool.draft()
    for going in [a for a in imagined.allocations.values() if _is_going(a)]:
        _vacate(imagined, going)
    if _fits(imagined, first):
        return None
    victims = [a for a in imagined.allocations.values() if _may_go_for(a, first)]
    chosen = None
    for victim in sorted(victims, key=lambda a: (-a.request.priority, -a.arrival)):
        chosen = chosen or victim
        _vacate(imagined, victim)
        if _fits(imagined, first):
            request = first.request
            return Preempt(chosen.id, f"{first.id} of priority {request.priority} needs {request.slots} slots")
    return None


def _is_going(allocation: Allocation) -> bool:
    return allocation.ending or allocation.state in (State.PREEMPTING, State.YIELDING)


def _may_go_for(allocation: Allocation, first: Allocation) -> bool:
    lower = allocation.request.priority > first.request.priority
    return lower and allocation.request.slots > 0 and allocation.state in PREEMPTIBLE and not allocation.ending


def _vacate(imagined: Pool, allocation: Allocation) -> None:
    for share_id, share in allocation.shares.items():
        if not share.exited:
            evolve(imagined, ResourcesExited(allocation.id, share_id, 0, "imagined"))


def _fits(pool: Pool, allocation: Allocation) -> bool:
    request = allocation.request
    return bool(placement.find(pool, allocation.id, request.slots, request.single_agent))
