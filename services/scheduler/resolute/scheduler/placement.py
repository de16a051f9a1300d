"""Where an allocation fits: on one agent, tightly or spread out; whole agents for what is larger; all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.pool import Placement
from resolute.scheduler.agents import Agent
from resolute.scheduler.allocation import Allocation
from resolute.scheduler.demands import Kind, kind_of
from resolute.scheduler.overlay import Order
from resolute.scheduler.pool import Pool

_NAMESPACE = uuid.UUID("9b1c0d2e-6f0a-5d0b-8a35-0c5a2f6f3e71")

BySize = Order[tuple[int, str]]
"""(slots, agent id)."""
Hosts = list[tuple[str, int]]
"""Agents, and how many slots to take on each."""
Barred = Callable[[str], bool]
"""Whether an agent is not to be used."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """How a pool places work."""

    spread: bool = False
    """Whether to take the agent with the most room, and not the one with the least that will do."""
    uneven: bool = False
    """Whether what is larger than one agent may take agents of unlike sizes."""
    zero_slot_tasks_max: int = 100
    """How many tasks without slots one agent runs at once."""

    @staticmethod
    def of(pool: ResourcePool) -> Fitting:
        scheduler = pool.scheduler or Scheduler()
        return Fitting(
            scheduler.fitting_policy == "worst", scheduler.allow_heterogeneous_fits, pool.max_aux_containers_per_agent
        )


TIGHT = Fitting()


def resources_id(allocation_id: str, rank: int) -> str:
    """A UUID that is the same on every attempt: an allocation is given slots only once."""
    return str(uuid.uuid5(_NAMESPACE, f"{allocation_id}/{rank}"))


def find(
    pool: Pool, allocation: Allocation, fitting: Fitting, reserved: Collection[str] = (), most: int | None = None
) -> tuple[Placement, ...]:
    """Free slots for it now; empty when it has to wait. What is kept for others, or `reserved`, is theirs.

    One that takes a range is given as many as fit, up to `most`.
    """
    kind = kind_of(allocation.request)
    if kind.slots == 0:
        hosts = _fewest_zero_slot_tasks(pool, kind, fitting)
    else:
        promise = pool.promises.get(allocation.id)
        own = promise.agents if promise is not None else frozenset[str]()

        def barred(agent_id: str) -> bool:
            return agent_id in kind.blocked or agent_id in reserved or (agent_id in pool.kept and agent_id not in own)

        sizes = (size for size in reversed(kind.sizes) if most is None or size <= most)
        found = (_hosts(pool.room, pool.idle, kind.of_size(size), fitting, barred) for size in sizes)
        hosts = next((hosts for hosts in found if hosts), [])
    return tuple(
        Placement(resources_id(allocation.id, rank), host, tuple(sorted(pool.agents[host].free)[:count]))
        for rank, (host, count) in enumerate(hosts)
    )


def nearest(pool: Pool, kind: Kind, fitting: Fitting, reserved: Collection[str]) -> list[str]:
    """The agents with anything free that are nearest to having what it needs.

    Nothing else being placed there, others are nearer only once they have even more free: so it comes to fit.
    """
    kind = least(pool, kind, fitting) or kind
    agents = (pool.agents[name] for _, name in reversed(pool.room) if name not in kind.blocked)
    open_ = (agent for agent in agents if agent.id not in pool.kept and agent.id not in reserved)
    if kind.single_agent or kind.slots <= largest(pool, kind):
        return [agent.id for agent in islice((a for a in open_ if len(a.usable) >= kind.slots), 1)]
    for size in () if fitting.uneven else sizes(pool.capacity):
        count = kind.slots // size
        if kind.slots % size == 0 and pool.capacity.count((size, ""), (size + 1, "")) >= count:
            return [agent.id for agent in islice((a for a in open_ if len(a.usable) == size), count)]
    return _until_enough(open_, kind.slots) if fitting.uneven else []


def largest(pool: Pool, kind: Kind) -> int:
    """The slots of the largest agent that it may use."""
    return next((size for size, agent_id in reversed(pool.capacity) if agent_id not in kind.blocked), 0)


def _until_enough(agents: Iterable[Agent], slots: int) -> list[str]:
    chosen = []
    for agent in agents:
        if slots <= 0:
            break
        chosen.append(agent.id)
        slots -= len(agent.usable)
    return chosen


def could_ever_fit(pool: Pool, kind: Kind, fitting: Fitting) -> bool:
    """Whether the pool as it is known could hold it, were it idle."""
    if kind.slots == 0:
        return fitting.zero_slot_tasks_max > 0 and any(agent_id not in kind.blocked for _, agent_id in pool.hosts)
    return least(pool, kind, fitting) is not None


def least(pool: Pool, kind: Kind, fitting: Fitting) -> Kind | None:
    """The smallest of what it asks that the pool could hold, were it idle."""
    blocked = kind.blocked.__contains__
    sizes = (kind.of_size(size) for size in kind.sizes)
    return next((size for size in sizes if _hosts(pool.capacity, pool.capacity, size, fitting, blocked)), None)


def _hosts(room: BySize, idle: BySize, kind: Kind, fitting: Fitting, barred: Barred) -> Hosts:
    """The agents to place it on. `room` holds (free slots, agent), `idle` those free altogether."""
    one = _most_room(room, kind.slots, barred) if fitting.spread else _least_room(room, kind.slots, barred)
    if one is not None:
        return [(one, kind.slots)]
    if kind.single_agent:
        return []
    return _whole_agents(idle, kind.slots, barred) or (_uneven(idle, kind.slots, barred) if fitting.uneven else [])


def _least_room(room: BySize, slots: int, barred: Barred) -> str | None:
    return next((agent_id for _, agent_id in room.since((slots, "")) if not barred(agent_id)), None)


def _most_room(room: BySize, slots: int, barred: Barred) -> str | None:
    """The first by name of those with the most."""
    for size in sizes(room):
        if size < slots:
            return None
        for found, agent_id in room.since((size, "")):
            if found != size:
                break
            if not barred(agent_id):
                return agent_id
    return None


def sizes(order: BySize) -> Iterator[int]:
    """The sizes there are, largest first."""
    last = next(iter(reversed(order)), None)
    for size in range(last[0], 0, -1) if last is not None else ():
        found = order.first((size, ""))
        if found is not None and found[0] == size:
            yield size


def _whole_agents(idle: BySize, slots: int, barred: Barred) -> Hosts:
    """The fewest idle agents of one size that make up `slots` exactly."""
    for size in sizes(idle):
        count = slots // size
        if size < slots and slots % size == 0 and idle.count((size, ""), (size + 1, "")) >= count:
            group = list(_of_size(idle, size, count, barred))
            if len(group) == count:
                return [(agent_id, size) for agent_id in group]
    return []


def _of_size(idle: BySize, size: int, count: int, barred: Barred) -> Iterator[str]:
    for found, agent_id in idle.since((size, "")):
        if found != size or not count:
            return
        if not barred(agent_id):
            count -= 1
            yield agent_id


def _uneven(idle: BySize, slots: int, barred: Barred) -> Hosts:
    """Idle agents, the largest first; the last of them gives what is missing."""
    hosts: Hosts = []
    for size, agent_id in reversed(idle):
        if not barred(agent_id):
            hosts.append((agent_id, min(size, slots)))
            slots -= hosts[-1][1]
            if not slots:
                return hosts
    return []


def _fewest_zero_slot_tasks(pool: Pool, kind: Kind, fitting: Fitting) -> Hosts:
    for tasks, agent_id in pool.hosts:
        if tasks >= fitting.zero_slot_tasks_max:
            return []
        if agent_id not in kind.blocked:
            return [(agent_id, 0)]
    return []
