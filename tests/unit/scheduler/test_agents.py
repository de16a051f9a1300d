"""Agents join, fall silent, come back, and are switched off and on."""

from __future__ import annotations

import pytest

from resolute.proto.errors import NotFound
from resolute.proto.pool import (
    AgentDisabled,
    AgentEnabled,
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationHeldBack,
    AllocationKillRequested,
    AllocationRequested,
    DisableAgent,
    DisableSlot,
    EnableAgent,
    EnableSlot,
    KillAllocation,
    PreemptAllocation,
    ResourcesExited,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.scheduler import orders
from resolute.scheduling.decisions import ExpireLease, LeavePool
from resolute.scheduling.policies import Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello, started

SILENCE = ExpireLease("a1", 26.0)


def resources_of(story: PoolStory, allocation: str) -> list[str]:
    return list(story.pool.allocations[allocation].shares)


def test_an_agent_joins_once_however_often_it_says_hello() -> None:
    given().when(hello()).then(AgentJoined).when(hello()).then()


def test_an_agent_with_other_slots_than_before_joins_anew() -> None:
    given(hello(slots=2)).when(hello(slots=4)).then(AgentJoined)


def test_a_silent_agent_is_lost_and_so_is_what_ran_there() -> None:
    story = given(hello(), asks("one"))
    story.given(started(story, "one")).when(SILENCE).then(AgentLost, ResourcesExited, AllocationExited)
    event = story.only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.outcome, event.exit_code) == ("lost", None)
    assert "silent for 26 s" in event.reason


def test_a_gang_that_loses_a_host_is_stopped_on_the_others_and_counts_as_lost() -> None:
    story = given(hello("a1"), hello("a2"), asks("gang", 4)).when(SILENCE).then(AgentLost, ResourcesExited)
    ((agent, stop),) = orders.to_stop(story.pool.allocations["gang"])
    assert (agent, stop.peer_failed) == ("a2", False)
    story.when(exited(story, "gang", 1, code=143))
    event = story.only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert event.outcome == "lost"


def test_an_agent_is_lost_once() -> None:
    given(hello(), SILENCE).when(SILENCE).then()


def test_nothing_is_placed_on_a_lost_agent_until_it_is_back() -> None:
    story = given(hello(slots=1), SILENCE, asks("one"))
    assert story.holders() == {}
    story.when(hello(slots=1)).then(AgentJoined, SlotsAssigned)


def test_draining_lets_the_work_end_and_takes_no_more() -> None:
    story = given(hello(), asks("one")).when(DisableAgent("default", "a1", drain=True)).then(AgentDisabled)
    story.given(asks("two"))
    assert story.holders() == {"one": ("a1",)}
    story.when(EnableAgent("default", "a1")).then(AgentEnabled, SlotsAssigned)


def test_disabling_without_draining_ends_the_work_now() -> None:
    story = given(hello("a1", slots=1), asks("one")).given(hello("a2", slots=1))
    story.given(started(story, "one"))
    story.when(DisableAgent("default", "a1")).then(AgentDisabled, AllocationKillRequested)
    (stop,) = orders.plan(story.pool, "a1", resources_of(story, "one")).stop
    assert stop.reason == "agent a1 was disabled"
    story.when(exited(story, "one", code=137)).then(ResourcesExited, AllocationExited)
    event = story.only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.outcome, event.reason) == ("killed", "agent a1 was disabled")


def test_disabling_ends_what_is_already_asked_to_go() -> None:
    story = given(hello("a1", slots=1), asks("one"), PreemptAllocation("default", "one", "paused"))
    story.when(DisableAgent("default", "a1")).then(AgentDisabled, AllocationKillRequested)


def test_a_disabled_slot_is_not_given() -> None:
    story = given(hello(slots=2)).when(DisableSlot("default", "a1", 0)).then(SlotDisabled)
    story.given(asks("one"), asks("two"))
    assert story.holders() == {"one": ("a1",)}
    story.when(EnableSlot("default", "a1", 0)).then(SlotEnabled, SlotsAssigned)


def test_disabling_a_held_slot_ends_its_holder_and_nobody_else() -> None:
    story = given(hello(slots=2), asks("one"), asks("two"))
    held = story.pool.agents["a1"].held
    story.when(DisableSlot("default", "a1", 0)).then(SlotDisabled, AllocationKillRequested)
    event = story.only(AllocationKillRequested)
    assert isinstance(event, AllocationKillRequested)
    assert event.allocation_id == held[0]


def test_a_slot_that_drains_and_is_then_disabled_outright_ends_its_holder() -> None:
    story = given(hello(slots=1), asks("a"), DisableSlot("default", "a1", 0, drain=True))
    story.when(DisableSlot("default", "a1", 0)).then(SlotDisabled, AllocationKillRequested)
    story.when(DisableSlot("default", "a1", 0)).then()


def test_an_agent_drained_while_busy_is_empty_in_the_end_and_takes_work_again_when_enabled() -> None:
    story = given(hello(), asks("a"), asks("b"), DisableAgent("default", "a1", drain=True), asks("c"))
    story.when(exited(story, "a")).then(ResourcesExited, AllocationExited)
    story.when(exited(story, "b")).then(ResourcesExited, AllocationExited)
    assert (story.pool.slots, story.holders()) == (0, {})
    story.when(EnableAgent("default", "a1")).then(AgentEnabled, SlotsAssigned)
    assert story.holders() == {"c": ("a1",)}


def test_enabled_again_while_it_drains_it_gives_what_is_free() -> None:
    story = given(hello(), asks("a"), DisableAgent("default", "a1", drain=True), asks("b"))
    story.when(EnableAgent("default", "a1")).then(AgentEnabled, SlotsAssigned)
    assert sorted(story.holders()) == ["a", "b"]


def test_a_slot_drained_while_busy_is_given_on_only_when_it_is_enabled_again() -> None:
    story = given(hello(slots=1), asks("a"), asks("b"))
    story.when(DisableSlot("default", "a1", 0, drain=True)).then(SlotDisabled, AllocationHeldBack)
    story.when(exited(story, "a")).then(ResourcesExited, AllocationExited)
    story.when(EnableSlot("default", "a1", 0)).then(SlotEnabled, SlotsAssigned)
    assert story.holders() == {"b": ("a1",)}


def test_an_agent_that_drains_and_is_then_disabled_outright_ends_its_work() -> None:
    story = given(hello(), asks("a"), DisableAgent("default", "a1", drain=True))
    story.when(DisableAgent("default", "a1")).then(AgentDisabled, AllocationKillRequested)
    story.when(DisableAgent("default", "a1")).then()
    story.when(DisableAgent("default", "a1", drain=True)).then(AgentDisabled)


def test_an_agent_that_is_in_another_pool_now_is_lost_to_this_one_and_so_is_what_ran_there() -> None:
    story = given(hello(), asks("one"))
    story.when(LeavePool("a1", "gpu")).then(AgentLost, ResourcesExited, AllocationExited)
    event = story.only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.outcome, event.reason) == ("lost", "agent a1 came back in pool 'gpu'")
    story.when(LeavePool("a1", "gpu")).then()


def test_what_a_drained_agent_runs_makes_room_for_nobody() -> None:
    """Its slots would not be given on."""
    story = PoolStory(Priority(preemption=True)).given(
        hello("a1", 1), hello("a2", 1), asks("low", priority=90), asks("other", priority=1)
    )
    (where,) = story.holders()["low"]
    story.given(DisableAgent("default", where, drain=True)).when(asks("high", priority=2)).then(AllocationRequested)


def test_an_agent_back_with_fewer_slots_gives_none_that_is_held() -> None:
    story = given(hello(slots=4), asks("a", 2), asks("b", 1))
    story.when(hello(slots=1)).then(AgentJoined)
    assert story.pool.slots_free == 0
    story.given(asks("c")).when(exited(story, "b"))
    story.then(ResourcesExited, AllocationExited)
    story.when(exited(story, "a")).then(ResourcesExited, AllocationExited, SlotsAssigned)
    assert story.pool.agents["a1"].held == {0: "c"}


def test_what_is_switched_off_stays_off_through_a_restart() -> None:
    story = given(hello(slots=1), DisableSlot("default", "a1", 0), SILENCE, hello(slots=1), asks("one"))
    assert story.holders() == {}


def test_switching_what_is_not_there_names_what_is() -> None:
    with pytest.raises(NotFound, match="no slot 7 on agent a1; it has \\[0, 1\\]"):
        given(hello()).when(DisableSlot("default", "a1", 7))
    with pytest.raises(NotFound, match="no agent a9"):
        given(hello()).when(DisableAgent("default", "a9"))


def test_an_agent_is_told_to_start_what_it_does_not_have_and_to_keep_what_it_has() -> None:
    story = given(hello(), asks("one"), asks("two"))
    (one,) = resources_of(story, "one")
    plan = orders.plan(story.pool, "a1", {one})
    assert plan.keep == (one,)
    assert [allocation.id for allocation, _ in plan.start] == ["two"]


def test_what_it_runs_and_nobody_asked_for_is_not_kept() -> None:
    plan = orders.plan(given(hello()).pool, "a1", {"a stray"})
    assert (plan.keep, plan.start, plan.stop) == ((), (), ())


def test_what_is_ending_is_to_stop_though_the_agent_may_not_have_it() -> None:
    story = given(hello(), asks("one"), KillAllocation("default", "one", "ada killed it"))
    (one,) = resources_of(story, "one")
    (stop,) = orders.plan(story.pool, "a1", ()).stop
    assert (stop.resources_id, stop.reason) == (one, "ada killed it")
