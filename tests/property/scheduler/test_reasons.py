"""Whoever asks why it waits is told what holds it now, however long ago it was told that it is in line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import hypothesis
from hypothesis import strategies as st

from resolute.proto.errors import ResoluteError
from resolute.proto.pool import (
    AllocationHeldBack,
    AllocationWaits,
    ChangeJob,
    DisableAgent,
    DisableSlot,
    EnableAgent,
    EnableSlot,
    KillAllocation,
    MoveJob,
    PreemptAllocation,
    PreemptionRequested,
)
from resolute.scheduling import reasons
from resolute.scheduling.decisions import ExpireLease, PoolInput
from resolute.scheduling.policies import Policy
from tests.property.scheduler.test_promises_of_a_pool import POLICIES
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

JOBS = [f"j{n}" for n in range(5)]
STEPS = st.tuples(
    st.sampled_from(["ask"] * 8 + ["end"] * 6 + ["move"] * 2 + ["change", "agent", "slot", "lose", "come"]),
    st.integers(0, 99),
    st.integers(0, 99),
)
SCRIPTS = st.lists(STEPS, min_size=10, max_size=80)


def wish_of(story: PoolStory, number: int, step: tuple[str, int, int]) -> PoolInput | None:
    what, one, other = step
    job, alive = JOBS[one % len(JOBS)], list(story.pool.allocations.values())
    match what:
        case "ask":
            blocked = ("a1",) if other % 11 == 0 else ()
            limit = {1: 2, 2: 3}.get(one % len(JOBS))
            slots, priority = (0, 1, 1, 1, 2, 2, 3, 4, 6)[other % 9], 40 + one % 3
            owner = "ada" if one % 2 else "ben"
            weight = (1.0, 2.0, 0.5)[one % 3]
            least = max(1, slots - 1) if slots and one % 4 == 3 else None
            return asks(
                f"t{number}",
                slots,
                job=job,
                priority=priority,
                max_slots=limit,
                blocked=blocked,
                owner=owner,
                weight=weight,
                slots_min=least,
            )
        case "end" if alive:
            chosen = alive[other % len(alive)]
            if chosen.shares and one % 5:
                rank = next(rank for rank, share in enumerate(chosen.shares.values()) if not share.exited)
                return exited(story, chosen.id, rank)
            wish = PreemptAllocation if one % 2 else KillAllocation
            return wish("default", chosen.id, "it was time")
        case "move":
            return MoveJob("default", job, **{("ahead_of", "behind_of")[one % 2]: JOBS[other % len(JOBS)]})
        case "change":
            changes = ({"priority": 30 + other}, {"max_slots": (None, 0, 1, 2, 3)[other % 5]}, {"weight": 1.0 + other})[
                one % 3
            ]
            return ChangeJob("default", job, changes)
        case "agent":
            return (EnableAgent("default", "a2"), DisableAgent("default", "a2", drain=bool(other % 2)))[one % 2]
        case "slot":
            return (EnableSlot("default", "a1", 0), DisableSlot("default", "a1", 0, drain=bool(other % 2)))[one % 2]
        case "lose":
            return ExpireLease(f"a{one % 3 + 1}", 30)
        case "come":
            return hello(f"a{one % 3 + 1}", 2 + other % 2)
    return None


def told(script: list[tuple[str, int, int]], policy: Policy) -> Iterator[PoolStory]:
    """The story after each wish, in a pool where there is something to wait for."""
    story = PoolStory(policy).given(hello("a1", 2), hello("a2", 2))
    for number, step in enumerate(script):
        wish = wish_of(story, number, step)
        try:
            if wish is not None:
                story.later(17).when(wish)
        except ResoluteError:
            story.latest = []
        yield story


@hypothesis.given(SCRIPTS, POLICIES)
@hypothesis.settings(max_examples=100)
def test_whoever_asks_why_it_waits_is_told_what_holds_it_now(
    script: list[tuple[str, int, int]], policy: Policy
) -> None:
    for story in told(script, policy):
        check(story, policy)


@hypothesis.given(SCRIPTS, POLICIES)
@hypothesis.settings(max_examples=100)
def test_what_was_told_is_told_in_the_words_of_now(script: list[tuple[str, int, int]], policy: Policy) -> None:
    for story in told(script, policy):
        pool = story.pool
        again = reasons.changed(pool, [], [job_id for job_id, _ in pool.jobs.items()], policy, story.now)
        assert not list(again)


@hypothesis.given(SCRIPTS, POLICIES)
@hypothesis.settings(max_examples=50)
def test_nothing_is_told_to_many_at_once(script: list[tuple[str, int, int]], policy: Policy) -> None:
    """But to the first of each line and job, and to whom the events are about."""
    for story in told(script, policy):
        news = Counter(type(event) for event in story.latest)
        lines = {event.line for event in story.events if isinstance(event, AllocationWaits | AllocationHeldBack)}
        about = len(story.latest) - news[AllocationWaits] - news[AllocationHeldBack]
        assert news[AllocationWaits] + news[AllocationHeldBack] <= 2 * (len(lines) + len(JOBS)) + about


@hypothesis.given(SCRIPTS, POLICIES)
@hypothesis.settings(max_examples=50)
def test_no_job_keeps_more_than_its_limit_where_anybody_may_be_asked_to_go(
    script: list[tuple[str, int, int]], policy: Policy
) -> None:
    for story in told(script, policy):
        for job_id, job in story.pool.jobs.items():
            assert not (policy.preempts and job.over_its_limit), job_id
        for event in story.latest:
            if isinstance(event, PreemptionRequested) and event.rule == "max_slots":
                job = story.pool.jobs[story.pool.allocations[event.allocation_id].request.job_id]
                slots = story.pool.allocations[event.allocation_id].request.slots
                assert job.max_slots is not None
                assert job.slots_held - job.slots_going + slots > job.max_slots, "no more are asked than hold too much"


def check(story: PoolStory, policy: Policy) -> None:
    explained = story.explained()
    for allocation_id in explained:
        allocation = story.pool.allocations[allocation_id]
        now = reasons.rule_of(story.pool, allocation, policy)
        assert explained[allocation_id] == now, allocation_id
