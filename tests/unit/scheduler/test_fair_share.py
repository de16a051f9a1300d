"""Fair share by worked examples: who holds how much in the end, and who has to go for it."""

from __future__ import annotations

import re

import pytest

from resolute.proto.errors import Refused
from resolute.proto.pool import (
    AcknowledgePreemption,
    AllocationRequested,
    AllocationWaits,
    MoveJob,
    PreemptionRequested,
    SlotsAssigned,
)
from resolute.scheduling.allocation import State
from resolute.scheduling.policies import FairShare
from resolute.scheduling.shares import WEIGHT_UNIT, Group, Instant, ticks
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello
from tests.unit.scheduler.workloads import Workload


def shared(slots: int, *demands: tuple[str, float, int], **settings: object) -> dict[str, int]:
    """Slots held by jobs of (name, weight, slots wanted one by one), who come one after another."""
    workload = Workload(FairShare(), {"a1": slots})
    for name, weight, count in demands:
        workload.submit(name, [1] * count, weight=weight)
    workload.settle()
    return workload.held()


def test_weights_one_and_three_on_eight_slots_give_two_and_six() -> None:
    assert shared(8, ("light", 1, 8), ("heavy", 3, 8)) == {"light": 2, "heavy": 6}
    assert shared(8, ("heavy", 3, 8), ("light", 1, 8)) == {"light": 2, "heavy": 6}


def test_they_do_so_within_one_cycle() -> None:
    """One look at the queue asks all who have to go, at once."""
    story = PoolStory(FairShare()).given(hello(slots=8), *(asks(f"l{n}", job="light") for n in range(8)))
    for number in range(8):
        story.when(asks(f"h{number}", job="heavy", weight=3))
    asked = [event for event in story.events if isinstance(event, PreemptionRequested)]
    assert [event.allocation_id for event in asked] == ["l7", "l6", "l5", "l4", "l3", "l2"]
    assert [event.for_allocation for event in asked] == ["h0", "h1", "h2", "h3", "h4", "h5"]


def test_what_one_does_not_want_the_others_share() -> None:
    assert shared(9, ("small", 1, 1), ("a", 1, 9), ("b", 1, 9)) == {"small": 1, "a": 4, "b": 4}


def test_the_remainder_is_taken_from_nobody() -> None:
    assert sorted(shared(8, ("a", 1, 8), ("b", 1, 8), ("c", 1, 8)).values()) == [2, 3, 3]


def test_alone_a_job_has_everything() -> None:
    assert shared(8, ("a", 0.1, 20)) == {"a": 8}


def test_with_more_jobs_than_slots_a_heavy_one_still_has_its_share() -> None:
    held = shared(10, *((f"light{n}", 1, 1) for n in range(10)), ("heavy", 10, 10))
    assert held["heavy"] == 5
    assert sum(held.values()) == 10


def test_between_users_the_number_of_their_jobs_is_no_matter() -> None:
    workload = Workload(FairShare(by_user=True), {"a1": 8})
    for number in range(4):
        workload.submit(f"ada{number}", [1] * 8, owner="ada")
    workload.submit("ben0", [1] * 8, owner="ben")
    workload.settle()
    assert workload.held()["ben0"] == 4


def test_a_gang_that_is_mostly_its_jobs_own_is_made_room_for() -> None:
    workload = Workload(FairShare(), {"a1": 4, "a2": 4})
    workload.submit("units", [1] * 8, weight=1)
    workload.submit("gang", [8], weight=3)
    workload.settle()
    assert workload.held() == {"gang": 8}


def test_a_gang_that_is_half_somebody_elses_waits_and_its_turn_comes() -> None:
    workload = Workload(FairShare(), {"a1": 4, "a2": 4})
    workload.submit("units", [1] * 40)
    workload.submit("gang", [8])
    workload.settle()
    assert workload.held() == {"units": 8}
    ran = [workload.finish_oldest() for _ in range(16)]
    assert "gang" not in ran[:8], "it is passed over by as many slots as it needs"
    assert "gang" in workload.held()


def test_agents_are_kept_for_a_gang_whose_turn_it_is_and_others_use_the_rest() -> None:
    workload = Workload(FairShare(), {"a1": 4, "a2": 4, "a3": 4})
    workload.submit("units", [1] * 100, weight=11)
    workload.submit("gang", [4])
    workload.settle()
    free = []
    while "gang" not in workload.held():
        workload.finish_oldest()
        free.append(workload.story.pool.slots_free)
    assert 44 <= len(free) <= 44 + 12, "four are its share of forty-eight, and then it needs whole agents"
    assert max(free) <= 3, "only where it will run"


def test_no_more_slots_are_taken_than_help() -> None:
    """A gang of eight is not stopped for one slot: seven would be lost to gain one."""
    workload = Workload(FairShare(), {"a1": 8})
    workload.submit("gang", [8])
    workload.submit("unit", [1])
    workload.settle()
    assert workload.held() == {"gang": 8}


def test_remainders_go_round() -> None:
    """One slot and three jobs with work for ever: once all have come, none is served twice before the others."""
    workload = Workload(FairShare(), {"a1": 1})
    for name in "abc":
        workload.submit(name, [1] * 5)
    served = [workload.finish_oldest() for _ in range(9)]
    assert served == ["a", *"abcabcab"]


def test_a_job_at_its_own_limit_leaves_the_rest_to_others() -> None:
    workload = Workload(FairShare(), {"a1": 8})
    workload.submit("limited", [1] * 8, max_slots=2)
    workload.submit("other", [1] * 8)
    workload.settle()
    assert workload.held() == {"limited": 2, "other": 6}


def test_reasons_tell_the_share() -> None:
    story = PoolStory(FairShare()).given(hello(slots=2), asks("a", job="j"), asks("b", job="k"), asks("c", job="j"))
    story.when(asks("d", job="j"))
    waiting = story.pool.allocations["c"]
    assert (waiting.rule_waiting, waiting.why_waiting) == (
        "fair_share",
        "job j has 1 of a share of 1 slots at weight 1; it needs 1 slot",
    )
    given = next(e for e in story.events if isinstance(e, SlotsAssigned))
    assert given.rule == "fair_share"
    assert given.reason == "job j has 0 of a share of 1 slots at weight 1; a1 is the tightest fit"


def test_who_has_its_share_is_told_so_though_another_comes_first() -> None:
    story = PoolStory(FairShare()).given(hello(slots=2), asks("a", job="j"), asks("b", job="k"), asks("c", job="j"))
    story.when(asks("d", job="k"))
    assert story.explained() == {"c": "fair_share", "d": "fair_share"}


def test_the_reason_of_a_preemption_tells_both_shares() -> None:
    story = PoolStory(FairShare()).given(hello(slots=2), asks("a", job="j"), asks("b", job="j"), asks("c", job="k"))
    event = story.then(AllocationRequested, PreemptionRequested).only(PreemptionRequested)
    assert isinstance(event, PreemptionRequested)
    assert event.reason == "fair share: k has 0 of a share of 1 slots and needs 1 for c; j has 2 of 1"
    assert story.only(AllocationWaits).rule == "making_room"  # type: ignore[attr-defined]
    story.when(exited(story, event.allocation_id))
    assert sorted(story.holders()) == ["a", "c"]


def test_a_place_in_the_queue_means_nothing_here() -> None:
    story = PoolStory(FairShare()).given(hello(slots=1), asks("a"), asks("b"), asks("c"))
    with pytest.raises(
        Refused, match=re.escape("shares its slots by weight, not by place in a queue; a larger weight")
    ):
        story.when(MoveJob("default", "job-of-c", ahead_of="job-of-b"))


def test_what_a_light_job_is_owed_outlasts_being_asked_to_go_and_having_nothing() -> None:
    """It is given what the big one leaves while that asks for its next, and loses it; but by weight it is owed one slot
    of ten, and when so many were given it keeps what it is given."""
    story = PoolStory(FairShare()).given(hello(slots=2), asks("big-1", 2, job="big", weight=9))
    for number in range(1, 4):
        story.given(asks(f"light-{number}", job="light"), exited(story, f"big-{number}"))
        assert f"light-{number}" in story.holders()
        story.when(asks(f"big-{number + 1}", 2, job="big", weight=9))
        if number < 3:
            story.given(AcknowledgePreemption("default", f"light-{number}"), exited(story, f"light-{number}"))
            assert "light" not in story.pool.shares.groups
    assert story.pool.allocations["light-3"].preemptible
    assert story.pool.allocations["big-4"].state is State.WAITING


@pytest.mark.parametrize("passed", [0, 10**6, 10**12, 10**18])
def test_whose_turn_it_is_does_not_depend_on_how_long_the_pool_has_been_there(passed: int) -> None:
    """A group of a tenth of the weight is due two slots when eighteen were given to others."""
    clock = ticks(passed, WEIGHT_UNIT)
    group = Group(turn=1, owed_since=Instant(clock, passed), weight=WEIGHT_UNIT)
    for given in range(30):
        clock_now = clock + sum(ticks(1, 10 * WEIGHT_UNIT) for _ in range(given))
        due = group.is_due(2, Instant(clock_now, passed + given), 4, 10 * WEIGHT_UNIT)
        assert due == (given >= 18), given
