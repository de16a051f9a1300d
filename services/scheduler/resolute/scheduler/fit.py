"""Whether a pool could ever hold a demand, and what to say when it could not."""

from __future__ import annotations

from resolute.config.pools import ResourcePool
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import CheckFit, Fit
from resolute.scheduler.demands import Kind
from resolute.scheduler.placement import Fitting, could_ever_fit, sizes
from resolute.scheduler.pool import Pool
from resolute.scheduler.provisioner.demand import could_start


def check(question: CheckFit, pool: Pool, settings: ResourcePool) -> Fit:
    """An empty pool is no evidence: what is asked of it is let in, with a warning. What may be started counts."""
    if question.slots < 0:
        raise InvalidConfig(f"slots: found {question.slots}; 0 or more would do")
    kind, fitting = Kind(question.slots, question.single_agent, question.blocked_agents), Fitting.of(settings)
    if could_ever_fit(pool, kind, fitting) or could_start(settings, *kind):
        return Fit(True)
    why = why_not(pool, kind, fitting)
    if pool.hosts.first() is None:
        return Fit(True, why)
    return Fit(False, why, would_fit(pool, kind, fitting))


def why_not(pool: Pool, kind: Kind, fitting: Fitting) -> str:
    """Why the pool as it is known could not hold it even when idle."""
    found = list(sizes(pool.capacity))
    if pool.hosts.first() is None:
        return "no agent has joined the pool yet, or all are disabled or lost"
    if kind.slots and not found:
        return f"it needs {_slots(kind.slots)} and the pool's agents have none"
    if could_ever_fit(pool, kind._replace(blocked=()), fitting):
        return f"it would fit only with agents it must not use: {', '.join(kind.blocked)}"
    if kind.slots == 0:
        return "no agent of the pool takes tasks without slots (max_aux_containers_per_agent is 0)"
    if kind.single_agent:
        return f"it needs {_slots(kind.slots)} on one agent and the largest agent of the pool has {found[0]}"
    if fitting.uneven:
        return f"it needs {_slots(kind.slots)} and all agents of the pool together have {pool.slots}"
    return (
        f"it needs {_slots(kind.slots)}; the largest agent of the pool has {found[0]}, and what is larger than one "
        "agent takes whole agents of equal size, of which there are not enough"
    )


def would_fit(pool: Pool, kind: Kind, fitting: Fitting) -> str:
    """The nearest demands that could be held."""
    less = next((n for n in range(min(kind.slots, pool.slots), 0, -1) if _fits(pool, kind, n, fitting)), None)
    more = next((n for n in range(kind.slots + 1, pool.slots + 1) if _fits(pool, kind, n, fitting)), None)
    near = " or ".join(_slots(count) for count in (less, more) if count is not None)
    return f"{near} would fit" if near else ""


def _fits(pool: Pool, kind: Kind, slots: int, fitting: Fitting) -> bool:
    return could_ever_fit(pool, kind._replace(slots=slots), fitting)


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"
