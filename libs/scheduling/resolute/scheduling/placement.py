"""Where an allocation fits: on one agent, tightly or spread out; whole agents for what is larger; all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.pool import Placement
from resolute.scheduling.agents import Agent
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import Kind, kind_in, kind_of
from resolute.scheduling.jobs import Queued
from resolute.scheduling.overlay import Order
from resolute.scheduling.pool import Pool

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
        hosts = _host_without_slots(pool, kind, fitting)
    else:
        promise = pool.promises.get(allocation.id)
        own = promise.agents if promise is not None else frozenset[str]()

        def barred(agent_id: str) -> bool:
            return agent_id in kind.blocked or agent_id in reserved or (agent_id in pool.kept and agent_id not in own)

        kind = kind if most is None else kind._replace(most=min(kind.most, most))
        size = kind.slots if kind.slots == kind.most else _most_that_fits(pool.room, pool.idle, kind, fitting, barred)
        hosts = _hosts(pool.room, pool.idle, kind.of_size(size), fitting, barred) if size else []
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
        if kind.slots % size == 0 and _how_many(pool, kind, size) >= count:
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
    """The smallest of what it asks that the pool could hold, were it idle. Long ranges cost no more than short ones."""
    if kind.slots <= largest(pool, kind):
        return kind.of_size(kind.slots)
    if kind.single_agent:
        return None
    if fitting.uneven and _uneven(pool.capacity, kind.slots, kind.blocked.__contains__):
        return kind.of_size(kind.slots)
    whole = ((-(-kind.slots // size), size) for size in sizes(pool.capacity))
    able = (count * size for count, size in whole if count * size <= kind.most and _how_many(pool, kind, size) >= count)
    found = min(able, default=None)
    return None if found is None else kind.of_size(found)


def greatest(pool: Pool, kind: Kind, fitting: Fitting) -> int:
    """The most of what it asks that the pool could hold, were it idle; 0 where it could hold nothing of that."""
    return _most_that_fits(pool.capacity, pool.capacity, kind, fitting, kind.blocked.__contains__)


def fewest(pool: Pool, kind: Kind, fitting: Fitting) -> int:
    """The slots that are to come free before one of a range can be placed: not always as few as it asks for."""
    if kind.slots == kind.most:
        return kind.slots
    return (least(pool, kind, fitting) or kind).slots


def first_able(pool: Pool, start: tuple[Any, ...], fitting: Fitting) -> Queued | None:
    """The first place in the queue from `start` on, of the kind that begins with, of a job whose limit allows as many
    slots as can be placed."""
    kind = kind_in(start)
    slots = fewest(pool, kind, fitting)
    for entry in pool.queue.since(start):
        if kind_in(entry) != kind:
            return None
        if slots == kind.slots or not pool.jobs[entry[-1]].at_its_limit(slots):
            return entry
    return None


def _how_many(pool: Pool, kind: Kind, size: int) -> int:
    """Agents of one size that it may use, held or not."""
    barred = sum((size, agent_id) in pool.capacity for agent_id in kind.blocked)
    return pool.capacity.count((size, ""), (size + 1, "")) - barred


def _most_that_fits(room: BySize, idle: BySize, kind: Kind, fitting: Fitting, barred: Barred) -> int:
    """The largest number of what it asks that can be placed; 0 where none can. `room`, `idle`: see `_hosts`."""
    able = [min(kind.most, free) for free, _ in islice(_open(room, barred), 1)]
    if not kind.single_agent and (not able or able[0] < kind.most):
        for size in sizes(idle):
            able.append(size * sum(1 for _ in _of_size(idle, size, kind.most // size, barred)))
        if fitting.uneven:
            able.append(min(kind.most, sum(size for size, _ in _open(idle, barred))))
    return max((size for size in able if size >= kind.slots), default=0)


def _open(order: BySize, barred: Barred) -> Iterator[tuple[int, str]]:
    """Those that may be used, the largest first."""
    return (entry for entry in reversed(order) if not barred(entry[1]))


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


def _host_without_slots(pool: Pool, kind: Kind, fitting: Fitting) -> Hosts:
    """Where a task without slots runs: spread out, on the agent with the fewest such tasks; packed, on the one with the
    most that may have one more, and before an idle agent on one that holds slots: so elastic agents go idle."""
    hosts: Iterable[tuple[int, str]] = pool.hosts if fitting.spread else reversed(pool.hosts)
    open_ = [(n, name) for n, name in hosts if n < fitting.zero_slot_tasks_max and name not in kind.blocked]
    if not open_:
        return []
    count, chosen = open_[0]
    if not fitting.spread and not count:
        chosen = next((name for _, name in reversed(open_) if pool.agents[name].held), open_[-1][1])
    return [(chosen, 0)]
