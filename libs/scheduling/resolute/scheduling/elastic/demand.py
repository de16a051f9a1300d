"""What waiting work asks of an elastic pool: which idle agents it is going to use, and how many more it needs.

The queue is packed, in its own order, into what is free, what is coming and what may still be started. The smallest
gap that holds a request is taken; what is larger than one instance takes whole ones, all or none. Nothing is asked
for that the limits of the pool would not let run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import merge
from itertools import takewhile

from resolute.config.pools import ResourcePool, Scheduler
from resolute.scheduling.agents import Agent
from resolute.scheduling.demands import Kind, firsts, kind_in
from resolute.scheduling.elastic.fleet import COMING, LEAVING
from resolute.scheduling.pool import Pool


@dataclass(frozen=True, slots=True)
class Forecast:
    wanted: tuple[str, ...]
    """Ids of agents to be started."""
    needed: frozenset[str]
    """Agents there are, or that are coming, on which waiting work is going to run."""


@dataclass(slots=True)
class Gap:
    """Room on one agent, free or to come."""

    agent_id: str
    free: int
    tasks: int
    """How many more tasks without slots it takes."""
    whole: bool
    """Whether all of an instance of the pool's own size is free."""
    new: bool = False
    used: bool = False


class Gaps:
    """Gaps by whether they would have to be started, and by size: finding the tightest costs the number of sizes."""

    def __init__(self, gaps: list[Gap]) -> None:
        self.all = gaps
        self._by_size: dict[tuple[bool, int], dict[str, Gap]] = {}
        for gap in gaps:
            self._put(gap)

    def _put(self, gap: Gap) -> None:
        self._by_size.setdefault((gap.new and not gap.used, gap.free), {})[gap.agent_id] = gap

    def take(self, gap: Gap, slots: int) -> None:
        del self._by_size[gap.new and not gap.used, gap.free][gap.agent_id]
        gap.used, gap.whole = True, gap.whole and slots == 0
        gap.free -= slots
        gap.tasks -= slots == 0
        self._put(gap)

    def tightest(self, slots: int, blocked: tuple[str, ...]) -> Gap | None:
        """What is there or coming goes before what would have to be started."""
        for size in sorted(size for size, gaps in self._by_size.items() if gaps and size[1] >= slots):
            for gap in self._by_size[size].values():
                if gap.agent_id not in blocked and (slots or gap.tasks > 0):
                    return gap
        return None

    def whole(self, blocked: tuple[str, ...]) -> list[Gap]:
        return [gap for gap in self.all if gap.whole and gap.agent_id not in blocked]


@dataclass(slots=True)
class _Packing:
    gaps: Gaps
    instance_slots: int
    instances_max: int
    uneven: bool
    held: dict[str, int] = field(default_factory=dict)
    """Slots given to jobs beyond what they hold already."""
    full: dict[Kind, set[str]] = field(default_factory=dict)
    """Jobs whose own limit allows no more of a kind."""
    hopeless: set[Kind] = field(default_factory=set)
    """Those that found no gap. Gaps only shrink."""


def forecast(pool: Pool, settings: ResourcePool, may_start: int) -> Forecast:
    """`may_start`: how many instances more there may be."""
    provider = settings.provider
    assert provider is not None
    new = [
        Gap(agent_id, provider.instance_slots, settings.max_aux_containers_per_agent, True, new=True)
        for agent_id in list(free_names(pool, settings))[:may_start]
    ]
    gaps = [*_gaps(pool, settings), *new]
    packing = _Packing(Gaps(gaps), provider.instance_slots, provider.max_instances, _uneven(settings))
    for job_id, kind in _in_line(pool, packing) if gaps else ():
        _pack(packing, pool, job_id, kind)
    return Forecast(
        tuple(gap.agent_id for gap in gaps if gap.used and gap.new),
        frozenset(gap.agent_id for gap in gaps if gap.used and not gap.new) | {agent for agent, _ in pool.kept.items()},
    )


def could_start(settings: ResourcePool, kind: Kind) -> bool:
    """Whether instances that the pool may start could hold such a request, were they idle. False without a provider."""
    return least_started(settings, kind) is not None


def least_started(settings: ResourcePool, kind: Kind) -> int | None:
    """The fewest slots of those asked for that such instances could hold; None where they could hold none."""
    provider = settings.provider
    if provider is None or (not kind.slots and not settings.max_aux_containers_per_agent):
        return None
    least = _fewest(kind, provider.instance_slots, _uneven(settings))
    enough = least is not None and _instances(least, provider.instance_slots) <= _usable(settings, kind)
    return least if enough else None


def most_started(settings: ResourcePool, kind: Kind) -> int | None:
    provider = settings.provider
    if provider is None or not could_start(settings, kind):
        return None
    most = min(kind.most, provider.instance_slots * (1 if kind.single_agent else _usable(settings, kind)))
    whole = most <= provider.instance_slots or _uneven(settings)
    return most if whole else most - most % provider.instance_slots


def _usable(settings: ResourcePool, kind: Kind) -> int:
    return sum(name not in kind.blocked for name in settings.elastic_agents)


def _uneven(settings: ResourcePool) -> bool:
    return (settings.scheduler or Scheduler()).allow_heterogeneous_fits


def free_names(pool: Pool, settings: ResourcePool) -> Iterator[str]:
    return (name for name in settings.elastic_agents if name not in pool.fleet.by_agent)


def _gaps(pool: Pool, settings: ResourcePool) -> list[Gap]:
    provider = settings.provider
    assert provider is not None
    gaps = []
    for agent in pool.agents.values():
        instance = pool.fleet.of_agent(agent.id)
        leaving = instance is not None and instance.state in LEAVING
        if agent.present and agent.enabled and not leaving and agent.id not in pool.kept:
            gaps.append(_gap_on(agent, settings.max_aux_containers_per_agent, provider.instance_slots))
    for instance in pool.fleet.instances.values():
        if instance.state in COMING:
            whole = instance.slots == provider.instance_slots
            gaps.append(Gap(instance.agent_id, instance.slots, settings.max_aux_containers_per_agent, whole))
    return gaps


def _gap_on(agent: Agent, tasks_max: int, instance_slots: int) -> Gap:
    free = len(agent.free)
    whole = free == len(agent.usable) == instance_slots
    return Gap(agent.id, free, tasks_max - agent.zero_slot_tasks, whole)


def _in_line(pool: Pool, packing: _Packing) -> Iterator[tuple[str, Kind]]:
    """Those who wait for slots of their own, by job and kind; others are about to make room for the rest. A kind that
    found no gap is followed no further, so that this costs what is packed, whatever waits."""
    lines = [_line(pool, packing, kind_in(entry)) for entry in firsts(pool.queue)]
    return ((job_id, kind) for *_, job_id, kind in merge(*lines))


def _line(pool: Pool, packing: _Packing, kind: Kind) -> Iterator[tuple[int, int | Fraction, int, str, Kind]]:
    """(priority, position, arrival, job id, kind) of those of one kind, in order."""
    for entry in pool.queue.since(kind):
        if kind_in(entry) != kind:
            return
        *_, priority, position, job_id = entry
        line = (job_id, *kind, False)
        for waiting in takewhile(lambda one, line=line: one[: len(line)] == line, pool.waiting.since(line)):  # type: ignore[misc]
            if kind in packing.hopeless:
                return
            if job_id in packing.full.get(kind, ()):
                break
            yield priority, position, waiting[-2], job_id, kind


def _pack(packing: _Packing, pool: Pool, job_id: str, kind: Kind) -> None:
    """Of one that takes a range, for the fewest slots that whole instances make up. It takes more where there are."""
    slots = _fewest(kind, packing.instance_slots, packing.uneven) or kind.slots
    more = packing.held.get(job_id, 0)
    if pool.jobs[job_id].at_its_limit(more + slots):
        packing.full.setdefault(kind, set()).add(job_id)
        return
    if _find_gaps(packing, kind.of_size(slots)):
        packing.held[job_id] = more + slots
    else:
        packing.hopeless.add(kind)


def _find_gaps(packing: _Packing, kind: Kind) -> bool:
    chosen = packing.gaps.tightest(kind.slots, kind.blocked)
    if chosen is not None:
        packing.gaps.take(chosen, kind.slots)
        return True
    return kind.slots > packing.instance_slots and _pack_gang(packing, kind)


def _pack_gang(packing: _Packing, kind: Kind) -> bool:
    """Whole instances; when there are too few, it holds on to those there are, and starts no others."""
    if _fewest(kind, packing.instance_slots, packing.uneven) is None:
        return False
    count = _instances(kind.slots, packing.instance_slots)
    if not 1 < count <= packing.instances_max:
        return False
    whole = sorted(packing.gaps.whole(kind.blocked), key=lambda gap: gap.new and not gap.used)
    enough = len(whole) >= count
    for gap in whole[:count] if enough else [gap for gap in whole if not gap.new]:
        packing.gaps.take(gap, gap.free)
    return enough


def _fewest(kind: Kind, instance_slots: int, uneven: bool) -> int | None:
    """The fewest slots of those asked for that instances make up; None where no number of them would do."""
    if kind.slots <= instance_slots:
        return kind.slots
    if kind.single_agent or instance_slots == 0:
        return None
    whole = kind.slots if uneven else _instances(kind.slots, instance_slots) * instance_slots
    return whole if whole <= kind.most else None


def _instances(slots: int, instance_slots: int) -> int:
    """How many instances it takes, one at least."""
    return max(1, -(-slots // max(1, instance_slots)))
