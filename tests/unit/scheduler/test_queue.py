"""Who gets slots, which, and when."""

from __future__ import annotations

import pytest

from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.pool import (
    AcknowledgePreemption,
    AllocationHeldBack,
    AllocationRequested,
    ChangeJob,
    JobChanged,
    PreemptAllocation,
    PreemptionRequested,
    SlotsAssigned,
)
from resolute.scheduling.placement import Fitting
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority
from resolute.scheduling.pool import evolve
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello


def next_after(story: PoolStory, *allocations: str) -> str:
    for allocation in allocations:
        story.when(exited(story, allocation))
    event = story.only(SlotsAssigned)
    assert isinstance(event, SlotsAssigned)
    return event.allocation_id


def test_first_come_first_served() -> None:
    story = given(hello(slots=1), asks("one"), asks("two"), asks("three"))
    assert [next_after(story, "one"), next_after(story, "two")] == ["two", "three"]


def test_a_smaller_priority_number_goes_first() -> None:
    story = given(hello(slots=1), asks("one"), asks("two", priority=50), asks("three", priority=1))
    assert next_after(story, "one") == "three"


def test_a_job_keeps_its_place_for_all_of_its_allocations() -> None:
    story = given(hello(slots=1), asks("one", job="old"), asks("two", job="new"), asks("three", job="old"))
    assert next_after(story, "one") == "three"


def test_a_task_without_slots_waits_for_nobody() -> None:
    given(hello(slots=1), asks("one"), asks("two")).when(asks("tiny", 0)).then(AllocationRequested, SlotsAssigned)


def test_the_agent_with_the_least_room_to_spare_is_chosen() -> None:
    story = given(hello("roomy", slots=4), hello("tight", slots=2), asks("one", 2))
    assert story.holders() == {"one": ("tight",)}


def test_what_is_larger_than_one_agent_takes_whole_agents() -> None:
    story = given(hello("a1"), hello("a2"), hello("a3", slots=1), asks("gang", 4))
    assert story.holders() == {"gang": ("a1", "a2")}


def test_a_gang_waits_until_it_can_have_all_of_its_agents() -> None:
    story = given(hello("a1"), hello("a2"), asks("one", 1), asks("gang", 4))
    assert story.holders() == {"one": ("a1",)}
    assert next_after(story, "one") == "gang"


def test_what_wants_a_single_agent_is_not_spread() -> None:
    story = given(hello("a1"), hello("a2")).when(asks("one", 4, single_agent=True))
    event = story.then(AllocationRequested, AllocationHeldBack).only(AllocationHeldBack)
    assert isinstance(event, AllocationHeldBack)
    assert event.reason == "it needs 4 slots on one agent and the largest agent of the pool has 2"


def test_a_demand_beyond_the_pool_is_explained_and_stops_nobody() -> None:
    story = given(hello(slots=2)).when(asks("huge", 5))
    story.then(AllocationRequested, AllocationHeldBack)
    story.when(asks("one")).then(AllocationRequested, SlotsAssigned)


def test_it_runs_once_agents_enough_have_joined() -> None:
    story = given(asks("gang", 4), hello("a1")).when(hello("a2"))
    assert story.holders() == {"gang": ("a1", "a2")}


def test_an_empty_pool_says_that_it_is_empty() -> None:
    story = given().when(asks("one"))
    event = story.only(AllocationHeldBack)
    assert isinstance(event, AllocationHeldBack)
    assert "no agent has joined" in event.reason


def test_a_job_at_its_own_limit_lets_others_pass() -> None:
    story = given(hello(slots=3), asks("a", job="j", max_slots=1), asks("b", job="j", max_slots=1), asks("c"))
    assert story.holders() == {"a": ("a1",), "c": ("a1",)}
    assert next_after(story, "a") == "b"


def test_raising_a_limit_lets_the_job_on_at_once() -> None:
    story = given(hello(slots=3), asks("a", job="j", max_slots=1), asks("b", job="j", max_slots=1))
    story.when(ChangeJob("default", "j", {"max_slots": 2})).then(JobChanged, SlotsAssigned)


def test_a_job_whose_limit_is_taken_away_has_none_any_more() -> None:
    story = given(hello(slots=3), asks("a", job="j", max_slots=1), asks("b", job="j", max_slots=1))
    story.when(ChangeJob("default", "j", {"max_slots": None})).then(JobChanged, SlotsAssigned)
    story.when(asks("c", job="j", max_slots=1)).then(AllocationRequested, SlotsAssigned)


def test_a_new_priority_reorders_what_waits_and_what_comes() -> None:
    story = given(hello(slots=1), asks("one"), asks("two"), asks("three", job="j"))
    story.given(ChangeJob("default", "j", {"priority": 1}), asks("four", job="j"))
    assert [next_after(story, "one"), next_after(story, "three")] == ["three", "four"]


def test_changing_a_job_to_what_it_is_changes_nothing() -> None:
    change = ChangeJob("default", "j", {"priority": 1})
    given(hello(), asks("one", job="j"), change).when(change).then()


def test_a_job_can_only_be_changed_in_what_jobs_have() -> None:
    with pytest.raises(InvalidConfig, match=r"changes\.colour: no such setting"):
        given(hello(), asks("one", job="j")).when(ChangeJob("default", "j", {"colour": "red"}))
    with pytest.raises(InvalidConfig, match=r"changes\.weight: found 1e\+308; a number above 0, at most 1,000,000"):
        given(hello(), asks("one", job="j")).when(ChangeJob("default", "j", {"weight": 1e308}))
    with pytest.raises(NotFound, match="no job nowhere"):
        given(hello()).when(ChangeJob("default", "nowhere", {"priority": 1}))


def test_nobody_is_preempted_unless_the_pool_says_so() -> None:
    given(hello(slots=1), asks("low", priority=90)).when(asks("high", priority=1)).then(AllocationRequested)


def test_with_preemption_the_youngest_of_the_lowest_goes_first() -> None:
    story = PoolStory(Priority(preemption=True)).given(
        hello(slots=3), asks("a", priority=50), asks("b", priority=90), asks("c", priority=90)
    )
    story.when(asks("high", priority=1)).then(AllocationRequested, PreemptionRequested)
    event = story.only(PreemptionRequested)
    assert isinstance(event, PreemptionRequested)
    assert event.allocation_id == "c"
    assert next_after(story, "c") == "high"


def test_with_preemption_nobody_goes_in_vain() -> None:
    story = PoolStory(Priority(preemption=True)).given(
        hello(slots=2), asks("equal", priority=1), asks("low", priority=90)
    )
    story.when(asks("high", 2, priority=1)).then(AllocationRequested)


def test_with_preemption_room_is_made_for_several_at_once() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello(slots=2), asks("a", priority=90), asks("b", priority=90))
    story.given(asks("high", priority=1)).when(asks("other")).then(AllocationRequested, PreemptionRequested)
    assert [story.pool.promises["high"].victims, story.pool.promises["other"].victims] == [{"b"}, {"a"}]


def test_with_preemption_slots_that_come_back_anyway_are_counted_first() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello(slots=2), asks("a", priority=90), asks("b", priority=90))
    story.given(PreemptAllocation("default", "a", "paused")).when(asks("high", priority=1)).then(AllocationRequested)
    assert next_after(story, "a") == "high"


def test_with_preemption_a_gang_finds_its_agent_however_the_others_are_spread() -> None:
    """Whoever came last lies on another agent than who came before."""
    policy = Priority(preemption=True, fitting=Fitting(spread=True))
    story = PoolStory(policy).given(*(hello(f"a{n:02}", 8) for n in range(40)))
    story.given(*(asks(f"t{n}", priority=90) for n in range(320)), asks("gang", 8, priority=1))
    (where,) = story.pool.promises["gang"].agents
    assert {victim for victim, agents in story.holders().items() if agents == (where,)} == set(
        story.pool.promises["gang"].victims
    )


def test_with_preemption_a_gang_that_must_not_use_the_largest_agent_makes_room_on_others() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello("large", 4), hello("a1"), hello("a2"))
    story.given(asks("here", 4), *(asks(f"t{n}", priority=90) for n in range(4)))
    story.when(asks("gang", 4, priority=1, blocked=("large",)))
    assert story.pool.promises["gang"].agents == {"a1", "a2"}


def test_with_preemption_the_latest_priority_of_a_job_is_the_one_that_counts() -> None:
    story = PoolStory(Priority(preemption=True)).given(
        hello(slots=2), asks("one", priority=50), asks("other", priority=50), asks("first", job="j", priority=60)
    )
    story.when(asks("second", job="j", priority=10))
    asked = [event.reason for event in story.latest if isinstance(event, PreemptionRequested)]
    assert asked == [f"{name} of priority 10 needs 1 slots; this is of priority 50" for name in ("first", "second")]


def lowered(story: PoolStory) -> list[tuple[str, str, str]]:
    asked = [event for event in story.latest if isinstance(event, PreemptionRequested)]
    return [(event.allocation_id, event.rule, event.reason) for event in asked]


@pytest.mark.parametrize("policy", [Priority(preemption=True), FairShare()])
def test_lowering_a_limit_takes_the_newest_back(policy: Policy) -> None:
    story = PoolStory(policy, actor="ada").given(hello(slots=6), *(asks(f"t{n}", job="j") for n in range(4)))
    story.given(asks("pair", 2, job="j")).when(ChangeJob("default", "j", {"max_slots": 3}))
    reason = "max_slots was lowered to 3 by ada"
    assert lowered(story) == [("pair", "max_slots", reason), ("t3", "max_slots", reason)]
    assert lowered(story.when(ChangeJob("default", "j", {"priority": 7}))) == [], "they are going already"
    assert lowered(story.when(ChangeJob("default", "j", {"max_slots": 0}))) == [
        (name, "max_slots", "max_slots was lowered to 0 by ada") for name in ("t2", "t1", "t0")
    ]
    story.given(ChangeJob("default", "j", {"max_slots": 2}), exited(story, "pair"), exited(story, "t3"))
    story.when(asks("again", job="j"))
    assert story.explained() == {"again": "max_slots"}


@pytest.mark.parametrize("policy", [Priority(), Fifo()])
def test_where_nobody_is_asked_to_go_a_lower_limit_counts_for_what_comes(policy: Policy) -> None:
    story = PoolStory(policy).given(hello(slots=3), *(asks(f"t{n}", job="j") for n in range(4)))
    story.when(ChangeJob("default", "j", {"max_slots": 2})).then(JobChanged)
    assert next_after(story.given(asks("other")), "t0") == "other"
    assert story.explained() == {"t3": "max_slots"}
    story.when(exited(story, "t1"))
    assert "t3" in story.holders()


def test_slots_beyond_a_lowered_limit_go_to_others() -> None:
    story = PoolStory(FairShare()).given(hello(slots=4), *(asks(f"t{n}", job="j") for n in range(4)))
    story.given(asks("other", 3, job="k"), ChangeJob("default", "j", {"max_slots": 1}))
    for name in ("t3", "t2", "t1"):
        story.given(AcknowledgePreemption("default", name), exited(story, name))
    assert story.holders() == {"t0": ("a1",), "other": ("a1",)}


def test_a_job_that_has_nothing_for_long_is_forgotten_and_what_its_log_says_of_it_still_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resolute.scheduling.pool.JOBS_REMEMBERED", 2)
    story = given(hello("a1", 4), asks("t", job="paused"), asks("notebook", 0, job="idle"))
    story.given(ChangeJob("default", "paused", {"priority": 7})).when(exited(story, "t"))
    for number in range(5):
        story.given(asks(f"u{number}", job="other")).when(exited(story, f"u{number}"))
    story.when(asks("t2", job="paused"))
    assert story.pool.jobs["paused"].priority == 7, "one that comes and goes is one"
    story.when(exited(story, "t2"))
    for number in range(5):
        story.given(asks(f"v{number}", job=f"job-{number}")).when(exited(story, f"v{number}"))
    assert {job_id for job_id, _ in story.pool.jobs.items()} == {"idle", "job-3", "job-4"}
    evolve(story.pool, JobChanged("paused", {"priority": 9}))
    assert "paused" not in story.pool.jobs


def test_a_job_at_its_limit_is_told_what_it_holds_and_what_room_is_made_for() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello("a1", 3), asks("low", 2, priority=90))
    story.given(asks("one", 1, job="j", priority=1, max_slots=3), asks("two", 2, job="j", priority=1, max_slots=3))
    story.when(asks("three", 1, job="j", priority=1, max_slots=3))
    told = story.pool.allocations["three"]
    assert told.rule_waiting == "max_slots"
    assert told.why_waiting == "job j holds 1 slots, has room made for 2 more, and its max_slots is 3"
    story.given(AcknowledgePreemption("default", "low"), exited(story, "low"))
    assert story.pool.allocations["three"].why_waiting == "job j holds 3 slots, and its max_slots is 3"
