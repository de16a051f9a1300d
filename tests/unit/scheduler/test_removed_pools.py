"""A pool that the configuration does not name for a while: what is in it waits, may be stopped, and goes on later."""

from __future__ import annotations

from resolute.proto.message import Event
from resolute.proto.pool import (
    AgentJoined,
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    AllocationWaits,
    KillAllocation,
    PoolRemoved,
    PoolRestored,
    PreemptAllocation,
    PreemptionRequested,
    ResourcesExited,
    SlotsAssigned,
)
from resolute.scheduling.decisions import ConfigurePools
from resolute.scheduling.policies import FairShare, Fifo, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello, started

REMOVED = ConfigurePools("default", ("cpu", "gpu"))
RESTORED = ConfigurePools("default", ("cpu", "default"))


def waits_of(event: Event) -> AllocationWaits:
    assert isinstance(event, AllocationWaits)
    return event


def test_a_pool_is_removed_once_and_restored_once() -> None:
    given().when(REMOVED).then(PoolRemoved).when(REMOVED).then().when(RESTORED).then(PoolRestored).when(RESTORED).then()


def test_what_waits_is_told_which_pool_is_missing_and_which_there_are() -> None:
    story = given(hello(slots=1), asks("one"), asks("two"), asks("three")).when(REMOVED)
    story.then(PoolRemoved, AllocationWaits, AllocationWaits)
    assert story.explained() == {"two": "no_pool", "three": "no_pool"}
    assert "without pool 'default' (there are cpu, gpu)" in waits_of(story.latest[1]).reason


def test_a_removed_pool_gives_no_slots_and_says_so_to_those_that_ask() -> None:
    story = given(hello(slots=2), REMOVED).when(asks("one")).then(AllocationRequested, AllocationWaits)
    assert waits_of(story.latest[1]).rule == "no_pool"
    story.when(hello("a2", slots=2)).then(AgentJoined)
    assert story.holders() == {}


def test_what_runs_goes_on_and_may_end_in_a_removed_pool() -> None:
    story = given(hello(slots=1), asks("one"), asks("two"))
    story.given(started(story, "one"), REMOVED)
    story.when(exited(story, "one")).then(ResourcesExited, AllocationExited)
    assert (story.holders(), story.pool.slots_free) == ({}, 1)


def test_what_waits_or_runs_in_a_removed_pool_may_be_paused_and_killed() -> None:
    story = given(hello(slots=2), asks("one"), asks("two"), asks("three"), asks("four"), REMOVED)
    story.when(PreemptAllocation("default", "three", "paused")).then(AllocationExited)
    story.when(KillAllocation("default", "four", "killed")).then(AllocationExited)
    story.when(PreemptAllocation("default", "one", "paused")).then(PreemptionRequested)
    story.when(KillAllocation("default", "two", "killed")).then(AllocationKillRequested)


def test_work_goes_on_when_the_pool_is_back() -> None:
    story = given(hello(slots=2), REMOVED, asks("one"), asks("two"), asks("three"), asks("four"))
    story.when(RESTORED)
    assert [type(event) for event in story.latest[:3]] == [PoolRestored, SlotsAssigned, SlotsAssigned]
    assert sorted(story.holders()) == ["one", "two"]
    assert story.explained() == {"three": "busy", "four": "in_line"}


def test_when_the_pool_is_back_without_agents_everything_says_what_it_waits_for_now() -> None:
    for policy in (Priority(), Fifo(), FairShare()):
        story = PoolStory(policy).given(REMOVED, asks("one"), asks("two", job="job-of-one"), RESTORED)
        assert set(story.explained().values()) == {"never_fits"}, story.events
        story.when(hello(slots=1))
        assert sorted(story.holders()) == ["one"]


def test_room_that_was_being_made_is_not_kept_for_work_of_a_removed_pool() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello(slots=1), asks("low", priority=90))
    story.given(asks("high", priority=1))
    assert story.explained() == {"high": "making_room"}
    story.given(REMOVED)
    assert story.explained() == {"high": "no_pool"}
    story.when(exited(story, "low")).then(ResourcesExited, AllocationExited)
    story.when(RESTORED)
    assert sorted(story.holders()) == ["high"]
