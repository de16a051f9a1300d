"""Why an allocation waits: found when the scheduler decides, and recorded as an event.

A reason of its own is recorded for an allocation for which room is being made, for the first of a line (the allocations
that ask for the same slots), and for the first of a job that a limit holds. For all others it is recorded once that
they are in line, which stays true until they are first: they wait for what the first of their line waits for
(`resolute.eventlog.waiting`). So the recorded reasons are right at any moment, and ten thousand waiting allocations
cost no more than the few that are first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    PoolConfigured,
    PoolRemoved,
    PoolRestored,
    SlotDisabled,
    SlotEnabled,
)
from resolute.proto.queue import WaitRule
from resolute.scheduling import fit, placement
from resolute.scheduling.allocation import Allocation, State
from resolute.scheduling.demands import Kind, kind_in, kind_of, line_of
from resolute.scheduling.demands import firsts as queue_firsts
from resolute.scheduling.elastic.outlook import outlook
from resolute.scheduling.policies.passes import ahead_without_slots, most_of, without_slots
from resolute.scheduling.policies.policy import Policy
from resolute.scheduling.pool import Pool

NAMED = 5
"""A reason names at most this many jobs."""

OF_THE_POOL = (PoolRestored, PoolConfigured)
"""After these events everything that waits may wait for another reason."""

OTHER_AGENTS = (AgentJoined, AgentLost, AgentEnabled, AgentDisabled, SlotEnabled, SlotDisabled, *OF_THE_POOL)
"""Events that change what the pool could hold when idle."""

Reason = AllocationHeldBack | AllocationWaits


def changed(
    pool: Pool, events: Iterable[Event], jobs: Iterable[str], policy: Policy, now: datetime
) -> Iterator[Reason]:
    """The reasons to record after `events`, which are about `jobs`. `pool` is the pool after these events."""
    at_the_front = firsts(pool, policy)
    told_before = {one: pool.allocations[one] for (one,) in pool.blocked_first}
    concerned = {one.id: one for one in (*_concerned(pool, events, policy), *_of_jobs(pool, jobs, policy))}
    for allocation in (concerned | told_before | at_the_front).values():
        if allocation.state is State.WAITING:
            rule = _own_rule(pool, allocation, policy, at_the_front)
            reason_now = _reason(pool, allocation, policy, rule, now)
            if _is_new(allocation, reason_now):
                yield reason_now


def impossible(pool: Pool, events: Iterable[Event], policy: Policy, now: datetime) -> Iterator[Reason]:
    """The reasons of allocations at the front of a line that the pool cannot hold any more after `events`."""
    if any(isinstance(event, (*OTHER_AGENTS, AllocationRequested)) for event in events):
        for allocation in firsts(pool, policy).values():
            if allocation.rule_waiting != WaitRule.NEVER_FITS:
                rule = _own_rule(pool, allocation, policy, {allocation.id: allocation})
                if rule == WaitRule.NEVER_FITS:
                    yield _reason(pool, allocation, policy, rule, now)


def without_pool(pool: Pool, events: Iterable[Event], now: datetime) -> Iterator[Reason]:
    """The reasons in a pool that was removed: one for each allocation that waits there."""
    assert pool.removed is not None, "the pool is there"
    events = list(events)
    if any(isinstance(event, PoolRemoved) for event in events):
        concerned = list(_all_waiting(pool))
    else:
        asked = [event.allocation_id for event in events if isinstance(event, AllocationRequested)]
        concerned = [pool.allocations[one] for one in asked if one in pool.allocations]
    for allocation in concerned:
        kind = kind_of(allocation.request)
        yield AllocationWaits(
            allocation_id=allocation.id,
            rule=WaitRule.NO_POOL,
            reason=_no_pool(pool.removed),
            since=now,
            slots_needed=kind.slots,
            slots_free=pool.slots_free,
            line=line_of(kind),
        )


def _no_pool(removed: PoolRemoved) -> str:
    there = ", ".join(removed.pools)
    return f"the cluster is configured without pool {removed.pool!r} (there are {there}); it waits until that is back"


def _all_waiting(pool: Pool) -> Iterator[Allocation]:
    return (pool.allocations[entry[-1]] for entry in pool.waiting)


def firsts(pool: Pool, policy: Policy) -> dict[str, Allocation]:
    """By id, the first of every line that is scheduled by itself. Where the policy serves one queue, all wait behind
    its first allocation; one that the pool cannot hold at all does not count as first."""
    found: dict[str, Allocation] = {}
    first: Allocation | None = None
    for head in policy.heads(pool):
        able = placement.could_ever_fit(pool, kind_of(head.request), policy.fitting)
        if not able or first is None or not policy.one_queue:
            found[head.id] = head
        first = first or (head if able else None)
    return found | {head.id: head for head in without_slots(pool)}


def rule_of(pool: Pool, allocation: Allocation, policy: Policy) -> str:
    """The rule that holds an allocation now, whatever is recorded: its own, that of its job, or that of its line."""
    at_the_front, kind = firsts(pool, policy), kind_of(allocation.request)
    rule = _own_rule(pool, allocation, policy, at_the_front)
    if rule != WaitRule.IN_LINE or allocation.id in at_the_front:
        return rule
    if pool.limits(allocation, placement.fewest(pool, kind, policy.fitting)):
        return WaitRule.MAX_SLOTS
    of_line = [one for one in at_the_front.values() if kind_of(one.request) == kind]
    rules = {_own_rule(pool, one, policy, at_the_front) for one in of_line}
    return next((rule for rule in (WaitRule.NEVER_FITS, WaitRule.FAIR_SHARE) if rule in rules), WaitRule.IN_LINE)


def _concerned(pool: Pool, events: Iterable[Event], policy: Policy) -> Iterator[Allocation]:
    """The allocations that were just queued, and those for which room is made, or was to be made."""
    yield from (pool.allocations[allocation_id] for (allocation_id,) in pool.ripe)
    if any(isinstance(event, OF_THE_POOL) for event in events):
        yield from _all_waiting(pool)
    if any(isinstance(event, OTHER_AGENTS) for event in events):
        yield from (pool.allocations[entry[-1]] for entry in pool.promised)
        yield from _limited_by_what_can_be_placed(pool, policy)
    for event in events:
        queued = event.allocation_id if isinstance(event, AllocationRequested) else None
        allocation = pool.allocations.get(queued or getattr(event, "for_allocation", None) or "")
        if allocation is not None:
            yield allocation


def _limited_by_what_can_be_placed(pool: Pool, policy: Policy) -> Iterator[Allocation]:
    """Those whose job's limit would allow the fewest slots they ask for, but not the fewest that there are together,
    and those for which that was recorded when other agents were there."""
    yield from (
        one for one in (pool.allocations[i] for _, i in pool.blocked_by_limit) if one.request.slots_min is not None
    )
    for kind in [kind_in(entry) for entry in queue_firsts(pool.queue)]:
        slots = placement.fewest(pool, kind, policy.fitting)
        for entry in pool.queue.since(kind) if slots > kind.slots else ():
            if kind_in(entry) != kind:
                break
            if pool.jobs[entry[-1]].at_its_limit(slots):
                yield pool.first_of(entry[-1], kind)


def _of_jobs(pool: Pool, jobs: Iterable[str], policy: Policy) -> Iterator[Allocation]:
    """The first of each kind in jobs that a limit of their own holds, and the allocations for which that was
    recorded."""
    for job_id in jobs:
        for kind in pool.jobs[job_id].lines:
            if pool.jobs[job_id].at_its_limit(placement.fewest(pool, kind, policy.fitting)):
                yield pool.first_of(job_id, kind)
        for owner, allocation_id in pool.blocked_by_limit.since((job_id, "")):
            if owner != job_id:
                break
            yield pool.allocations[allocation_id]


def _is_new(allocation: Allocation, reason_now: Reason) -> bool:
    if isinstance(reason_now, AllocationHeldBack):
        return (allocation.rule_waiting, allocation.why_waiting) != (WaitRule.NEVER_FITS, reason_now.reason)
    if reason_now.rule == WaitRule.IN_LINE:  # how many are ahead changes all the time, and is not recorded again
        return allocation.rule_waiting != WaitRule.IN_LINE
    return (allocation.rule_waiting, allocation.why_waiting) != (reason_now.rule, reason_now.reason)


def _reason(pool: Pool, allocation: Allocation, policy: Policy, rule: str, now: datetime) -> Reason:
    kind = kind_of(allocation.request)
    if rule == WaitRule.NEVER_FITS:
        why, coming = fit.why_not(pool, kind, policy.fitting), outlook(pool.fleet)
        return AllocationHeldBack(allocation.id, f"{why}; {coming}" if coming else why, line_of(kind))
    news = rule != allocation.rule_waiting
    count, ahead = _ahead(pool, allocation, policy) if rule == WaitRule.IN_LINE and news else (0, [])
    return AllocationWaits(
        allocation_id=allocation.id,
        rule=rule,
        reason=_sentence(pool, allocation, policy, rule, count, ahead),
        since=now if news or allocation.waits_since is None else allocation.waits_since,
        slots_needed=kind.slots,
        slots_free=pool.slots_free,
        jobs_ahead=count,
        ahead=tuple(ahead),
        holders=_holders(pool, allocation, rule),
        line=line_of(kind),
    )


def _ahead(pool: Pool, allocation: Allocation, policy: Policy) -> tuple[int, list[str]]:
    if not allocation.request.slots:
        return ahead_without_slots(pool, allocation, NAMED)
    return policy.ahead(pool, allocation, NAMED)


def _own_rule(pool: Pool, allocation: Allocation, policy: Policy, at_the_front: Mapping[str, Allocation]) -> str:
    kind, job = kind_of(allocation.request), pool.jobs[allocation.request.job_id]
    slots = placement.fewest(pool, kind, policy.fitting)
    promise = pool.promises.get(allocation.id)
    if promise is not None:
        if not placement.could_ever_fit(pool, kind, policy.fitting):
            return WaitRule.NEVER_FITS
        if promise.victims:
            return WaitRule.MAKING_ROOM
    if pool.limits(allocation, slots):
        first = pool.first_of(allocation.request.job_id, kind) if kind in job.lines else None
        return WaitRule.MAX_SLOTS if first is None or first.id == allocation.id else WaitRule.IN_LINE
    if allocation.id not in at_the_front:
        return WaitRule.IN_LINE
    return _rule_of_first(pool, allocation, policy, kind, slots)


def _rule_of_first(pool: Pool, allocation: Allocation, policy: Policy, kind: Kind, slots: int) -> str:
    """`slots`: the fewest that can be placed of what it asks."""
    if not placement.could_ever_fit(pool, kind, policy.fitting):
        return WaitRule.NEVER_FITS
    most = most_of(pool, allocation, policy)
    if slots <= pool.slots_free and placement.find(pool, allocation, policy.fitting, most=most):
        return WaitRule.IN_LINE
    if kind.slots and policy.has_its_share(pool, allocation):
        return WaitRule.FAIR_SHARE
    if pool.fleet.suspended:
        return WaitRule.SUSPENDED
    if pool.fleet.coming:
        return WaitRule.STARTING
    return WaitRule.WHOLE_AGENTS if 0 < slots <= pool.slots_free else WaitRule.BUSY


def _sentence(pool: Pool, allocation: Allocation, policy: Policy, rule: str, count: int, ahead: list[str]) -> str:
    """The sentence stays true as long as the rule holds: the number of free slots is not in it, and is added when a
    person asks."""
    request, job, kind = allocation.request, pool.jobs[allocation.request.job_id], kind_of(allocation.request)
    match rule:
        case WaitRule.MAKING_ROOM:
            where = ", ".join(sorted(pool.promises[allocation.id].agents))
            return f"room is being made for it on {where}: others were asked to go"
        case WaitRule.MAX_SLOTS:
            promised = f", has room made for {job.slots_promised} more" if job.slots_promised else ""
            limit = f"job {request.job_id} holds {job.slots_held} slots{promised}, and its max_slots is {job.max_slots}"
            if job.max_slots is not None and kind.slots > job.max_slots:
                limit += f", less than the {kind.slots} slots that it needs: raise the limit, or it never runs"
            fewest = placement.fewest(pool, kind, policy.fitting)
            if fewest == kind.slots or pool.limits(allocation, kind.slots):
                return limit
            asked = f"{kind.slots} to {kind.most} slots"
            return f"{limit}; of {asked} the fewest that this pool can place are {fewest}"
        case WaitRule.IN_LINE if not count:
            return "others of its own job come first, or have room kept for them"
        case WaitRule.IN_LINE:
            who = ", ".join(ahead) + (" …" if count > len(ahead) else "")
            return f"{count} {'job' if count == 1 else 'jobs'} came first ({who}) when it got in line"
    if not request.slots:
        return "every agent runs as many tasks without slots as it may"
    range_ = f" to {kind.most}" if kind.most > kind.slots else ""
    needs = f"it needs {kind.slots}{range_} {'slot' if kind.most == 1 else 'slots'}"
    match rule:
        case WaitRule.WHOLE_AGENTS:
            needs += ", and those that are free are not where it could use them"
        case WaitRule.STARTING | WaitRule.SUSPENDED:
            needs += f"; {outlook(pool.fleet)}"
        case WaitRule.BUSY:
            needs += ", and others hold them"
    return f"{policy.claims(pool, allocation)}; {needs}"


def _holders(pool: Pool, allocation: Allocation, rule: str) -> tuple[Holder, ...]:
    if rule == WaitRule.MAX_SLOTS:
        job_id = allocation.request.job_id
        return (Holder(job_id, pool.jobs[job_id].slots_held),)
    if not allocation.request.slots:
        return ()
    return tuple(Holder(job_id, -minus_slots) for minus_slots, job_id in islice(pool.holding, NAMED))
