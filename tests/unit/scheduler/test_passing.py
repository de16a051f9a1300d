"""What does not fit yet is passed over by those behind it, for a while, and is not starved by that."""

from __future__ import annotations

import pytest

from resolute.proto.pool import AllocationRequested, PreemptionRequested, SlotsAssigned
from resolute.scheduling.policies import Fifo, Policy, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

ONE_QUEUE = pytest.mark.parametrize("policy", [Fifo(), Priority()], ids=["fifo", "priority"])


def half_full(policy: Policy) -> PoolStory:
    """Two agents of four slots; six single slots are held."""
    agents = hello("a1", 4), hello("a2", 4)
    return PoolStory(policy).given(*agents, *(asks(f"held{n}", job="held") for n in range(6)))


@ONE_QUEUE
def test_slots_that_the_first_cannot_use_go_to_those_behind_it(policy: Policy) -> None:
    story = half_full(policy).given(asks("gang", 8)).when(asks("small"))
    assigned = story.then(AllocationRequested, SlotsAssigned).only(SlotsAssigned)
    assert isinstance(assigned, SlotsAssigned)
    assert assigned.reason.startswith("gang comes first, and cannot use these slots yet")


@ONE_QUEUE
def test_an_agent_that_the_first_must_not_use_does_not_stay_idle(policy: Policy) -> None:
    agents = hello("a1", 2), hello("a2", 2)
    story = PoolStory(policy).given(*agents, asks("held", 2, blocked=("a2",)), asks("picky", 2, blocked=("a2",)))
    story.when(asks("small"))
    assert story.holders() == {"held": ("a1",), "small": ("a2",)}


@ONE_QUEUE
def test_a_first_that_wants_one_agent_does_not_keep_the_others_idle(policy: Policy) -> None:
    agents = hello("a1", 4), hello("a2", 2)
    story = PoolStory(policy).given(*agents, asks("held", 2, blocked=("a2",)), asks("wide", 4, single_agent=True))
    story.when(asks("small"))
    assert "small" in story.holders()


@ONE_QUEUE
def test_once_as_much_was_given_to_others_as_the_pool_has_room_is_kept(policy: Policy) -> None:
    story = half_full(policy).given(asks("gang", 8), *(asks(f"small{n}") for n in range(40)))
    passed = [
        event for event in story.events if isinstance(event, SlotsAssigned) and "gang comes first" in event.reason
    ]
    while small := next((name for name in story.holders() if name.startswith("small")), None):
        passed += [event for event in story.when(exited(story, small)).latest if isinstance(event, SlotsAssigned)]
    assert len(passed) == 8
    for held in list(story.holders()):
        story.when(exited(story, held))
    assert story.holders() == {"gang": ("a1", "a2")}


def test_a_lower_priority_does_not_pass_where_nobody_may_be_asked_to_go() -> None:
    story = half_full(Priority()).given(asks("gang", 8, priority=10))
    story.when(asks("small", priority=50)).then(AllocationRequested)


def test_a_lower_priority_that_can_be_asked_to_go_passes() -> None:
    story = half_full(Priority(preemption=True)).given(asks("gang", 8, priority=42))
    assert "small" in story.when(asks("small", priority=50)).holders()
    assert "notebook" not in story.when(asks("notebook", priority=50, preemptible=False)).holders()


def test_room_is_asked_for_before_a_lower_priority_is_given_what_would_be_wanted_back_at_once() -> None:
    story = PoolStory(Priority(preemption=True)).given(hello("a1", 4), asks("low", priority=90))
    story.given(hello("a2", 1), asks("other", priority=90, blocked=("a1",)))
    story.when(asks("wide", 4, priority=10)).then(AllocationRequested, PreemptionRequested)
    story.when(asks("small", priority=90)).then(AllocationRequested)


def test_what_fits_beside_room_that_is_being_made_is_given_in_the_same_look() -> None:
    agents = hello("a1", 2), hello("a2", 2)
    story = PoolStory(Priority(preemption=True)).given(
        *agents, asks("low", 2, priority=90), asks("low2", 1, priority=90)
    )
    story.given(asks("mine", priority=10, blocked=("a1",)))
    story.when(exited(story, "low2"))
    story.when(asks("wide", 2, priority=10, single_agent=True, blocked=("a2",)))
    story.when(asks("beside", priority=10))
    assert "beside" in story.holders()


@ONE_QUEUE
def test_within_a_job_the_older_allocation_goes_first_whatever_it_excludes(policy: Policy) -> None:
    story = PoolStory(policy).given(hello("a1", 1), hello("a2", 1), asks("x", blocked=("a2",)), asks("y"))
    story.given(asks("older", job="j", blocked=("a9",)), asks("younger", job="j"))
    story.when(exited(story, "x"))
    assert "older" in story.holders()
    assert "younger" not in story.holders()
