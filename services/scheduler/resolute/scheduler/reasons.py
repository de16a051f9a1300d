"""Why an allocation waits: worked out by those who decide, when they decide, and recorded.

A reason is recorded when a request is queued, and when another rule comes to hold what is first in line, by kind of
demand, or first of its job. Those further back keep the reason they were queued with, so that ten thousand who wait
cost no more than the few who might be next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from resolute.proto.message import Event
from resolute.proto.pool import (
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    AllocationHeldBack,
    AllocationRequested,
    AllocationWaits,
    Holder,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.scheduler import fit, placement
from resolute.scheduler.allocation import HELD_BACK, Allocation, State
from resolute.scheduler.demands import Kind, kind_of
from resolute.scheduler.policies.passes import without_slots
from resolute.scheduler.policies.policy import Policy
from resolute.scheduler.pool import MAKING_ROOM, Pool
from resolute.scheduler.provisioner.outlook import outlook

NAMED = 5
"""How many jobs a reason names."""

AT_ONCE = 1_000
"""How many are told at once that the pool has become too small for them, or large enough: others are when they are
first in line."""

OTHER_AGENTS = (AgentJoined, AgentLost, AgentEnabled, AgentDisabled, SlotEnabled, SlotDisabled)

IN_LINE, BUSY, WHOLE_AGENTS = "in_line", "busy", "whole_agents"
MAX_SLOTS, FAIR_SHARE = "max_slots", "fair_share"
STARTING, SUSPENDED = "starting", "suspended"


def changed(pool: Pool, events: Iterable[Event], policy: Policy, now: datetime) -> Iterator[Event]:
    """The reasons that are to be recorded after `events`, which made `pool` what it is."""
    heads = {head.id: head for head in (*policy.heads(pool), *without_slots(pool))}
    ripe = [pool.allocations[allocation_id] for (allocation_id,) in pool.ripe]
    concerned = {one.id: one for one in (*ripe, *_concerned(pool, events), *_with_other_agents(pool, events, policy))}
    for allocation in (concerned | heads).values():
        if allocation.state is State.WAITING:
            told = _reason(pool, allocation, policy, allocation.id in heads, now)
            if _is_news(allocation, told):
                yield told


def _concerned(pool: Pool, events: Iterable[Event]) -> Iterator[Allocation]:
    """Those just queued; those for whom room is made; and the first of the jobs that were given slots."""
    for event in events:
        match event:
            case AllocationRequested(allocation_id=allocation_id):
                yield from _known(pool, allocation_id)
            case SlotsAssigned(allocation_id=allocation_id):
                for allocation in _known(pool, allocation_id):
                    yield from _first_of_job(pool, allocation.request.job_id)
            case _:
                if (beneficiary := getattr(event, "for_allocation", None)) is not None:
                    yield from _known(pool, beneficiary)


def _with_other_agents(pool: Pool, events: Iterable[Event], policy: Policy) -> Iterator[Allocation]:
    """Those whom the pool can hold now and could not before, or the other way about: many of them, if not all."""
    if not any(isinstance(event, OTHER_AGENTS) for event in events):
        return
    fits: dict[Kind, bool] = {}
    news = 0
    for entry in pool.waiting:
        kind, allocation = Kind(*entry[1:4]), pool.allocations[entry[-1]]
        if kind not in fits:
            fits[kind] = placement.could_ever_fit(pool, kind, policy.fitting)
        if fits[kind] == (allocation.rule_waiting == HELD_BACK) and news < AT_ONCE:
            news += 1
            yield allocation


def _known(pool: Pool, allocation_id: str) -> Iterator[Allocation]:
    allocation = pool.allocations.get(allocation_id)
    if allocation is not None:
        yield allocation


def _first_of_job(pool: Pool, job_id: str) -> Iterator[Allocation]:
    entry = pool.waiting.first((job_id,))
    if entry is not None and entry[0] == job_id:
        yield pool.allocations[entry[-1]]


def _is_news(allocation: Allocation, told: AllocationHeldBack | AllocationWaits) -> bool:
    before = allocation.rule_waiting
    if isinstance(told, AllocationHeldBack):
        return told.reason != allocation.why_waiting
    # How the free slots lie changes by the minute; that they are too few, or lie wrongly, is one story.
    return told.rule != before and not (told.rule == BUSY and before == WHOLE_AGENTS)


def _reason(
    pool: Pool, allocation: Allocation, policy: Policy, is_head: bool, now: datetime
) -> AllocationHeldBack | AllocationWaits:
    kind = kind_of(allocation.request)
    if not placement.could_ever_fit(pool, kind, policy.fitting):
        why, coming = fit.why_not(pool, kind, policy.fitting), outlook(pool.fleet)
        return AllocationHeldBack(allocation.id, f"{why}; {coming}" if coming else why)
    rule = _rule(pool, allocation, policy, kind, is_head)
    count, ahead = policy.ahead(pool, allocation, NAMED) if rule == IN_LINE else (0, [])
    return AllocationWaits(
        allocation_id=allocation.id,
        rule=rule,
        reason=_sentence(pool, allocation, policy, rule, count, ahead),
        since=now,
        slots_needed=kind.slots,
        slots_free=pool.slots_free,
        jobs_ahead=count,
        ahead=tuple(ahead),
        holders=_holders(pool, allocation, rule),
    )


def _rule(pool: Pool, allocation: Allocation, policy: Policy, kind: Kind, is_head: bool) -> str:
    job = pool.jobs[allocation.request.job_id]
    if (promise := pool.promises.get(allocation.id)) is not None and promise.victims:
        return MAKING_ROOM
    if job.at_its_limit(kind.slots):
        return MAX_SLOTS
    if is_head and kind.slots <= pool.slots_free and placement.find(pool, allocation, policy.fitting):
        return IN_LINE
    # Whoever has its share waits for that, though others come first: it would wait just so if nobody did.
    if kind.slots and (is_head or kind.slots > pool.slots_free) and policy.has_its_share(pool, allocation):
        return FAIR_SHARE
    if not is_head:
        return IN_LINE
    if pool.fleet.suspended:
        return SUSPENDED
    if pool.fleet.coming:
        return STARTING
    return WHOLE_AGENTS if 0 < kind.slots <= pool.slots_free else BUSY


def _sentence(pool: Pool, allocation: Allocation, policy: Policy, rule: str, count: int, ahead: list[str]) -> str:
    request, job = allocation.request, pool.jobs[allocation.request.job_id]
    free = f"{pool.slots_free} {'is' if pool.slots_free == 1 else 'are'} free"
    needs = f"it needs {request.slots} of {pool.slots} slots, {free}"
    match rule:
        case "making_room":
            others = len(pool.promises[allocation.id].victims)
            return f"room is being made for it: {others} {'other was' if others == 1 else 'others were'} asked to go"
        case "max_slots":
            return f"job {request.job_id} holds {job.slots_held} slots, and its max_slots is {job.max_slots}"
        case "in_line" if not count:
            return f"others of its own job come first; {needs}"
        case "in_line":
            who = ", ".join(ahead) + (" …" if count > len(ahead) else "")
            return f"{count} {'job comes' if count == 1 else 'jobs come'} first ({who}); {needs}"
        case "fair_share":
            return f"{policy.standing(pool, allocation)}; {needs}"
        case "whole_agents":
            return f"{policy.standing(pool, allocation)}; {needs}, but not where it could use them"
        case "starting" | "suspended":
            return f"{policy.standing(pool, allocation)}; {needs}; {outlook(pool.fleet)}"
    if not request.slots:
        return "every agent runs as many tasks without slots as it may"
    return f"{policy.standing(pool, allocation)}; {needs}"


def _holders(pool: Pool, allocation: Allocation, rule: str) -> tuple[Holder, ...]:
    if rule == MAX_SLOTS:
        job_id = allocation.request.job_id
        return (Holder(job_id, pool.jobs[job_id].slots_held),)
    if not allocation.request.slots:
        return ()
    return tuple(Holder(job_id, -minus_slots) for minus_slots, job_id in islice(pool.holding, NAMED))
