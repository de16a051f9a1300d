"""Which allocations are asked to go, so that one that waits has room: as few slots of the least urgent as suffice.

Two sets of allocations are compared from their most urgent down: the better set takes fewer slots of the most urgent
allocations; where both take as many, fewer of the next, and so on. Among equal sets it is the youngest that go. Slots
that are being given back already count first, since no further allocation has to go for them. On agents where room is
being made for others already, nothing that is free is counted.

What a policy calls urgent is in its claim. On a large pool the search is cut short: see LOOKED_AT and COMBINATIONS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

from resolute.scheduling.agents import Agent
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import Kind
from resolute.scheduling.placement import Fitting, largest, least
from resolute.scheduling.policies.policy import Claim, Taken
from resolute.scheduling.pool import Pool

LOOKED_AT = 200
"""Candidates that are looked at beyond the first with which there is room: among equally urgent ones the first set
found need not be the smallest."""

COMBINATIONS = 1_000
"""Sets of whole agents that are compared with one another; where there are more, the cheapest agents are taken one
after another."""

Cost = tuple[tuple[float, int], ...]
"""(minus an urgency, slots taken of it), the most urgent first: the smaller of two costs is the better one."""


@dataclass(frozen=True, slots=True)
class Room:
    """Room for one that waits, once these are gone."""

    victims: tuple[Allocation, ...]
    """Those to be asked: none when slots enough are on their way back."""
    agents: tuple[str, ...]


def find(pool: Pool, kind: Kind, claim: Claim, fitting: Fitting, spared: Collection[str]) -> Room | None:
    """How room can be made for a demand; None when nothing would help.

    `spared`: allocations that are not to be asked.
    """
    smallest = least(pool, kind, fitting)
    if smallest is None:
        return None
    found = [_on_one_agent(pool, smallest, claim, spared)] if smallest.slots <= largest(pool, smallest) else []
    if not smallest.single_agent:
        found.append(_on_whole_agents(pool, smallest, claim, fitting, spared))
    return min((room for room in found if room is not None), key=lambda room: _cost(room.victims, claim), default=None)


def _cost(victims: Iterable[Allocation], claim: Claim) -> Cost:
    taken: Counter[float] = Counter()
    for victim in victims:
        taken[claim.urgency(victim)] += victim.request.slots
    return tuple((-urgency, taken[urgency]) for urgency in sorted(taken))


def _one_class_further(
    candidates: Iterable[tuple[Allocation, bool]], claim: Claim, has_room: Collection[object]
) -> Iterator[tuple[Allocation, bool]]:
    """Candidates until there is room, and then the rest of those as urgent as the last, up to LOOKED_AT of them."""
    left, last = LOOKED_AT, 0.0
    for allocation, asked in candidates:
        urgency = claim.urgency(allocation) if asked else 0.0
        if has_room:
            left -= 1
            if left < 0 or not asked or urgency != last:
                return
        yield allocation, asked
        if has_room and not asked:
            return  # what is on its way back is enough
        last = urgency


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
    """Allocations, and how many slots each would free here."""
    taken: Taken = field(default_factory=Counter)


def _on_one_agent(pool: Pool, kind: Kind, claim: Claim, spared: Collection[str]) -> Room | None:
    found: dict[str, _Freed] = {}
    enough: dict[str, _Freed] = {}
    for allocation, asked in _one_class_further(_candidates(pool, claim, spared), claim, enough):
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
                enough[agent.id] = freed
    rooms = [Room(_needed(freed, kind.slots, claim), (name,)) for name, freed in enough.items()]
    return min(rooms, key=lambda room: _cost(room.victims, claim), default=None)


def _needed(freed: _Freed, slots: int, claim: Claim) -> tuple[Allocation, ...]:
    """Without those whose going is not needed: the most urgent are spared first, of equally urgent ones as many slots
    as can be."""
    surplus, needed = freed.slots - slots, list[Allocation]()
    for urgency in sorted({claim.urgency(allocation) for allocation, _ in freed.asked}):
        equals = [(one, count) for one, count in freed.asked if claim.urgency(one) == urgency]
        spared = most_spared(equals, surplus)
        surplus -= sum(count for one, count in equals if one.id in spared)
        needed += [one for one, _ in equals if one.id not in spared]
    return tuple(needed)


def most_spared(choices: Sequence[tuple[Allocation, int]], surplus: int) -> frozenset[str]:
    """Which of these can stay: as many slots as can be, where each costs so many of `surplus`; the last choices first.

    A knapsack, worked out for every size up to `surplus`.
    """
    best: dict[int, tuple[int, frozenset[str]]] = {0: (0, frozenset())}
    for allocation, cost in reversed(choices):
        for used, (slots, spared) in sorted(best.items(), reverse=True):
            together = slots + allocation.request.slots
            if used + cost <= surplus and together > best.get(used + cost, (-1,))[0]:
                best[used + cost] = (together, spared | {allocation.id})
    _, (_, spared) = min(best.items(), key=lambda entry: (-entry[1][0], entry[0]))
    return spared


# ---------------------------------------------------------------- whole agents


@dataclass(slots=True)
class _Emptied:
    """Agents that would be free altogether, and who has to go from each for that."""

    sizes: dict[str, int] = field(default_factory=dict)
    asked_on: dict[str, dict[str, Allocation]] = field(default_factory=dict)

    def cost(self, agents: Iterable[str], claim: Claim) -> Cost:
        return _cost(self.victims(agents).values(), claim)

    def victims(self, agents: Iterable[str]) -> dict[str, Allocation]:
        return {one: victim for name in agents for one, victim in self.asked_on.get(name, {}).items()}

    def without(self, gone: Collection[str]) -> dict[str, int]:
        """The agents that are empty when only these have gone, by size."""
        return {name: size for name, size in self.sizes.items() if self.asked_on.get(name, {}).keys() <= set(gone)}


def _on_whole_agents(pool: Pool, kind: Kind, claim: Claim, fitting: Fitting, spared: Collection[str]) -> Room | None:
    idle = {name: size for size, name in pool.idle if name not in kind.blocked and name not in pool.kept}
    emptied, left, taken = _Emptied(idle), dict[str, int](), Counter[str]()
    if _makes_up(idle, kind.slots, fitting):
        return None  # it fits without anybody's going
    enough: list[bool] = []
    """Not empty once there is room."""
    for allocation, asked in _one_class_further(_candidates(pool, claim, spared), claim, enough):
        if asked and not claim.allows(allocation, taken):
            continue
        for agent, count in _on(pool, allocation, kind):
            if agent.id in pool.kept:
                continue
            left[agent.id] = left.get(agent.id, len(agent.usable) - len(agent.free)) - count
            if asked:
                emptied.asked_on.setdefault(agent.id, {})[allocation.id] = allocation
            if left[agent.id] == 0:
                emptied.sizes[agent.id] = len(agent.usable)
        if asked:
            taken[claim.owner(allocation)] += allocation.request.slots
        if not enough and _makes_up(emptied.sizes, kind.slots, fitting):
            enough.append(True)
    return _cheapest(emptied, kind.slots, fitting, claim) if enough else None


def _makes_up(sizes: Mapping[str, int], slots: int, fitting: Fitting) -> bool:
    """Whether agents of these sizes could hold it: some of one size exactly, or of unlike sizes where allowed."""
    counts = Counter(sizes.values())
    exact = any(slots % size == 0 and count >= slots // size for size, count in counts.items())
    return exact or (fitting.uneven and sum(sizes.values()) >= slots)


def _cheapest(emptied: _Emptied, slots: int, fitting: Fitting, claim: Claim) -> Room | None:
    options = [_trimmed(emptied, agents, slots, fitting, claim) for agents in _options(emptied, slots, fitting, claim)]
    return min(options, key=lambda room: _cost(room.victims, claim), default=None)


def _options(emptied: _Emptied, slots: int, fitting: Fitting, claim: Claim) -> Iterator[tuple[str, ...]]:
    """Sets of agents that make it up: all of them where they are few, otherwise one of each size, of the cheapest."""
    for size in sorted(set(emptied.sizes.values()), reverse=True):
        group, count = [name for name, found in emptied.sizes.items() if found == size], slots // size
        if slots % size == 0 and len(group) >= count:
            if comb(len(group), count) <= COMBINATIONS:
                yield from combinations(group, count)
            else:
                yield tuple(sorted(group, key=lambda name: emptied.cost((name,), claim))[:count])
    if fitting.uneven and sum(emptied.sizes.values()) >= slots:
        yield tuple(emptied.sizes)


def _trimmed(emptied: _Emptied, agents: tuple[str, ...], slots: int, fitting: Fitting, claim: Claim) -> Room:
    """Without those whose going is not needed: the most urgent are spared first, and of equals the oldest."""
    victims = emptied.victims(agents)
    for victim in sorted(victims.values(), key=lambda one: (claim.urgency(one), -one.request.slots, one.arrival)):
        fewer = victims.keys() - {victim.id}
        if _makes_up(emptied.without(fewer), slots, fitting):
            del victims[victim.id]
    return Room(tuple(victims.values()), _made_up_of(emptied.without(victims), slots))


def _made_up_of(sizes: Mapping[str, int], slots: int) -> tuple[str, ...]:
    """The agents to use: of one size where that is exact, the largest such; otherwise the largest of all."""
    for size in sorted(set(sizes.values()), reverse=True):
        group = [name for name, found in sizes.items() if found == size]
        if slots % size == 0 and len(group) >= slots // size:
            return tuple(group[: slots // size])
    chosen = []
    for name, size in sorted(sizes.items(), key=lambda entry: -entry[1]):
        if slots > 0:
            chosen.append(name)
            slots -= size
    return tuple(chosen)
