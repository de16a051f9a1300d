"""Who gets slots next: the policies, one file each, and the choice between them."""

from __future__ import annotations

from resolute.config.pools import ResourcePool, Scheduler
from resolute.scheduler.placement import Fitting
from resolute.scheduler.policies.fair_share import FairShare
from resolute.scheduler.policies.fifo import Fifo
from resolute.scheduler.policies.passes import plan
from resolute.scheduler.policies.policy import Assign, Decision, Policy, Preempt
from resolute.scheduler.policies.priority import Priority

__all__ = ["Assign", "Decision", "FairShare", "Fifo", "Policy", "Preempt", "Priority", "plan", "policy_for"]


def policy_for(pool: ResourcePool) -> Policy:
    """The policy of a pool as it is set."""
    scheduler, fitting = pool.scheduler or Scheduler(), Fitting.of(pool)
    match scheduler.type:
        case "fifo":
            return Fifo(fitting)
        case "priority":
            return Priority(scheduler.preemption, fitting)
        case "fair_share":
            return FairShare(scheduler.fair_share_groups == "user", fitting)
