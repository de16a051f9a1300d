"""Places in the queue, what could ever fit, how work is placed, and the reasons that are recorded."""

from __future__ import annotations

from fractions import Fraction

import pytest

from resolute.config.pools import Provider, ResourcePool, Scheduler
from resolute.proto.errors import InvalidConfig, NotFound, Refused, ResoluteError
from resolute.proto.pool import (
    AllocationRequested,
    AllocationWaits,
    ChangeJob,
    CheckFit,
    DisableAgent,
    EnableAgent,
    JobMoved,
    MoveJob,
    SlotsAssigned,
)
from resolute.scheduling import fit, moves, placement
from resolute.scheduling.decisions import PoolInput
from resolute.scheduling.demands import Kind
from resolute.scheduling.placement import Fitting
from resolute.scheduling.policies import Fifo, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, given, hello


def queue(story: PoolStory) -> list[str]:
    """Who is given the pool's only slot, one after another."""
    served = []
    while holders := story.holders():
        served += list(holders)
        story.when(exited(story, served[-1]))
    return served


def four() -> PoolStory:
    return given(hello(slots=1), asks("a"), asks("b"), asks("c"), asks("d"))


def test_a_job_moves_ahead_of_another_and_behind_the_last() -> None:
    assert queue(four().given(MoveJob("default", "job-of-d", ahead_of="job-of-b"))) == ["a", "d", "b", "c"]
    assert queue(four().given(MoveJob("default", "job-of-b", behind_of="job-of-d"), asks("e"))) == list("acdbe")


def test_there_is_always_room_between_two() -> None:
    story = four()
    for number in range(200):
        story.when(MoveJob("default", f"job-of-{'dc'[number % 2]}", behind_of="job-of-b"))
    assert queue(story) == ["a", "b", "c", "d"]


def test_so_many_moves_that_there_is_no_room_between_two_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "DECIMALS_MOST", 20)
    story = four()
    for number in range(60):
        story.when(MoveJob("default", f"job-of-{'dc'[number % 2]}", behind_of="job-of-b"))
    with pytest.raises(Refused, match="no more room is left between two places; move job-of-b first"):
        story.when(MoveJob("default", "job-of-d", behind_of="job-of-b"))
    story.given(
        MoveJob("default", "job-of-b", behind_of="job-of-d"), MoveJob("default", "job-of-b", ahead_of="job-of-c")
    )
    story.when(MoveJob("default", "job-of-d", behind_of="job-of-b"))
    assert queue(story) == ["a", "b", "d", "c"]


def test_places_have_no_more_digits_than_a_number_may_have_that_is_read() -> None:
    low, high = 2, Fraction(3)
    for _ in range(3000):
        text = moves._decimal(*moves._between(low, high))
        assert low < Fraction(text) < high
        high = Fraction(text)
    assert len(text) < 1010
    pairs = (2, 3), (2, 4), (Fraction(5, 2), 2)
    assert [moves._decimal(*moves._between(*ends)) for ends in pairs] == [
        "2.5",
        "3",
        "2.2",
    ]
    assert [moves._decimal(*moves._between(first, None)) for first in (1, 0, Fraction(-1, 2))] == ["0", "-1", "-2"]


def test_the_moved_adopts_its_neighbours_priority() -> None:
    story = given(hello(slots=1), asks("a"), asks("b", priority=1), asks("c"))
    event = story.when(MoveJob("default", "job-of-c", ahead_of="job-of-b")).only(JobMoved)
    assert isinstance(event, JobMoved)
    assert event.priority == 1
    assert queue(story) == ["a", "c", "b"]


def test_a_move_to_where_it_is_changes_nothing() -> None:
    four().when(MoveJob("default", "job-of-c", behind_of="job-of-b")).then()


@pytest.mark.parametrize(
    ("wish", "error", "said"),
    [
        (MoveJob("default", "job-of-b", ahead_of="job-of-b"), InvalidConfig, "ahead_of: job job-of-b cannot be moved"),
        (MoveJob("default", "job-of-b"), InvalidConfig, "expected exactly one of the two"),
        (MoveJob("default", "job-of-b", ahead_of="nobody"), NotFound, "no job nobody in pool default"),
        (MoveJob("default", "job-of-b", ahead_of="job-of-a"), Refused, "nothing of job job-of-a waits in it"),
        (
            ChangeJob("default", "job-of-b", {"priority": 100}),
            InvalidConfig,
            "changes.priority: found 100; a whole number",
        ),
        (ChangeJob("default", "job-of-b", {"weight": -1}), InvalidConfig, "changes.weight: found -1; a number above 0"),
        (ChangeJob("default", "job-of-b", {"max_slots": "x"}), InvalidConfig, "changes.max_slots: found 'x'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_moves(wish: PoolInput, error: type[ResoluteError], said: str) -> None:
    story = four()
    before = list(story.pool.queue)
    with pytest.raises(error, match=said):
        story.when(wish)
    assert list(story.pool.queue) == before


def test_fifo_knows_no_priorities() -> None:
    story = PoolStory(Fifo()).given(hello(slots=1), asks("a"), asks("b", priority=90), asks("c", 1, priority=1))
    assert queue(story) == ["a", "b", "c"]


def test_a_demand_that_can_never_fit_is_told_what_would() -> None:
    story, settings = given(hello("a1", slots=4), hello("a2", slots=4)), ResourcePool()
    assert fit.check(CheckFit("default", 8), story.pool, settings).fits
    found = fit.check(CheckFit("default", 6), story.pool, settings)
    assert (found.fits, found.would_fit) == (False, "4 slots or 8 slots would fit")
    assert "the largest agent of the pool has 4" in found.why
    uneven = ResourcePool(scheduler=Scheduler(allow_heterogeneous_fits=True))
    assert fit.check(CheckFit("default", 6), story.pool, uneven).fits
    blocked = fit.check(CheckFit("default", 4, blocked_agents=("a1", "a2")), story.pool, settings)
    assert (blocked.fits, blocked.why) == (False, "it would fit only with agents it must not use: a1, a2")


def test_an_empty_pool_is_no_evidence_and_what_may_be_started_counts() -> None:
    assert fit.check(CheckFit("default", 64), given().pool, ResourcePool()).why.startswith("no agent has joined")
    assert fit.check(CheckFit("default", 64), given().pool, ResourcePool()).fits
    elastic = ResourcePool(provider=Provider(instance_slots=8, max_instances=2))
    assert fit.check(CheckFit("default", 16), given(hello(slots=2)).pool, elastic).fits
    for pool in (given(hello(slots=2)).pool, given().pool):
        found = fit.check(CheckFit("default", 12), pool, elastic)
        assert (found.fits, found.would_fit) == (False, "8 slots or 16 slots would fit")
        assert "the pool may start 2 instances of 8 slots" in found.why
        assert fit.check(CheckFit("default", 24), pool, elastic).would_fit == "16 slots would fit"


def test_the_worst_fit_spreads_work_out() -> None:
    story = PoolStory(Priority(fitting=Fitting(spread=True)))
    story.given(hello("a1", 2), hello("a2", 4), asks("x"), asks("y"), asks("z"))
    assert story.holders() == {"x": ("a2",), "y": ("a2",), "z": ("a1",)}


def test_a_gang_takes_agents_of_unlike_sizes_where_the_pool_says_so() -> None:
    story = PoolStory(Priority(fitting=Fitting(uneven=True))).given(hello("a1", 4), hello("a2", 2), asks("gang", 5))
    shares = story.pool.allocations["gang"].shares.values()
    assert [(s.placement.agent_id, len(s.placement.slot_ids)) for s in shares] == [("a1", 4), ("a2", 1)]


def test_an_agent_runs_no_more_tasks_without_slots_than_it_may() -> None:
    story = PoolStory(Priority(fitting=Fitting(zero_slot_tasks_max=1))).given(
        hello(slots=1), asks("x", 0), asks("y", 0)
    )
    assert story.pool.allocations["y"].why_waiting == "every agent runs as many tasks without slots as it may"
    story.when(exited(story, "x"))
    assert "y" in story.holders()


def test_blocked_agents_are_not_used() -> None:
    story = given(hello("a1", 1), hello("a2", 4), asks("x", blocked=("a1",)))
    assert story.holders() == {"x": ("a2",)}


def test_a_reason_names_who_comes_first_and_who_holds_the_slots() -> None:
    story = four()
    reason = next(e for e in story.events if isinstance(e, AllocationWaits) and e.allocation_id == "d")
    assert (reason.rule, reason.jobs_ahead, reason.ahead) == ("in_line", 2, ("job-of-b", "job-of-c"))
    assert [(holder.job_id, holder.slots) for holder in reason.holders] == [("job-of-a", 1)]
    assert reason.reason == "2 jobs came first (job-of-b, job-of-c) when it got in line"
    assert reason.since == story.now


def test_who_becomes_first_in_line_is_told_so_once() -> None:
    story = four()
    story.when(exited(story, "a"))
    told = [event for event in story.latest if isinstance(event, AllocationWaits)]
    assert [(event.allocation_id, event.rule) for event in told] == [("c", "busy")]
    story.when(asks("e"))
    assert [e.allocation_id for e in story.latest if isinstance(e, AllocationWaits)] == ["e"]


def test_free_slots_that_lie_wrongly_are_a_reason_of_their_own() -> None:
    story = given(hello("a1", 2), hello("a2", 2), asks("x"), asks("y", blocked=("a1",)), asks("wide", 2))
    assert story.pool.allocations["wide"].rule_waiting == "whole_agents"


def test_a_job_at_its_limit_is_told_so() -> None:
    story = given(hello(slots=4), asks("a", job="j", max_slots=1), asks("b", job="j", max_slots=1))
    assert story.pool.allocations["b"].why_waiting == "job j holds 1 slots, and its max_slots is 1"


def test_what_a_smaller_pool_cannot_hold_is_told_and_withdrawn_when_it_grows() -> None:
    story = given(hello("a1", 4), asks("x", 4), asks("y", 4)).given(DisableAgent("default", "a1", drain=True))
    assert story.pool.allocations["y"].rule_waiting == "never_fits"
    story.when(EnableAgent("default", "a1"))
    assert story.pool.allocations["y"].rule_waiting == "busy"


def test_an_agent_that_drains_finishes_what_it_has_and_takes_nothing_more() -> None:
    story = given(hello("a1", 2), asks("x")).given(DisableAgent("default", "a1", drain=True)).when(asks("y"))
    assert story.holders() == {"x": ("a1",)}
    story.when(exited(story, "x"))
    assert story.holders() == {}
    assert story.when(EnableAgent("default", "a1")).only(SlotsAssigned)


def test_a_reason_for_giving_slots_names_the_rule() -> None:
    event = (
        given(hello(slots=1)).when(asks("a", priority=7)).then(AllocationRequested, SlotsAssigned).only(SlotsAssigned)
    )
    assert isinstance(event, SlotsAssigned)
    assert (event.rule, event.reason) == ("priority", "first in the queue at priority 7; a1 is the tightest fit")


def test_room_is_kept_for_a_gang_on_agents_that_it_may_use() -> None:
    """Two agents of four slots would do, and one of them it must not use; four of two do."""
    agents = {"large-1": 4, "large-2": 4, **{f"small-{n}": 2 for n in range(1, 5)}}
    pool = given(*(hello(name, slots) for name, slots in agents.items())).pool
    kept = placement.nearest(pool, Kind(8, False, ("large-2",), 8), Fitting(), ())
    assert sorted(kept) == [f"small-{n}" for n in range(1, 5)]
    assert sorted(placement.nearest(pool, Kind(8, False, (), 8), Fitting(), ())) == ["large-1", "large-2"]
