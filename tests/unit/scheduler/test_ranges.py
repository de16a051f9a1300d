"""A trial that takes a range of slots is given as many as fit when its turn comes, and decides anew the next time."""

from __future__ import annotations

import pytest

from resolute.config.pools import Provider, ResourcePool
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import (
    AcknowledgePreemption,
    AllocationHeldBack,
    ChangeJob,
    CheckFit,
    PreemptionRequested,
    SlotsAssigned,
)
from resolute.scheduling import fit
from resolute.scheduling.decisions import ExpireLease
from resolute.scheduling.placement import Fitting
from resolute.scheduling.policies import FairShare, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello


def held(story: PoolStory, allocation: str) -> list[tuple[str, int]]:
    shares = story.pool.allocations[allocation].shares.values()
    return [(share.placement.agent_id, len(share.placement.slot_ids)) for share in shares]


def why(story: PoolStory) -> str:
    event = story.only(SlotsAssigned)
    assert isinstance(event, SlotsAssigned)
    return event.reason.split("; ")[-1]


def test_it_has_all_that_it_asks_for_where_that_fits() -> None:
    story = given(hello("a1", 4)).when(asks("t", 4, slots_min=2))
    assert held(story, "t") == [("a1", 4)]
    assert why(story) == "it takes 2 to 4 slots and has 4, all it asks for"


def test_it_has_less_where_more_does_not_fit_now() -> None:
    story = given(hello("a1", 4), asks("other")).when(asks("t", 4, slots_min=2))
    assert held(story, "t") == [("a1", 3)]
    assert why(story) == "it takes 2 to 4 slots and has 3: more do not fit now"
    assert story.pool.jobs["job-of-t"].slots_held == 3


def test_it_waits_for_the_least_and_no_longer() -> None:
    story = given(hello("a1", 4), *(asks(f"t{n}") for n in range(3))).when(asks("t", 4, slots_min=2))
    assert story.pool.allocations["t"].rule_waiting == "busy"
    assert "it needs 2 to 4 slots" in story.pool.allocations["t"].why_waiting
    story.when(exited(story, "t0"))
    assert held(story, "t") == [("a1", 2)]


def test_a_gang_that_lost_an_agent_comes_back_on_what_is_left() -> None:
    story = given(hello("a1", 2), hello("a2", 2), asks("t.1", 4, slots_min=2, job="j"))
    assert held(story, "t.1") == [("a1", 2), ("a2", 2)]
    story.given(ExpireLease("a2", 30), exited(story, "t.1", 0, 137)).when(asks("t.2", 4, slots_min=2, job="j"))
    assert held(story, "t.2") == [("a1", 2)]
    story.given(exited(story, "t.2"), hello("a2", 2)).when(asks("t.3", 4, slots_min=2, job="j"))
    assert held(story, "t.3") == [("a1", 2), ("a2", 2)]


def test_over_several_agents_it_takes_whole_ones_and_so_not_every_number() -> None:
    story = given(hello("a1", 2), hello("a2", 2), asks("t", 4, slots_min=3))
    assert held(story, "t") == [("a1", 2), ("a2", 2)], "three would not be whole agents"
    story = given(hello("a1", 2), asks("t", 4, slots_min=3))
    assert isinstance(story.latest[-1], AllocationHeldBack)
    assert "it needs 3 to 4 slots" in story.latest[-1].reason
    uneven = PoolStory(Priority(fitting=Fitting(uneven=True))).given(
        hello("a1", 2), hello("a2", 1), asks("t", 4, slots_min=3)
    )
    assert held(uneven, "t") == [("a1", 2), ("a2", 1)]


def test_room_is_made_for_the_least_it_asks_and_it_takes_what_more_there_is() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello("a1", 4), *(asks(f"t{n}", priority=90) for n in range(4)))
    story.when(asks("range", 4, slots_min=2, priority=1))
    asked = [event.allocation_id for event in story.latest if isinstance(event, PreemptionRequested)]
    assert asked == ["t3", "t2"]
    story.given(exited(story, "t1"), AcknowledgePreemption("default", "t3"), exited(story, "t3"))
    assert held(story, "range") == [("a1", 2)], "it had what was free as soon as that was enough"


def test_under_fair_share_it_has_no_more_than_its_share_while_others_wait() -> None:
    story = PoolStory(FairShare()).given(hello("a1", 8), asks("full", 8, job="first"))
    story.given(*(asks(f"t{n}", job="units") for n in range(8)), asks("range", 8, slots_min=2, job="r"))
    story.when(exited(story, "full"))
    assert held(story, "range") == [("a1", 4)]
    assert "more is not its job's to have while others wait" in next(
        event.reason for event in story.latest if isinstance(event, SlotsAssigned) and event.allocation_id == "range"
    )


def test_the_limit_of_its_job_cuts_the_range() -> None:
    story = given(hello("a1", 8), asks("t", 4, slots_min=2, job="j", max_slots=5)).when(
        asks("u", 4, slots_min=1, job="j", max_slots=5)
    )
    assert held(story, "u") == [("a1", 1)]
    story.given(asks("v", 4, slots_min=1, job="j", max_slots=5))
    assert story.explained() == {"v": "max_slots"}
    story.when(ChangeJob("default", "j", {"max_slots": 7}))
    assert held(story, "v") == [("a1", 2)]


def test_a_range_is_submitted_where_any_of_it_fits() -> None:
    pool = given(hello("a1", 2), hello("a2", 2)).pool
    assert fit.check(CheckFit("default", 4, slots_min=3), pool, ResourcePool()).fits
    found = fit.check(CheckFit("default", 6, slots_min=5), pool, ResourcePool())
    assert (found.fits, found.would_fit) == (False, "4 slots would fit")
    assert "it needs 5 to 6 slots" in found.why
    elastic = ResourcePool(provider=Provider(instance_slots=8, max_instances=2))
    assert fit.check(CheckFit("default", 16, slots_min=10), pool, elastic).fits


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"slots_min: found 5; from 1 to slots \(4\) would do"):
        given(hello("a1", 4)).when(asks("t", 4, slots_min=5))
