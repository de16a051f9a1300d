"""Whether a pool could ever hold a demand, and what to say when it could not."""

from __future__ import annotations

from resolute.config.pools import ResourcePool
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import CheckFit, Fit
from resolute.scheduling.demands import Kind
from resolute.scheduling.elastic.demand import could_start, least_started, most_started
from resolute.scheduling.placement import Fitting, could_ever_fit, greatest, least, sizes
from resolute.scheduling.pool import Pool


def check(question: CheckFit, pool: Pool, settings: ResourcePool) -> Fit:
    """Whether the pool could ever hold so many slots. Agents that the pool may still start count. A pool without agents
    that starts none by itself says nothing about its future agents: every number is accepted then."""
    if question.slots < 0:
        raise InvalidConfig(f"slots: found {question.slots}; 0 or more would do")
    least = question.slots if question.slots_min is None else question.slots_min
    kind = Kind(least, question.single_agent, question.blocked_agents, question.slots)
    fitting = Fitting.of(settings)
    if _could_hold(pool, kind, settings):
        return Fit(True)
    if pool.hosts.first() is None and settings.provider is None:
        return Fit(True, why_not(pool, kind, fitting))
    return Fit(False, _why_never(pool, kind, settings), would_fit(pool, kind, settings))


def _could_hold(pool: Pool, kind: Kind, settings: ResourcePool) -> bool:
    return could_ever_fit(pool, kind, Fitting.of(settings)) or could_start(settings, kind)


def _why_never(pool: Pool, kind: Kind, settings: ResourcePool) -> str:
    """Of an elastic pool: why what it may start would not do either."""
    provider = settings.provider
    if provider is None or kind.slots == 0:
        return why_not(pool, kind, Fitting.of(settings))
    whole = "" if Fitting.of(settings).uneven else ", and what is larger than one takes whole ones"
    return (
        f"it needs {_asked(kind)}{' on one agent' if kind.single_agent else ''}; the pool may start "
        f"{provider.max_instances} instances of {_slots(provider.instance_slots)}{whole}"
    )


def why_not(pool: Pool, kind: Kind, fitting: Fitting) -> str:
    """Why the pool as it is known could not hold it even when idle."""
    found = list(sizes(pool.capacity))
    if pool.hosts.first() is None:
        return "no agent has joined the pool yet, or all are disabled or lost"
    if kind.slots and not found:
        return f"it needs {_asked(kind)} and the pool's agents have none"
    if could_ever_fit(pool, kind._replace(blocked=()), fitting):
        return f"it would fit only with agents it must not use: {', '.join(kind.blocked)}"
    if kind.slots == 0:
        return "no agent of the pool takes tasks without slots (max_aux_containers_per_agent is 0)"
    if kind.single_agent:
        return f"it needs {_asked(kind)} on one agent and the largest agent of the pool has {found[0]}"
    if fitting.uneven:
        return f"it needs {_asked(kind)} and all agents of the pool together have {pool.slots}"
    return (
        f"it needs {_asked(kind)}; the largest agent of the pool has {found[0]}, and what is larger than one "
        "agent takes whole agents of equal size, of which there are not enough"
    )


def would_fit(pool: Pool, kind: Kind, settings: ResourcePool) -> str:
    """The nearest demands that could be held."""
    provider = settings.provider
    most = max(pool.slots, provider.max_instances * provider.instance_slots if provider else 0)
    less, more = kind._replace(slots=1, most=min(kind.slots, most)), kind._replace(slots=kind.most + 1, most=most)
    near = [count for count in (_largest(pool, less, settings), _smallest(pool, more, settings)) if count]
    return f"{' or '.join(map(_slots, near))} would fit" if near else ""


def _largest(pool: Pool, kind: Kind, settings: ResourcePool) -> int:
    """Of a range, the most that could be held; 0 where none could."""
    return max(greatest(pool, kind, Fitting.of(settings)), most_started(settings, kind) or 0)


def _smallest(pool: Pool, kind: Kind, settings: ResourcePool) -> int:
    if kind.slots > kind.most:
        return 0
    held = least(pool, kind, Fitting.of(settings))
    return min(filter(None, (held and held.slots, least_started(settings, kind))), default=0)


def _asked(kind: Kind) -> str:
    return _slots(kind.slots) if kind.most == kind.slots else f"{kind.slots} to {kind.most} slots"


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"
