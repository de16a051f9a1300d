"""What is recorded of a pool's settings, and what the pool does when they change."""

from __future__ import annotations

import pytest

from resolute.config.pools import Provider, ResourcePool, Scheduler, TaskContainerDefaults
from resolute.proto.pool import (
    UNRECORDED,
    AllocationWaits,
    PoolConfigured,
    PoolRemoved,
    PoolRestored,
    PreemptionRequested,
)
from resolute.proto.queue import PolicyName
from resolute.scheduler.rules import rules_of
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling import configured
from resolute.scheduling.decisions import ConfigurePools
from resolute.scheduling.policies import Fifo, Priority
from tests.unit.scheduler.stories import PoolStory, asks, hello

PLAIN = SchedulerSettings().pool("default")
POOLS = (
    PLAIN,
    PLAIN.model_copy(update={"scheduler": Scheduler(type=PolicyName.FAIR_SHARE, fair_share_groups="user")}),
    PLAIN.model_copy(update={"provider": Provider(max_instances=3), "agent_reconnect_wait": 4.5}),
)


def configure(pool: ResourcePool) -> ConfigurePools:
    return ConfigurePools("default", ("default",), configured.settings_of(pool))


def test_what_counts_until_something_is_recorded_are_the_defaults_of_this_release() -> None:
    """Where a later release has other defaults, this says so: `UNRECORDED` stays as it is, and this test goes."""
    assert configured.settings_of(PLAIN) == UNRECORDED


@pytest.mark.parametrize("before", POOLS)
@pytest.mark.parametrize("after", POOLS)
def test_recorded_changes_lead_from_any_settings_to_any_others(before: ResourcePool, after: ResourcePool) -> None:
    story = PoolStory().given(configure(before), configure(after))
    assert story.pool.settings == configured.settings_of(after)
    assert configured.pool_of("default", story.pool.settings) == after
    assert len(story.events) == (before != PLAIN) + (before != after)
    story.when(configure(after)).then()


def test_nothing_that_tasks_are_given_is_recorded() -> None:
    secret = TaskContainerDefaults(registry_auth={"password": "hunter2"}, environment_variables=["TOKEN=x"])
    pool = PLAIN.model_copy(update={"task_container_defaults": secret, "description": "for ada"})
    assert configured.settings_of(pool) == UNRECORDED


def test_a_pool_keeps_its_settings_while_it_is_not_configured() -> None:
    story = PoolStory().given(configure(POOLS[1])).when(ConfigurePools("default", ("other",))).then(PoolRemoved)
    assert configured.pool_of("default", story.pool.settings) == POOLS[1]
    story.when(configure(POOLS[1])).then(PoolRestored)
    story.given(ConfigurePools("default", ("other",))).when(configure(PLAIN)).then(PoolRestored, PoolConfigured)


def test_what_waits_gets_its_slots_or_another_reason_by_the_new_rules() -> None:
    story = PoolStory(Fifo()).given(hello(slots=1), asks("one", priority=50), asks("two", priority=9))
    assert story.explained() == {"two": "busy"}
    story.policy = Priority(preemption=True)
    preempting = PLAIN.model_copy(update={"scheduler": Scheduler(preemption=True)})
    story.when(configure(preempting)).then(PoolConfigured, PreemptionRequested, AllocationWaits)
    assert story.explained() == {"two": "making_room"}


def test_settings_of_a_later_release_do_not_stop_this_one() -> None:
    fifo = {**UNRECORDED, "scheduler.type": "fifo", "scheduler.patience": 3, "lottery": {"odds": 2}}
    assert rules_of("default", fifo, SchedulerSettings()).policy.name == "fifo"
    unknown = {**UNRECORDED, "scheduler.type": "lottery"}
    own = SchedulerSettings(scheduler=Scheduler(type=PolicyName.FAIR_SHARE))
    assert rules_of("default", unknown, own).policy.name == "fair_share", "it goes by its own"
