"""Who gets slots next: the policies, one file each, and the choice between them."""

from __future__ import annotations

from resolute.config.pools import ResourcePool, Scheduler
from resolute.scheduler.fifo import Assign, Decision, Policy, Preempt, fifo

__all__ = ["Assign", "Decision", "Policy", "Preempt", "policy_for"]


def policy_for(pool: ResourcePool) -> Policy:
    """The policy of a pool as it is set."""
    scheduler = pool.scheduler or Scheduler()
    return fifo(scheduler.preemption)
