"""A range whose least number no whole agents make up waits, is counted and is placed by the least that they do."""

from __future__ import annotations

import time

import pytest

from resolute.config.pools import Provider, ResourcePool
from resolute.proto.pool import ChangeJob, CheckFit, PreemptionRequested
from resolute.scheduling import fit, reasons
from resolute.scheduling.decisions import ExpireLease
from resolute.scheduling.demands import Kind
from resolute.scheduling.elastic.demand import forecast
from resolute.scheduling.placement import Fitting, least
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello

ENDLESS = 2**31 - 1
ORDERED: list[Policy] = [Fifo(), Priority(), Priority(preemption=True)]


def two_agents(policy: Policy) -> PoolStory:
    return PoolStory(policy).given(hello("a1", 2), hello("a2", 2))


def held(story: PoolStory, job: str) -> int:
    return story.pool.jobs[job].slots_held


@pytest.mark.parametrize("weight", [1, 3])
def test_it_comes_to_have_its_turn_beside_many_small_ones(weight: int) -> None:
    """Whatever ends or goes is asked for anew at once: thus a pool is as full as it gets."""
    story = two_agents(FairShare()).given(*(asks(f"b{n}", job="B", weight=weight) for n in range(4)))
    story.given(asks("a0", 4, slots_min=3, job="A"))
    asked, turns = 4, 0
    for _ in range(200):
        allocations = [one for one in story.pool.allocations.values() if one.shares]
        assert allocations, "the pool lies idle"
        oldest = min(allocations, key=lambda one: one.arrival)
        turns += oldest.request.job_id == "A"
        again = {"A": asks(f"a{asked}", 4, slots_min=3, job="A"), "B": asks(f"b{asked}", job="B", weight=weight)}
        story.given(again[oldest.request.job_id], *[exited(story, oldest.id, n) for n in range(len(oldest.shares))])
        asked += 1
    assert turns > 4
    preempted = sum(isinstance(event, PreemptionRequested) for event in story.events)
    assert preempted < 4 * asked, "nobody makes room in vain"


@pytest.mark.parametrize("policy", ORDERED)
def test_its_jobs_limit_holds_it_and_not_those_behind_it(policy: Policy) -> None:
    """Four is the least that two agents of two slots make up, and its job may have three."""
    story = two_agents(policy).given(asks("a", 4, slots_min=3, job="A", max_slots=3))
    assert story.explained() == {"a": "max_slots"}
    assert story.pool.allocations["a"].why_waiting == (
        "job A holds 0 slots, and its max_slots is 3; of 3 to 4 slots the fewest that this pool can place are 4"
    )
    story.when(asks("b", 1, job="B"))
    assert held(story, "B") == 1
    story.when(asks("c", 4, slots_min=3, job="C"))
    assert story.explained() == {"a": "max_slots", "c": "busy"}, "nor those who ask for the same"
    story.when(exited(story, "b"))
    assert (held(story, "A"), held(story, "C")) == (0, 4)
    story.given(exited(story, "c", 0), exited(story, "c", 1)).when(ChangeJob("default", "A", {"max_slots": None}))
    assert held(story, "A") == 4


@pytest.mark.parametrize("by_user", [False, True])
def test_its_jobs_limit_holds_no_other_of_its_line_under_fair_share(by_user: bool) -> None:
    story = two_agents(FairShare(by_user)).given(asks("a", 4, slots_min=3, job="A", max_slots=3))
    story.when(asks("c", 4, slots_min=3, job="C"))
    assert held(story, "C") == 4
    assert story.explained() == {"a": "max_slots"}


@pytest.mark.parametrize("policy", [*ORDERED, FairShare()])
def test_agents_that_come_and_go_change_what_its_jobs_limit_leaves(policy: Policy) -> None:
    story = two_agents(policy).given(
        asks("b", 4, job="B"),
        *(asks(name, 4, slots_min=3, job=name.upper(), max_slots=limit) for name, limit in (("c", None), ("a", 3))),
    )
    assert story.explained() == {"a": "max_slots", "c": "busy"} or isinstance(policy, FairShare)
    story.when(hello("a3", 3))
    assert held(story, "C") == 3
    assert story.explained()["a"] != "max_slots", "three of them can be placed now"
    story.when(ExpireLease("a3", 30))
    assert story.explained()["a"] == "max_slots"


def test_a_job_makes_no_room_for_more_than_it_may_come_to_hold() -> None:
    story = two_agents(Priority(preemption=True)).given(hello("a3", 2), hello("a4", 2))
    story.given(*(asks(f"b{n}", job="B", priority=90) for n in range(8)))
    story.given(*(asks(f"a{n}", 4, slots_min=3, job="A", priority=1, max_slots=7) for n in range(2)))
    assert sum(isinstance(event, PreemptionRequested) for event in story.events) == 4
    assert story.explained()["a1"] == "max_slots"


def test_what_the_first_waits_for_is_told_by_the_number_it_would_be_given() -> None:
    """Six would fit, and more than four is not its job's to have."""
    story = PoolStory(FairShare()).given(*(hello(f"s{n}", 2) for n in range(2)), *(hello(f"l{n}", 3) for n in range(2)))
    story.given(*(asks(f"b{n}", 2, job="B") for n in range(2)), *(asks(f"c{n}", 3, job="C") for n in range(4)))
    story.given(asks("a", 6, slots_min=4, job="A", single_agent=False))
    for allocation in story.pool.allocations.values():
        if allocation.rule_waiting:
            assert story.explained()[allocation.id] == reasons.rule_of(story.pool, allocation, story.policy)


def test_a_turn_that_came_is_secure_though_it_brought_more_than_the_least() -> None:
    """It is due when three slots have been its share of what was given, and four are what it is given then."""
    story = two_agents(FairShare()).given(*(asks(f"b{n}", job="B", weight=9) for n in range(8)))
    story.given(asks("a", 4, slots_min=3, job="A"))
    for number in range(40):
        story.given(asks(f"b{8 + number}", job="B", weight=9), exited(story, f"b{number}"))
        if held(story, "A"):
            break
    assert (held(story, "A"), story.pool.given) == (4, 4 + 27 + 4)
    assert story.pool.shares.groups["A"].secure_until == story.pool.given + 4


# ---------------------------------------------------------------- ranges without an end


def test_a_range_without_an_end_costs_no_more_than_what_there_is() -> None:
    story = given(hello("a1", 4), hello("a2", 4))
    began = time.process_time()
    story.when(asks("t", ENDLESS, slots_min=1))
    assert held(story, "job-of-t") == 8
    story.when(asks("u", ENDLESS, slots_min=9))
    assert story.explained() == {"u": "never_fits"}
    elastic = ResourcePool(provider=Provider(instance_slots=4, max_instances=2))
    assert forecast(story.pool, elastic, 2).wanted == ()
    asked = CheckFit("default", ENDLESS, slots_min=9)
    assert fit.check(asked, story.pool, elastic).would_fit == "8 slots would fit"
    alone = CheckFit("default", ENDLESS, single_agent=True, slots_min=5)
    assert fit.check(alone, story.pool, elastic).would_fit == "4 slots would fit"
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("agents", "asked", "uneven", "fewest", "most"),
    [
        ([2, 2], (3, 4), False, 4, 4),
        ([2, 2], (3, 4), True, 3, 4),
        ([2, 2, 3], (3, 9), False, 3, 4),
        ([2, 2, 3, 3], (4, 9), False, 4, 6),
        ([2, 2, 3, 3], (4, 9), True, 4, 9),
        ([4, 4, 4], (5, 7), False, None, None),
        ([4, 4, 4], (5, 11), False, 8, 8),
        ([4, 4, 4], (1, 3), False, 1, 3),
        ([4, 1, 1, 1], (5, 9), False, None, None),
        ([2, 1, 1, 1], (3, 9), False, 3, 3),
    ],
)
def test_the_fewest_and_the_most_of_a_range_that_agents_make_up(
    agents: list[int], asked: tuple[int, ...], uneven: bool, fewest: int | None, most: int | None
) -> None:
    fitting, (low, high) = Fitting(uneven=uneven), asked
    story = PoolStory(Fifo(fitting)).given(*(hello(f"a{n}", slots) for n, slots in enumerate(agents)))
    found = least(story.pool, Kind(low, False, (), high), fitting)
    assert (found.slots if found else None) == fewest
    story.given(asks("t", high, slots_min=low))
    assert (held(story, "job-of-t") or None) == most
