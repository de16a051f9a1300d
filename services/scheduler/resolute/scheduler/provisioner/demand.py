"""What waiting work asks of an elastic pool: which idle agents it is going to use, and how many more it needs.

The queue is packed, in its own order, into what is free, what is coming and what may still be started. The smallest
gap that holds a request is taken; what is larger than one instance takes whole ones, all or none. Nothing is asked
for that the limits of the pool would not let run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.pool import AllocationRequested
from resolute.scheduler.agents import Agent
from resolute.scheduler.allocation import Allocation
from resolute.scheduler.demands import kind_of
from resolute.scheduler.pool import Pool
from resolute.scheduler.provisioner.fleet import COMING, LEAVING


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
    hopeless: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The fewest slots that found no gap, by the agents the request must not use. Gaps only shrink."""
    hopeless_gangs: set[tuple[int, bool, tuple[str, ...]]] = field(default_factory=set)
    """Demands larger than an instance that found none. Where three slots never fit, four may."""


def forecast(pool: Pool, settings: ResourcePool, may_start: int) -> Forecast:
    """`may_start`: how many instances more there may be."""
    provider = settings.provider
    assert provider is not None
    scheduler = settings.scheduler or Scheduler()
    new = [
        Gap(agent_id, provider.instance_slots, settings.max_aux_containers_per_agent, True, new=True)
        for agent_id in list(free_names(pool, settings))[:may_start]
    ]
    gaps = [*_gaps(pool, settings), *new]
    uneven = scheduler.allow_heterogeneous_fits
    packing = _Packing(Gaps(gaps), provider.instance_slots, provider.max_instances, uneven)
    for allocation in _in_line(pool) if gaps else ():
        _pack(packing, pool, allocation)
    return Forecast(
        tuple(gap.agent_id for gap in gaps if gap.used and gap.new),
        frozenset(gap.agent_id for gap in gaps if gap.used and not gap.new) | {agent for agent, _ in pool.kept.items()},
    )


def could_start(settings: ResourcePool, slots: int, single_agent: bool, blocked_agents: Collection[str] = ()) -> bool:
    """Whether instances that the pool may start could hold such a request, were they idle. False without a provider."""
    provider = settings.provider
    if provider is None:
        return False
    usable = [name for name in settings.elastic_agents if name not in blocked_agents]
    uneven = (settings.scheduler or Scheduler()).allow_heterogeneous_fits
    count = _instances_for(slots, single_agent, provider.instance_slots, uneven)
    return count is not None and count <= len(usable)


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


def _in_line(pool: Pool) -> list[Allocation]:
    """Those who wait for slots of their own; others are about to make room for the rest."""
    waiting = (pool.allocations[entry[-1]] for entry in pool.waiting)
    able = [allocation for allocation in waiting if allocation.id not in pool.promises]
    return sorted(able, key=lambda a: (pool.jobs[a.request.job_id].rank, a.arrival))


def _pack(packing: _Packing, pool: Pool, allocation: Allocation) -> None:
    request = _least(packing, allocation.request)
    job, more = pool.jobs[request.job_id], packing.held.get(request.job_id, 0)
    if job.at_its_limit(more + request.slots):
        return
    if request.slots >= packing.hopeless.get(request.blocked_agents, request.slots + 1):
        return
    packing.held[request.job_id] = packing.held.get(request.job_id, 0) + request.slots
    gang = (request.slots, request.single_agent, request.blocked_agents)
    chosen = packing.gaps.tightest(request.slots, request.blocked_agents)
    if chosen is not None:
        packing.gaps.take(chosen, request.slots)
    elif request.slots <= packing.instance_slots:
        packing.hopeless[request.blocked_agents] = request.slots
    elif gang not in packing.hopeless_gangs and not _pack_gang(packing, request):
        packing.hopeless_gangs.add(gang)


def _least(packing: _Packing, request: AllocationRequested) -> AllocationRequested:
    """Of one that takes a range: for the fewest slots that whole instances make up. It takes more where there are."""
    sizes = kind_of(request).sizes
    able = (n for n in sizes if _instances_for(n, request.single_agent, packing.instance_slots, packing.uneven))
    return replace(request, slots=next(able, sizes[0]), slots_min=None)


def _pack_gang(packing: _Packing, request: AllocationRequested) -> bool:
    """Whole instances; when there are too few, it holds on to those there are, and starts no others."""
    count = _instances_for(request.slots, request.single_agent, packing.instance_slots, packing.uneven)
    if count is None or not 1 < count <= packing.instances_max:
        return False
    whole = sorted(packing.gaps.whole(request.blocked_agents), key=lambda gap: gap.new and not gap.used)
    enough = len(whole) >= count
    for gap in whole[:count] if enough else [gap for gap in whole if not gap.new]:
        packing.gaps.take(gap, gap.free)
    return enough


def _instances_for(slots: int, single_agent: bool, instance_slots: int, uneven: bool) -> int | None:
    """How many instances it takes; None where no number would do."""
    if slots <= instance_slots:
        return 1
    if single_agent or instance_slots == 0:
        return None
    whole, rest = divmod(slots, instance_slots)
    return None if rest and not uneven else whole + bool(rest)
