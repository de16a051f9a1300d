"""Where an allocation fits: best fit on one agent, whole agents for what is larger than one, all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from resolute.proto.pool import Placement
from resolute.scheduler.overlay import Order
from resolute.scheduler.pool import Pool

ZERO_SLOT_TASKS_MAX = 100
"""How many tasks without slots one agent runs at once."""

_NAMESPACE = uuid.UUID("9b1c0d2e-6f0a-5d0b-8a35-0c5a2f6f3e71")


def resources_id(allocation_id: str, rank: int) -> str:
    """A UUID that is the same on every attempt: an allocation is given slots only once."""
    return str(uuid.uuid5(_NAMESPACE, f"{allocation_id}/{rank}"))


def find(pool: Pool, allocation_id: str, slots: int, single_agent: bool) -> tuple[Placement, ...]:
    """Free slots for it now; empty when it has to wait."""
    if slots == 0:
        hosts = _fewest_zero_slot_tasks(pool)
    else:
        hosts = _hosts(pool.room, pool.idle, slots, single_agent)
    share = slots // len(hosts) if hosts else 0
    return tuple(
        Placement(resources_id(allocation_id, rank), host, tuple(sorted(pool.agents[host].free)[:share]))
        for rank, host in enumerate(hosts)
    )


def could_ever_fit(pool: Pool, slots: int, single_agent: bool) -> bool:
    """Whether the pool as it is known could hold it, were it idle."""
    if slots == 0:
        return next(iter(pool.hosts), None) is not None
    return bool(_hosts(pool.capacity, pool.capacity, slots, single_agent))


def why_it_cannot_fit(pool: Pool, slots: int, single_agent: bool) -> str:
    sizes = sorted({size for size, _ in pool.capacity}, reverse=True)
    if next(iter(pool.hosts), None) is None:
        return "no agent has joined the pool yet, or all are disabled or lost"
    if not sizes:
        return f"it needs {slots} slots and the pool's agents have none"
    if single_agent:
        return f"it needs {slots} slots on one agent and the largest agent of the pool has {sizes[0]}"
    return (
        f"it needs {slots} slots; the largest agent of the pool has {sizes[0]}, and what is larger than one agent "
        "takes whole agents of equal size, of which there are not enough"
    )


def _hosts(room: Order[tuple[int, str]], idle: Order[tuple[int, str]], slots: int, single_agent: bool) -> list[str]:
    """The agents to place it on, equal shares each. `room` holds (free slots, agent), `idle` those free altogether."""
    best = next(room.since((slots, "")), None)
    if best is not None:
        return [best[1]]
    return [] if single_agent else _whole_agents(idle, slots)


def _whole_agents(idle: Order[tuple[int, str]], slots: int) -> list[str]:
    """The fewest idle agents of one size that make up `slots` exactly."""
    found: list[str] = []
    for size, group in _by_size(idle):
        if size < slots and slots % size == 0 and len(group) >= slots // size:
            found = group[: slots // size]
    return found


def _by_size(idle: Order[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    size, group = 0, list[str]()
    for found, agent_id in idle.since((1, "")):
        if found != size and group:
            yield size, group
            group = []
        size = found
        group.append(agent_id)
    if group:
        yield size, group


def _fewest_zero_slot_tasks(pool: Pool) -> list[str]:
    least = next(iter(pool.hosts), None)
    return [least[1]] if least is not None and least[0] < ZERO_SLOT_TASKS_MAX else []
