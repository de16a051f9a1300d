"""By which rules a pool shares its slots: those that its stream records, so that all schedulers go by the same."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.message import Object
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling import configured
from resolute.scheduling.policies import Policy, policy_for

log_ = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Rules:
    settings: ResourcePool
    policy: Policy
    default_priority: int


def rules_of(name: str, recorded: Object, settings: SchedulerSettings) -> Rules:
    """Of a pool with these recorded settings. Those that a later release has recorded may be beyond this one, which
    then goes by its own."""
    try:
        return _rules(configured.pool_of(name, recorded))
    except ValueError as error:
        log_.warning("the recorded settings of a pool cannot be read", pool=name, why=str(error))
        return _rules(settings.pool(name))


def configured_rules(name: str, settings: SchedulerSettings) -> Rules:
    """Of a pool as these settings say."""
    return _rules(settings.pool(name))


def _rules(pool: ResourcePool) -> Rules:
    return Rules(pool, policy_for(pool), (pool.scheduler or Scheduler()).default_priority)
