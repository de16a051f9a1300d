"""A pool: its agents, its queue and its allocations, folded from one stream, `pool-<name>`.

One stream is the fence: whoever appends to it has seen everything before, so a slot is never given twice however
many schedulers run. The fold owns this state; its tables and orders are kept by event, never rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from resolute.proto.message import Event, Object
from resolute.proto.pool import (
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationRequested,
    JobChanged,
    ResourcesExited,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.scheduler import allocation as allocations
from resolute.scheduler.agents import Agent, hold, joined, release
from resolute.scheduler.allocation import HOLDING, Allocation, State
from resolute.scheduler.overlay import Order, Table
from resolute.scheduler.provisioner import fleet
from resolute.scheduler.provisioner.fleet import Fleet

FINISHED_REMEMBERED = 10_000

Waiting = tuple[int, bool, int, int, int, str]
"""An entry of the queue: slots, whether on one agent, priority, arrival of its job, own arrival, allocation id.

Equal demands lie together, so that a demand that cannot be met costs one look however many ask it.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of all allocations of one experiment together."""

    arrival: int
    slots_held: int = 0
    settings: Object = field(default_factory=dict)
    """priority, weight, max_slots, where a person has changed them."""


def _agents_order() -> Order[tuple[int, str]]:
    return Order()


@dataclass(slots=True)
class Pool:
    agents: Table[str, Agent] = field(default_factory=Table)
    allocations: Table[str, Allocation] = field(default_factory=Table)
    """Those that have not exited."""
    finished: Table[str, bool] = field(default_factory=Table)
    """The latest that have: a wish that comes late is told from one for what never was."""
    exits: Order[tuple[int, str]] = field(default_factory=Order)
    """(number of the exit, allocation id) of those."""
    jobs: Table[str, Job] = field(default_factory=Table)
    waiting: Order[Waiting] = field(default_factory=Order)
    of_job: Order[tuple[str, str]] = field(default_factory=Order)
    """(job id, allocation id) of all that have not exited."""
    deadlines: Order[tuple[datetime, str]] = field(default_factory=Order)
    """(when, allocation id) of those asked to give their slots back."""
    room: Order[tuple[int, str]] = field(default_factory=_agents_order)
    """(free slots, agent id) of agents with any."""
    idle: Order[tuple[int, str]] = field(default_factory=_agents_order)
    """(slots, agent id) of agents that are free altogether."""
    capacity: Order[tuple[int, str]] = field(default_factory=_agents_order)
    """(usable slots, agent id) of agents with any, held or not."""
    hosts: Order[tuple[int, str]] = field(default_factory=_agents_order)
    """(zero-slot tasks, agent id) of agents that take work."""
    arrivals: int = 0
    exited: int = 0
    fleet: Fleet = field(default_factory=Fleet)
    """The instances, where the pool is elastic."""

    def draft(self) -> Pool:
        """The pool as it would be: fold into it what is about to be decided."""
        return Pool(
            self.agents.draft(),
            self.allocations.draft(),
            self.finished.draft(),
            self.exits.draft(),
            self.jobs.draft(),
            self.waiting.draft(),
            self.of_job.draft(),
            self.deadlines.draft(),
            self.room.draft(),
            self.idle.draft(),
            self.capacity.draft(),
            self.hosts.draft(),
            self.arrivals,
            self.exited,
            self.fleet,
        )

    def waiting_entry(self, allocation: Allocation) -> Waiting:
        request = allocation.request
        job = self.jobs[request.job_id]
        return (
            request.slots,
            request.single_agent,
            request.priority,
            job.arrival,
            allocation.arrival,
            request.allocation_id,
        )

    def max_slots_reached(self, allocation: Allocation) -> bool:
        limit = allocation.request.max_slots
        return limit is not None and self.jobs[allocation.request.job_id].slots_held + allocation.request.slots > limit


def evolve(pool: Pool, event: Event) -> Pool:
    pool.fleet = fleet.evolve(pool.fleet, event)
    match event:
        case AgentJoined(agent_id=agent_id):
            _put_agent(pool, joined(pool.agents.get(agent_id), agent_id, event.slots, event.host, event.version))
        case AgentLost(agent_id=agent_id):
            _put_agent(pool, replace(pool.agents[agent_id], present=False))
        case AgentEnabled(agent_id=agent_id):
            _put_agent(pool, replace(pool.agents[agent_id], enabled=True))
        case AgentDisabled(agent_id=agent_id):
            _put_agent(pool, replace(pool.agents[agent_id], enabled=False))
        case SlotEnabled(agent_id=agent_id, slot_id=slot_id):
            agent = pool.agents[agent_id]
            _put_agent(pool, replace(agent, disabled_slots=agent.disabled_slots - {slot_id}))
        case SlotDisabled(agent_id=agent_id, slot_id=slot_id):
            agent = pool.agents[agent_id]
            _put_agent(pool, replace(agent, disabled_slots=agent.disabled_slots | {slot_id}))
        case AllocationRequested():
            _request(pool, event)
        case JobChanged():
            _change_job(pool, event)
        case event if isinstance(event, fleet.OWN):
            pass
        case _:
            _evolve_allocation(pool, event)
    return pool


def _evolve_allocation(pool: Pool, event: Event) -> None:
    before = pool.allocations[_allocation_id(event)]
    after = allocations.evolve(before, event)
    pool.allocations[after.id] = after
    match event:
        case SlotsAssigned():
            _assign(pool, before, event)
        case ResourcesExited(resources_id=resources_id):
            placement = before.shares[resources_id].placement
            agent = pool.agents[placement.agent_id]
            _put_agent(pool, release(agent, resources_id, placement.slot_ids))
        case AllocationExited():
            _finish(pool, before)
    _keep_deadline(pool, before, after)


def _allocation_id(event: Event) -> str:
    """Events that are about no agent and no job are about one allocation, and say which."""
    allocation_id: str = event.allocation_id  # type: ignore[attr-defined]
    return allocation_id


def _request(pool: Pool, event: AllocationRequested) -> None:
    pool.arrivals += 1
    if event.job_id not in pool.jobs:
        pool.jobs[event.job_id] = Job(arrival=pool.arrivals)
    allocation = Allocation(event, allocations.FLOW[State.ABSENT, type(event)], pool.arrivals)
    assert allocation.id not in pool.allocations, f"{allocation.id} was requested twice"
    pool.allocations[allocation.id] = allocation
    pool.waiting.add(pool.waiting_entry(allocation))
    pool.of_job.add((event.job_id, allocation.id))


def _assign(pool: Pool, allocation: Allocation, event: SlotsAssigned) -> None:
    pool.waiting.discard(pool.waiting_entry(allocation))
    for placement in event.placements:
        agent = pool.agents[placement.agent_id]
        _put_agent(pool, hold(agent, placement.resources_id, allocation.id, placement.slot_ids))
    _count_slots(pool, allocation, +1)


def _finish(pool: Pool, allocation: Allocation) -> None:
    assert allocation.gone, f"{allocation.id} exited while a share of it may run"
    pool.waiting.discard(pool.waiting_entry(allocation))
    if allocation.state in HOLDING:
        _count_slots(pool, allocation, -1)
    pool.allocations.discard(allocation.id)
    pool.of_job.discard((allocation.request.job_id, allocation.id))
    pool.exited += 1
    pool.finished[allocation.id] = True
    pool.exits.add((pool.exited, allocation.id))
    oldest = next(iter(pool.exits))
    if oldest[0] <= pool.exited - FINISHED_REMEMBERED:
        pool.exits.discard(oldest)
        pool.finished.discard(oldest[1])


def _count_slots(pool: Pool, allocation: Allocation, sign: int) -> None:
    job = pool.jobs[allocation.request.job_id]
    pool.jobs[allocation.request.job_id] = replace(job, slots_held=job.slots_held + sign * allocation.request.slots)


def _keep_deadline(pool: Pool, before: Allocation, after: Allocation) -> None:
    if before.deadline_at is not None:
        pool.deadlines.discard((before.deadline_at, before.id))
    if after.deadline_at is not None and after.state in (State.PREEMPTING, State.YIELDING):
        pool.deadlines.add((after.deadline_at, after.id))


def _change_job(pool: Pool, event: JobChanged) -> None:
    job = pool.jobs[event.job_id]
    pool.jobs[event.job_id] = replace(job, settings={**job.settings, **event.changes})
    for job_id, allocation_id in list(pool.of_job.since((event.job_id, ""))):
        if job_id != event.job_id:
            return
        _change_request(pool, pool.allocations[allocation_id], event.changes)


def _change_request(pool: Pool, allocation: Allocation, changes: Object) -> None:
    if allocation.state is State.WAITING:
        pool.waiting.discard(pool.waiting_entry(allocation))
    allocation = replace(allocation, request=replace(allocation.request, **changes))
    pool.allocations[allocation.id] = allocation
    if allocation.state is State.WAITING:
        pool.waiting.add(pool.waiting_entry(allocation))


def _put_agent(pool: Pool, agent: Agent) -> None:
    """Replace an agent, and its places in the orders that placement looks at."""
    before = pool.agents.get(agent.id)
    if before is not None:
        for order, entry in _places(pool, before):
            order.discard(entry)
    pool.agents[agent.id] = agent
    for order, entry in _places(pool, agent):
        order.add(entry)


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
