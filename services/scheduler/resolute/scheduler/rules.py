"""The rules by which a pool shares its slots. They are taken from the pool's stream, so that all schedulers use the
same rules, whatever settings each was started with."""

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
    """The rules of a pool with these recorded settings. When a later release recorded settings that this release cannot
    read, the settings of this scheduler are used."""
    try:
        return _rules(configured.pool_of(name, recorded))
    except ValueError as error:
        log_.warning("the recorded settings of a pool cannot be read", pool=name, why=str(error))
        return _rules(settings.pool(name))


def configured_rules(name: str, settings: SchedulerSettings) -> Rules:
    """The rules of a pool by the settings of this scheduler."""
    return _rules(settings.pool(name))


def _rules(pool: ResourcePool) -> Rules:
    return Rules(pool, policy_for(pool), (pool.scheduler or Scheduler()).default_priority)
