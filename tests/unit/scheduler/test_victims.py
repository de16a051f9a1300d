"""Who is asked to go: the fewest slots of the least urgent that suffice."""

from __future__ import annotations

from resolute.proto.pool import ChangeJob, PreemptionRequested
from resolute.scheduling.policies import FairShare, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello, started


def urgent(*wishes: object) -> PoolStory:
    return PoolStory(Priority(preemption=True)).given(*wishes)  # type: ignore[arg-type]


def asked_to_go(story: PoolStory) -> list[str]:
    return sorted(event.allocation_id for event in story.latest if isinstance(event, PreemptionRequested))


def test_a_gang_that_frees_all_that_is_needed_goes_alone() -> None:
    story = urgent(*(hello(f"a{n}", 8) for n in range(3)), asks("gang", 16, priority=50))
    story.given(*(asks(f"single{n}", priority=99) for n in range(8)))
    assert asked_to_go(story.when(asks("urgent", 16, priority=40))) == ["gang"]


def test_the_more_urgent_is_spared_where_one_of_two_would_do() -> None:
    story = urgent(hello("a1", 5), asks("three", 3, priority=50), asks("n98", priority=98), asks("n99", priority=99))
    assert asked_to_go(story.when(asks("urgent", 4, priority=10))) == ["n99", "three"]


def test_whole_agents_are_emptied_where_no_single_one_can_be() -> None:
    story = urgent(hello("a4", 4), hello("b2", 2), hello("c2", 2), asks("first", 4, priority=1))
    story.given(asks("low1", 2, priority=90), asks("low2", 2, priority=90))
    story.when(asks("second", 4, priority=1))
    assert asked_to_go(story) == ["low1", "low2"]
    for name in ("low1", "low2"):
        story.when(exited(story, name))
    assert story.holders()["second"] == ("b2", "c2")


def test_the_less_urgent_go_although_a_single_agent_would_do() -> None:
    story = urgent(hello("a4", 4), hello("b8", 8), hello("c4", 4), asks("p40", 8, priority=40))
    story.given(asks("p50", 4, priority=50), asks("p50too", 4, priority=50))
    assert asked_to_go(story.when(asks("urgent", 8, priority=1))) == ["p50", "p50too"]


def test_what_may_not_be_preempted_is_never_asked() -> None:
    for policy in (Priority(preemption=True), FairShare()):
        story = PoolStory(policy).given(hello("a1", 2), asks("notebook", 2, priority=99, preemptible=False))
        assert asked_to_go(story.when(asks("urgent", 1, priority=1, weight=9))) == []


def test_fair_share_counts_what_may_not_be_preempted() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 4), asks("notebook", 2, job="A", preemptible=False))
    story.given(*(asks(f"A{n}", job="A") for n in range(2)), *(asks(f"B{n}", job="B") for n in range(2)))
    assert sorted(story.holders()) == ["A0", "A1", "notebook"]
    assert story.pool.allocations["A1"].going or story.pool.allocations["A0"].going


def test_a_demand_that_can_never_run_takes_nothing_from_the_shares_of_others() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 4), hello("a2", 4), asks("huge", 16, job="huge", weight=10))
    for n in range(8):
        story.given(asks(f"A{n}", job="A"), asks(f"B{n}", job="B"))
    held = [name[0] for name in story.holders()]
    assert (held.count("A"), held.count("B")) == (4, 4)
    assert not any(isinstance(event, PreemptionRequested) for event in story.events)


def test_a_demand_that_becomes_impossible_takes_nothing_any_more_and_says_why() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 4), asks("held", 4, job="held"))
    story.given(asks("next", 4, job="wide", max_slots=8), ChangeJob("default", "wide", {"max_slots": 3}))
    assert story.pool.jobs["wide"].demand == 0
    assert "less than the 4 slots that it needs" in story.pool.allocations["next"].why_waiting


def test_a_lowered_limit_releases_no_more_than_it_must() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 8), asks("one", 1, job="j"), asks("four", 4, job="j"))
    story.when(ChangeJob("default", "j", {"max_slots": 4}))
    assert asked_to_go(story) == ["one"]


def test_fair_share_gives_what_the_next_look_would_leave() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 4), asks("held", 4, job="held"))
    story.given(asks("light", 4, job="light", weight=1), asks("heavy", 4, job="heavy", weight=2))
    story.when(exited(story, "held"))
    assert list(story.holders()) == ["heavy"]
    assert asked_to_go(story.when(started(story, "heavy"))) == []
