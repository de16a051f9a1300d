"""A pool: its agents, its queue and its allocations, folded from one stream, `pool-<name>`.

An append to the stream succeeds only when its writer has read all earlier events, so a slot is never given twice,
however many schedulers run. Only the fold changes this state; its tables and orders are updated by each event and never
rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from fractions import Fraction

from resolute.proto.message import Event, Object
from resolute.proto.pool import (
    NUMBERED,
    UNRECORDED,
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationHeldBack,
    AllocationRequested,
    AllocationWaits,
    JobChanged,
    JobMoved,
    PoolConfigured,
    PoolRemoved,
    PoolRestored,
    PreemptionRequested,
    ResourcesExited,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
    Turn,
)
from resolute.proto.queue import RULES_OF_THE_FIRST, WaitRule
from resolute.scheduling import allocation as allocations
from resolute.scheduling import configured, turn_accounting
from resolute.scheduling.agents import Agent, hold, joined, release, slot_disabled, slot_enabled
from resolute.scheduling.allocation import Allocation, State
from resolute.scheduling.demands import FIELDS, Kind, kind_in, kind_of
from resolute.scheduling.elastic import fleet
from resolute.scheduling.elastic.fleet import Fleet
from resolute.scheduling.jobs import Job, Queued, promised, waits
from resolute.scheduling.overlay import Order, Table
from resolute.scheduling.shares import Shares
from resolute.scheduling.turn_accounting import FirstTurnRules

FINISHED_REMEMBERED = 10_000
JOBS_REMEMBERED = 10_000
"""How many jobs without an allocation are remembered: such a job may come back to its place. What people set for a job
is also in a configuration, and comes with its next request."""

Waiting = tuple[str, int, bool, tuple[str, ...], int, bool, int, str]
"""A waiting allocation: job id, a kind of demand, whether room is being made for it, arrival, allocation id."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Allocations that were preempted so that a waiting one gets room."""

    victims: frozenset[str]
    """The preempted allocations that have not exited yet. When all have, the waiting one gets its slots, or the promise
    ends."""
    agents: frozenset[str]
    """The agents on which room is made. Free slots there are kept for the waiting allocation."""
    slots: int
    """For how many slots room is made."""


@dataclass(slots=True)
class Pool:
    agents: Table[str, Agent] = field(default_factory=Table)
    allocations: Table[str, Allocation] = field(default_factory=Table)
    """The allocations that have not exited."""
    finished: Table[str, bool] = field(default_factory=Table)
    """The latest that have exited. With them a late command can be distinguished from one for an unknown allocation."""
    exits: Order[tuple[int, str]] = field(default_factory=Order)
    """(number of the exit, allocation id) of those."""
    jobs: Table[str, Job] = field(default_factory=Table)
    resting: Table[str, int] = field(default_factory=Table)
    """When a job came to have no allocation, by its id; counted by how often that has happened."""
    rests: Order[tuple[int, str]] = field(default_factory=Order)
    """(when, job id) of those."""
    waiting: Order[Waiting] = field(default_factory=Order)
    """All that wait, by job."""
    queue: Order[Queued] = field(default_factory=Order)
    """Jobs with something ready to be given slots, by kind of demand, priority and position."""
    positions: Order[tuple[int | Fraction, str]] = field(default_factory=Order)
    """(position, job id) of jobs of which something waits."""
    shares: Shares = field(default_factory=Shares)
    """Between jobs."""
    user_shares: Shares = field(default_factory=lambda: Shares(by_user=True))
    of_job: Order[tuple[str, str]] = field(default_factory=Order)
    """(job id, allocation id) of all that have not exited."""
    holding: Order[tuple[int, str]] = field(default_factory=Order)
    """(minus slots held, job id)."""
    victims: Order[tuple[str, int, str]] = field(default_factory=Order)
    """(job id, minus arrival, allocation id) of those that could be asked to go."""
    victim_jobs: Order[tuple[int, int | Fraction, str]] = field(default_factory=Order)
    """(minus priority, minus position, job id) of the jobs of those."""
    leaving: Order[tuple[str]] = field(default_factory=Order)
    """(allocation id) of those that hold slots and are on their way out, and not to make room for one that waits."""
    promises: Table[str, Promise] = field(default_factory=Table)
    """By the id of the allocation that waits."""
    promised: Order[tuple[int, bool, tuple[str, ...], int, int, str]] = field(default_factory=Order)
    """(a kind of demand, arrival, allocation id) of those."""
    promised_on: Order[tuple[str, str]] = field(default_factory=Order)
    """(agent id, allocation id) of those, by where their room is made."""
    ripe: Order[tuple[str]] = field(default_factory=Order)
    """(allocation id) of those whose victims are all gone: now they fit, or the promise ends."""
    kept: Table[str, int] = field(default_factory=Table)
    """How many promises an agent is part of, by its id."""
    blocked_first: Order[tuple[str]] = field(default_factory=Order)
    """(allocation id) of those that wait, with a reason that is only recorded for the first of a line."""
    blocked_by_limit: Order[tuple[str, str]] = field(default_factory=Order)
    """(job id, allocation id) of those that wait because of the limit of their job."""
    impossible_kinds: Table[Kind, int] = field(default_factory=Table)
    """By kind of demand: how many allocations wait that the pool could never hold. Such a kind has no share."""
    deadlines: Order[tuple[datetime, str]] = field(default_factory=Order)
    """(when, allocation id) of those asked to give their slots back."""
    room: Order[tuple[int, str]] = field(default_factory=Order)
    """(free slots, agent id) of agents with any."""
    idle: Order[tuple[int, str]] = field(default_factory=Order)
    """(slots, agent id) of agents that are free altogether."""
    capacity: Order[tuple[int, str]] = field(default_factory=Order)
    """(usable slots, agent id) of agents with any, held or not."""
    hosts: Order[tuple[int, str]] = field(default_factory=Order)
    """(zero-slot tasks, agent id) of agents that take work."""
    arrivals: int = 0
    """Counts requests and assignments of slots: the time by which places in queues are ordered."""
    exited: int = 0
    rested: int = 0
    given: int = 0
    """The slots given so far, to all allocations together."""
    slots: int = 0
    """Usable, held or not."""
    slots_free: int = 0
    fleet: Fleet = field(default_factory=Fleet)
    """The instances, where the pool is elastic."""
    removed: PoolRemoved | None = None
    """Set while the cluster's configuration does not name the pool: it gives no slots then."""
    settings: Object = field(default_factory=lambda: UNRECORDED)
    """As they are recorded; a pool that was removed keeps them."""

    @property
    def is_known(self) -> bool:
        """Whether the pool has any events."""
        return self.removed is not None or self.arrivals > 0 or next(self.agents.values(), None) is not None

    def draft(self) -> Pool:
        """A copy on write, into which events that are being decided are folded."""
        drafted = {name: getattr(self, name).draft() for name in _DRAFTED}
        plain = {name: getattr(self, name) for name in _PLAIN}
        return Pool(**drafted, **plain)

    def waiting_entry(self, allocation: Allocation) -> Waiting:
        request = allocation.request
        promised = request.allocation_id in self.promises
        return (request.job_id, *kind_of(request), promised, allocation.arrival, request.allocation_id)

    def limits(self, allocation: Allocation, slots: int) -> bool:
        """Whether so many would be more than its job's max_slots, for one that waits or that room is made for."""
        job, promise = self.jobs[allocation.request.job_id], self.promises.get(allocation.id)
        return job.at_its_limit(slots) if promise is None else job.without(promise.slots).at_its_limit(slots)

    def was_passed_over(self, allocation: Allocation) -> bool:
        """Whether as many slots as the pool has were given to others since it was recorded to be first in its line."""
        return allocation.first_since is not None and self.given - allocation.first_since >= self.slots

    def first_of(self, job_id: str, kind: Kind) -> Allocation:
        """The allocation whose turn it is when it is that of a job, for this kind of demand."""
        entry = self.waiting.first((job_id, *kind, False))
        assert entry is not None, f"nothing of {job_id} waits"
        assert entry[: FIELDS + 2] == (job_id, *kind, False), f"nothing of {job_id} waits for {kind}"
        return self.allocations[entry[-1]]


_PLAIN = ("arrivals", "exited", "rested", "given", "slots", "slots_free", "fleet", "removed", "settings")
_DRAFTED = tuple(found.name for found in fields(Pool) if found.name not in _PLAIN)


def evolve(pool: Pool, event: Event) -> Pool:
    _fold(pool, event, turn_accounting.FIRST)
    return pool


def happen(draft: Pool, event: Event) -> Event:
    """Fold an event that is being decided into a draft.

    Returns the event to be recorded: with what was found out while it was folded, so that no later fold has to.
    """
    return _fold(draft, event, turn_accounting.CURRENT)


def _fold(pool: Pool, event: Event, rules: FirstTurnRules) -> Event:
    """`rules`: of what the event does not say."""
    pool.fleet = fleet.evolve(pool.fleet, event)
    if isinstance(event, NUMBERED):
        pool.arrivals += 1
    match event:
        case AgentJoined(agent_id=agent_id):
            _put_agent(pool, joined(pool.agents.get(agent_id), agent_id, event.slots, event.host, event.version))
        case AgentLost(agent_id=agent_id):
            _put_agent(pool, replace(pool.agents[agent_id], present=False))
        case AgentEnabled(agent_id=agent_id):
            _put_agent(pool, replace(pool.agents[agent_id], enabled=True, draining=False))
        case AgentDisabled(agent_id=agent_id, drain=drain):
            _put_agent(pool, replace(pool.agents[agent_id], enabled=False, draining=drain))
        case SlotEnabled(agent_id=agent_id, slot_id=slot_id):
            _put_agent(pool, slot_enabled(pool.agents[agent_id], slot_id))
        case SlotDisabled(agent_id=agent_id, slot_id=slot_id, drain=drain):
            _put_agent(pool, slot_disabled(pool.agents[agent_id], slot_id, drain))
        case PoolConfigured(changes=changes):
            pool.settings = configured.changed(pool.settings, changes)
        case PoolRemoved():
            pool.removed = event
        case PoolRestored():
            pool.removed = None
        case AllocationRequested():
            _request(pool, event)
        case JobChanged(job_id=job_id, changes=changes):
            job = pool.jobs.get(job_id)
            if job is not None:  # or it was changed when more were remembered
                _change_job(pool, job_id, job, changes)
        case JobMoved(job_id=job_id, position=position, priority=priority):
            moved = replace(pool.jobs[job_id], position=Fraction(position))
            _change_job(pool, job_id, moved, {"priority": priority})
        case event if isinstance(event, fleet.OWN):
            pass
        case _:
            return _fold_allocation(pool, event, rules)
    return event


# ---------------------------------------------------------------- allocations


def _fold_allocation(pool: Pool, event: Event, rules: FirstTurnRules) -> Event:
    before = pool.allocations[_allocation_id(event)]
    if isinstance(event, PreemptionRequested) and event.for_allocation is not None and event.still_owed is None:
        event = _with_terms(pool, event, event.for_allocation, rules)
    after = _since_when_first(pool, allocations.evolve(before, event))
    pool.allocations[after.id] = after
    match event:
        case SlotsAssigned():
            event = _assign(pool, before, event, rules)
        case PreemptionRequested(for_allocation=str() as beneficiary, room_on=room_on, room_slots=slots):
            _promise(pool, beneficiary, after.id, frozenset(room_on), slots)
        case AllocationWaits(rule=rule) if rule != WaitRule.MAKING_ROOM:
            _set_promise(pool, after, None)
        case AllocationHeldBack():
            _set_promise(pool, after, None)
        case ResourcesExited(resources_id=resources_id):
            placement = before.shares[resources_id].placement
            agent = pool.agents[placement.agent_id]
            _put_agent(pool, release(agent, resources_id, placement.slot_ids))
    _keep_wait_rule(pool, before, after)
    _keep_stake(pool, after, event)
    _keep_victim(pool, before, after)
    _keep_deadline(pool, before, after)
    if isinstance(event, AllocationExited):
        _finish(pool, before)
    return event


def _since_when_first(pool: Pool, allocation: Allocation) -> Allocation:
    first = allocation.state is State.WAITING and allocation.rule_waiting in RULES_OF_THE_FIRST
    if first == (allocation.first_since is not None):
        return allocation
    return replace(allocation, first_since=pool.given if first else None)


def job_of(pool: Pool, event: Event) -> str | None:
    """The job that an event is about; of a preemption for another, that other's."""
    job_id: str | None = getattr(event, "job_id", None)
    if job_id is not None:
        return job_id
    allocation_id = getattr(event, "for_allocation", None) or getattr(event, "allocation_id", None)
    allocation = pool.allocations.get(allocation_id) if allocation_id is not None else None
    return allocation.request.job_id if allocation is not None else None


def _allocation_id(event: Event) -> str:
    """Events that are about no agent and no job are about one allocation, and say which."""
    allocation_id: str = event.allocation_id  # type: ignore[attr-defined]
    return allocation_id


def _request(pool: Pool, event: AllocationRequested) -> None:
    allocation = Allocation(event, allocations.FLOW[State.ABSENT, type(event)], pool.arrivals)
    assert allocation.id not in pool.allocations, f"{allocation.id} was requested twice"
    pool.allocations[allocation.id] = allocation
    pool.waiting.add(pool.waiting_entry(allocation))
    pool.of_job.add((event.job_id, allocation.id))
    _rest_no_longer(pool, event.job_id)
    job = pool.jobs.get(event.job_id)
    if job is None:
        job = Job(pool.arrivals, event.owner, event.priority, event.weight, event.max_slots, position=pool.arrivals)
    asked = replace(job, priority=event.priority, weight=event.weight, max_slots=event.max_slots)
    _put_job(pool, event.job_id, waits(asked, event, +1))


def _assign(pool: Pool, allocation: Allocation, event: SlotsAssigned, rules: FirstTurnRules) -> SlotsAssigned:
    job = _out_of_line(pool, allocation)
    for placement in event.placements:
        agent = pool.agents[placement.agent_id]
        _put_agent(pool, hold(agent, placement.resources_id, allocation.id, placement.slot_ids))
    request = pool.allocations[allocation.id].request
    pool.given += request.slots
    job = replace(job, slots_held=job.slots_held + request.slots)
    _put_job(pool, request.job_id, job)
    if request.slots and event.turn is None:
        between_jobs, between_users = (
            _turn(pool, shares, allocation, job, rules) for shares in (pool.shares, pool.user_shares)
        )
        event = replace(event, turn=between_jobs, user_turn=between_users)
    for shares, turn in ((pool.shares, event.turn), (pool.user_shares, event.user_turn)):
        if turn is not None:
            shares.served(allocation.id, request.job_id, job, turn, pool.arrivals, pool.given)
    return event


def _turn(pool: Pool, shares: Shares, asking: Allocation, job: Job, rules: FirstTurnRules) -> Turn:
    """`asking`: the allocation as it was before it was given slots."""
    given, asked = pool.allocations[asking.id].request, kind_of(asking.request).slots
    name = shares.group_of(given.job_id, job)
    return rules.turn(shares, name, given.slots, asked, pool.given, pool.slots)


def _with_terms(pool: Pool, event: PreemptionRequested, beneficiary: str, rules: FirstTurnRules) -> PreemptionRequested:
    still_owed = rules.still_owed(pool.shares.stakes.get(event.allocation_id), pool.given, pool.slots)
    return replace(event, still_owed=still_owed, room_slots=_room_slots(pool, event.room_on, beneficiary, rules))


def _room_slots(pool: Pool, room_on: Sequence[str], beneficiary: str, rules: FirstTurnRules) -> int | None:
    """None where room is made for none that waits."""
    allocation, known = pool.allocations.get(beneficiary), pool.promises.get(beneficiary)
    if known is not None:
        return known.slots
    if allocation is None or allocation.state is not State.WAITING:
        return None
    return rules.room_slots(kind_of(allocation.request), [len(pool.agents[name].usable) for name in room_on])


def _out_of_line(pool: Pool, allocation: Allocation) -> Job:
    """Its job, as it is when this waits no longer."""
    request, promise = allocation.request, pool.promises.get(allocation.id)
    job = pool.jobs[request.job_id]
    pool.waiting.discard(pool.waiting_entry(allocation))
    if promise is not None:
        _forget_promise(pool, allocation)
        job = promised(job, kind_of(request), promise.slots, -1)
    return waits(job, request, -1)


def _finish(pool: Pool, allocation: Allocation) -> None:
    assert allocation.gone, f"{allocation.id} exited while a share of it may run"
    request = allocation.request
    if allocation.state is State.WAITING:
        _put_job(pool, request.job_id, _out_of_line(pool, allocation))
    else:
        job = pool.jobs[request.job_id]
        going = request.slots if allocation.going else 0
        held = job.slots_held - request.slots
        _put_job(pool, request.job_id, replace(job, slots_held=held, slots_going=job.slots_going - going))
        _note_victim_gone(pool, allocation)
    pool.allocations.discard(allocation.id)
    pool.of_job.discard((request.job_id, allocation.id))
    _rest(pool, request.job_id)
    pool.exited += 1
    pool.finished[allocation.id] = True
    pool.exits.add((pool.exited, allocation.id))
    oldest = next(iter(pool.exits))
    if oldest[0] <= pool.exited - FINISHED_REMEMBERED:
        pool.exits.discard(oldest)
        pool.finished.discard(oldest[1])


def _keep_victim(pool: Pool, before: Allocation, after: Allocation) -> None:
    """Who may be asked to go, and who is going."""
    if before.preemptible == after.preemptible and before.going == after.going and after.state is not State.EXITED:
        return
    request = after.request
    job = pool.jobs[request.job_id]
    place = (request.job_id, -after.arrival, after.id)
    if after.preemptible and request.slots:
        pool.victims.add(place)
    else:
        pool.victims.discard(place)
    if after.state is State.EXITED:
        pool.leaving.discard((after.id,))
    elif after.going and not before.going:
        if after.going_for is None or after.going_for not in pool.promises:
            pool.leaving.add((after.id,))
        _put_job(pool, request.job_id, replace(job, slots_going=job.slots_going + request.slots))
    _put_victim_job(pool, request.job_id, job)


def _put_victim_job(pool: Pool, job_id: str, job: Job) -> None:
    first = pool.victims.first((job_id,))
    place = (-job.priority, -job.position, job_id)
    if first is not None and first[0] == job_id:
        pool.victim_jobs.add(place)
    else:
        pool.victim_jobs.discard(place)


def _keep_stake(pool: Pool, allocation: Allocation, event: Event) -> None:
    """Updates the shares: whether an allocation kept its slots for a round."""
    job_id = allocation.request.job_id
    for shares in (pool.shares, pool.user_shares):
        if isinstance(event, PreemptionRequested) and event.still_owed:
            shares.still_owed(allocation.id, job_id, pool.jobs[job_id], pool.given)
        elif isinstance(event, AllocationExited):
            shares.kept(allocation.id, job_id, pool.jobs[job_id], pool.given)


def _keep_wait_rule(pool: Pool, before: Allocation, after: Allocation) -> None:
    """Updates the tables of waiting allocations by the rule that holds them. One that waits no longer has no rule."""
    old, new = (one.rule_waiting if one.state is State.WAITING else "" for one in (before, after))
    if old == new:
        return
    if (old in RULES_OF_THE_FIRST) != (new in RULES_OF_THE_FIRST):
        (pool.blocked_first.add if new in RULES_OF_THE_FIRST else pool.blocked_first.discard)((after.id,))
    if WaitRule.NEVER_FITS in (old, new):
        _keep_impossible(pool, kind_of(before.request), +1 if new == WaitRule.NEVER_FITS else -1)
    if WaitRule.MAX_SLOTS in (old, new):
        (pool.blocked_by_limit.add if new == WaitRule.MAX_SLOTS else pool.blocked_by_limit.discard)(
            (after.request.job_id, after.id)
        )


def _keep_impossible(pool: Pool, kind: Kind, change: int) -> None:
    """One more allocation of a kind waits that the pool could never hold, or one less."""
    before = pool.impossible_kinds.get(kind) or 0
    if before + change:
        pool.impossible_kinds[kind] = before + change
    else:
        pool.impossible_kinds.discard(kind)
    if not before or not before + change:
        for job_id in list(_ready_for(pool, kind)):
            _put_job(pool, job_id, pool.jobs[job_id])


def _ready_for(pool: Pool, kind: Kind) -> Iterator[str]:
    """The jobs in the queue with a demand of this kind."""
    for entry in pool.queue.since(kind):
        if kind_in(entry) != kind:
            return
        yield entry[-1]


def _keep_deadline(pool: Pool, before: Allocation, after: Allocation) -> None:
    if before.deadline_at is not None:
        pool.deadlines.discard((before.deadline_at, before.id))
    if after.deadline_at is not None and after.state in (State.PREEMPTING, State.YIELDING):
        pool.deadlines.add((after.deadline_at, after.id))


# ---------------------------------------------------------------- promises


def _promise(pool: Pool, beneficiary: str, victim: str, room_on: frozenset[str], slots: int | None) -> None:
    allocation = pool.allocations.get(beneficiary)
    if allocation is None or allocation.state is not State.WAITING:
        return
    assert slots is not None, f"{victim} was asked to make room for {beneficiary}, and nothing says for how many slots"
    known = pool.promises.get(beneficiary)
    victims = known.victims if known is not None else frozenset()
    _set_promise(pool, allocation, Promise(victims | {victim}, room_on, slots))


def _note_victim_gone(pool: Pool, gone: Allocation) -> None:
    """A preempted allocation has exited: takes it out of the promise that it was preempted for."""
    beneficiary = gone.going_for
    promise = pool.promises.get(beneficiary) if beneficiary is not None else None
    if beneficiary is not None and promise is not None and gone.id in promise.victims:
        left = promise.victims - {gone.id}
        _set_promise(pool, pool.allocations[beneficiary], replace(promise, victims=left))


def _set_promise(pool: Pool, allocation: Allocation, promise: Promise | None) -> None:
    known = pool.promises.get(allocation.id)
    if known is None and promise is None:
        return
    pool.waiting.discard(pool.waiting_entry(allocation))
    if known is not None:
        _forget_promise(pool, allocation)
    if promise is not None:
        pool.promises[allocation.id] = promise
        pool.promised.add((*kind_of(allocation.request), allocation.arrival, allocation.id))
        if not promise.victims:
            pool.ripe.add((allocation.id,))
        for victim in promise.victims:
            pool.leaving.discard((victim,))
        for agent_id in promise.agents:
            pool.promised_on.add((agent_id, allocation.id))
            pool.kept[agent_id] = (pool.kept.get(agent_id) or 0) + 1
    pool.waiting.add(pool.waiting_entry(allocation))
    request, job = allocation.request, pool.jobs[allocation.request.job_id]
    if known is None and promise is not None:
        _put_job(pool, request.job_id, promised(job, kind_of(request), promise.slots, +1))
    elif known is not None and promise is None:
        _put_job(pool, request.job_id, promised(job, kind_of(request), known.slots, -1))


def _forget_promise(pool: Pool, allocation: Allocation) -> None:
    promise = pool.promises[allocation.id]
    for victim in promise.victims:
        if (going := pool.allocations.get(victim)) is not None and going.going:
            pool.leaving.add((victim,))
    for agent_id in promise.agents:
        pool.promised_on.discard((agent_id, allocation.id))
        left = pool.kept[agent_id] - 1
        if left:
            pool.kept[agent_id] = left
        else:
            pool.kept.discard(agent_id)
    pool.promises.discard(allocation.id)
    pool.ripe.discard((allocation.id,))
    pool.promised.discard((*kind_of(allocation.request), allocation.arrival, allocation.id))


# ---------------------------------------------------------------- jobs


def _change_job(pool: Pool, job_id: str, job: Job, changes: Object) -> None:
    _put_job(pool, job_id, replace(job, settings={**job.settings, **changes}, **changes))
    for owner, allocation_id in pool.of_job.since((job_id, "")):
        if owner != job_id:
            return
        allocation = pool.allocations[allocation_id]
        pool.allocations[allocation_id] = replace(allocation, request=replace(allocation.request, **changes))


def _rest(pool: Pool, job_id: str) -> None:
    """Where it has no allocation any more. Those that rest for longest are forgotten."""
    first = pool.of_job.first((job_id, ""))
    if first is not None and first[0] == job_id:
        return
    pool.rested += 1
    pool.resting[job_id] = pool.rested
    pool.rests.add((pool.rested, job_id))
    if len(pool.rests) > JOBS_REMEMBERED:
        _, oldest = next(iter(pool.rests))
        _rest_no_longer(pool, oldest)
        pool.jobs.discard(oldest)


def _rest_no_longer(pool: Pool, job_id: str) -> None:
    since = pool.resting.get(job_id)
    if since is not None:
        pool.resting.discard(job_id)
        pool.rests.discard((since, job_id))


def _put_job(pool: Pool, job_id: str, job: Job) -> None:
    """Replace a job, and its places in the orders that policies look at."""
    before = pool.jobs.get(job_id)
    impossible = frozenset(kind for kind in job.lines if kind in pool.impossible_kinds)
    job = job if job.impossible == impossible else replace(job, impossible=impossible)
    old, new = before.places(job_id) if before is not None else set(), job.places(job_id)
    for entry in old - new:
        pool.queue.discard(entry)
    for entry in new - old:
        pool.queue.add(entry)
    for shares in (pool.shares, pool.user_shares):
        shares.change(job_id, before, job, pool.arrivals, pool.given)
    if before is not None:
        pool.holding.discard((-before.slots_held, job_id))
        pool.positions.discard((before.position, job_id))
        pool.victim_jobs.discard((-before.priority, -before.position, job_id))
    if job.slots_held:
        pool.holding.add((-job.slots_held, job_id))
    if job.waits:
        pool.positions.add((job.position, job_id))
    pool.jobs[job_id] = job
    _put_victim_job(pool, job_id, job)


# ---------------------------------------------------------------- agents


def _put_agent(pool: Pool, agent: Agent) -> None:
    """Replace an agent, and its places in the orders that placement looks at."""
    before = pool.agents.get(agent.id)
    if before is not None:
        for order, entry in _places(pool, before):
            order.discard(entry)
        pool.slots -= len(before.usable)
        pool.slots_free -= len(before.free)
    pool.agents[agent.id] = agent
    for order, entry in _places(pool, agent):
        order.add(entry)
    pool.slots += len(agent.usable)
    pool.slots_free += len(agent.free)


def _places(pool: Pool, agent: Agent) -> list[tuple[Order[tuple[int, str]], tuple[int, str]]]:
    free, usable = len(agent.free), len(agent.usable)
    places = []
    if agent.present and agent.enabled:
        places.append((pool.hosts, (agent.zero_slot_tasks, agent.id)))
    if usable:
        places.append((pool.capacity, (usable, agent.id)))
    if free:
        places.append((pool.room, (free, agent.id)))
    if free and free == usable:
        places.append((pool.idle, (free, agent.id)))
    return places
