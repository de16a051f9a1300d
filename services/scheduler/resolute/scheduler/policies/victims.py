"""Who is asked to go: the first in the policy's order whose going makes room, and no more than are needed.

Slots that are on their way back anyway count first, and cost nobody anything. Where room is being made for others
already, what is free is theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from resolute.scheduler.agents import Agent
from resolute.scheduler.allocation import Allocation
from resolute.scheduler.demands import Kind, kind_of
from resolute.scheduler.placement import Fitting, largest, least
from resolute.scheduler.policies.policy import Claim, Taken
from resolute.scheduler.pool import Pool


@dataclass(frozen=True, slots=True)
class Room:
    """Room for one that waits, once these are gone."""

    victims: tuple[Allocation, ...]
    """Those to be asked: none when slots enough are on their way back."""
    agents: tuple[str, ...]


def find(pool: Pool, head: Allocation, claim: Claim, fitting: Fitting, spared: Collection[str]) -> Room | None:
    """How room can be made for `head`; None when nothing would help.

    `spared`: allocations that are not to be asked.
    """
    kind = least(pool, kind_of(head.request), fitting)
    if kind is None:
        return None
    if kind.slots <= largest(pool, kind):
        return _on_one_agent(pool, kind, claim, spared)
    return None if kind.single_agent else _on_whole_agents(pool, kind, claim, fitting, spared)


def _candidates(pool: Pool, claim: Claim, spared: Collection[str]) -> Iterator[tuple[Allocation, bool]]:
    """(allocation, whether it has to be asked)."""
    for (allocation_id,) in pool.leaving:
        yield pool.allocations[allocation_id], False
    for allocation in claim.candidates():
        if allocation.id not in spared:
            yield allocation, True


def _on(pool: Pool, allocation: Allocation, kind: Kind) -> Iterator[tuple[Agent, int]]:
    """The agents that its going would free slots on, and how many."""
    for share in allocation.shares.values():
        agent = pool.agents[share.placement.agent_id]
        count = len(agent.usable.intersection(share.placement.slot_ids))
        if not share.exited and count and agent.id not in kind.blocked:
            yield agent, count


# ---------------------------------------------------------------- one agent


@dataclass(slots=True)
class _Freed:
    """What would be free on one agent."""

    slots: int
    asked: list[tuple[Allocation, int]] = field(default_factory=list)
    taken: Taken = field(default_factory=Counter)


def _on_one_agent(pool: Pool, kind: Kind, claim: Claim, spared: Collection[str]) -> Room | None:
    found: dict[str, _Freed] = {}
    for allocation, asked in _candidates(pool, claim, spared):
        for agent, count in _on(pool, allocation, kind):
            if len(agent.usable) < kind.slots:
                continue
            freed = found.get(agent.id)
            if freed is None:
                freed = found[agent.id] = _Freed(0 if agent.id in pool.kept else len(agent.free))
            if asked:
                if not claim.allows(allocation, freed.taken):
                    continue
                freed.asked.append((allocation, count))
                freed.taken[claim.owner(allocation)] += allocation.request.slots
            freed.slots += count
            if freed.slots >= kind.slots:
                return Room(_needed(freed, kind.slots), (agent.id,))
    return None


def _needed(freed: _Freed, slots: int) -> tuple[Allocation, ...]:
    """Without those whose going is not needed after all."""
    surplus, needed = freed.slots - slots, list[Allocation]()
    for allocation, count in freed.asked:
        if count <= surplus:
            surplus -= count
        else:
            needed.append(allocation)
    return tuple(needed)


# ---------------------------------------------------------------- whole agents


def _on_whole_agents(pool: Pool, kind: Kind, claim: Claim, fitting: Fitting, spared: Collection[str]) -> Room | None:
    empty = [(size, name) for size, name in pool.idle if name not in kind.blocked and name not in pool.kept]
    left: dict[str, int] = {}
    asked_on: dict[str, list[Allocation]] = {}
    taken: Taken = Counter()
    for allocation, asked in _candidates(pool, claim, spared):
        if asked and not claim.allows(allocation, taken):
            continue
        for agent, count in _on(pool, allocation, kind):
            if agent.id in pool.kept:
                continue
            left[agent.id] = left.get(agent.id, len(agent.usable) - len(agent.free)) - count
            if asked:
                asked_on.setdefault(agent.id, []).append(allocation)
            if left[agent.id] == 0:
                empty.append((len(agent.usable), agent.id))
        if asked:
            taken[claim.owner(allocation)] += allocation.request.slots
        if (chosen := _enough(empty, kind.slots, fitting)) is not None:
            needed = {one.id: one for name in chosen for one in asked_on.get(name, ())}
            return Room(tuple(needed.values()), tuple(chosen))
    return None


def _enough(empty: list[tuple[int, str]], slots: int, fitting: Fitting) -> list[str] | None:
    """Agents that make it up: those emptied first."""
    for size in sorted({size for size, _ in empty}, reverse=True):
        group = [name for found, name in empty if found == size]
        if slots % size == 0 and len(group) >= slots // size:
            return group[: slots // size]
    if fitting.uneven and sum(size for size, _ in empty) >= slots:
        return _largest(empty, slots)
    return None


def _largest(empty: list[tuple[int, str]], slots: int) -> list[str]:
    chosen = []
    for size, name in sorted(empty, key=lambda found: -found[0]):
        if slots > 0:
            chosen.append(name)
            slots -= size
    return chosen
