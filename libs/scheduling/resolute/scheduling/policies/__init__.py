"""Who gets slots next: the policies, one file each, and the choice between them."""

from __future__ import annotations

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.queue import PolicyName
from resolute.scheduling.placement import Fitting
from resolute.scheduling.policies.fair_share import FairShare
from resolute.scheduling.policies.fifo import Fifo
from resolute.scheduling.policies.passes import plan
from resolute.scheduling.policies.policy import Assign, Decision, Policy, Preempt
from resolute.scheduling.policies.priority import Priority

__all__ = ["Assign", "Decision", "FairShare", "Fifo", "Policy", "Preempt", "Priority", "plan", "policy_for"]


def policy_for(pool: ResourcePool) -> Policy:
    """The policy of a pool as it is set."""
    scheduler, fitting = pool.scheduler or Scheduler(), Fitting.of(pool)
    match scheduler.type:
        case PolicyName.FIFO:
            return Fifo(fitting)
        case PolicyName.PRIORITY:
            return Priority(scheduler.preemption, fitting)
        case PolicyName.FAIR_SHARE:
            return FairShare(scheduler.fair_share_groups == "user", fitting)
