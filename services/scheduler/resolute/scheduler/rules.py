"""By which rules a pool shares its slots: its own, or those of the cluster where the settings do not name the pool."""

from __future__ import annotations

from dataclasses import dataclass

from resolute.config.pools import ResourcePool, Scheduler
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling.policies import Policy, policy_for


@dataclass(frozen=True, slots=True)
class Rules:
    settings: ResourcePool
    policy: Policy
    default_priority: int


def rules_of(name: str, settings: SchedulerSettings) -> Rules:
    pool = settings.pool(name)
    return Rules(pool, policy_for(pool), (pool.scheduler or Scheduler()).default_priority)
