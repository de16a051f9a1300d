"""Any script of wishes, reports and silences keeps the promises of a pool."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from datetime import timedelta

import hypothesis
from hypothesis import strategies as st

from resolute.proto.errors import ResoluteError
from resolute.proto.pool import (
    AcknowledgePreemption,
    AgentLost,
    AllocationExited,
    AllocationRequested,
    ChangeJob,
    DisableAgent,
    DisableSlot,
    EnableAgent,
    EnableSlot,
    KillAllocation,
    PreemptAllocation,
    ResourcesExited,
    SlotsAssigned,
    TaskReport,
)
from resolute.scheduler import placement
from resolute.scheduler.allocation import HOLDING, State
from resolute.scheduler.decisions import EnforceDeadlines, ExpireLease, Wish
from resolute.scheduler.fifo import demands, fifo
from resolute.scheduler.pool import Pool, evolve
from tests.unit.scheduler.stories import PoolStory, asks, hello

AGENTS = st.sampled_from(["a1", "a2", "a3"])
ALLOCATIONS = st.integers(0, 9).map(lambda n: f"t{n}")
JOBS = st.integers(0, 2).map(lambda n: f"j{n}")
LIMITS = st.sampled_from([None, 1, 3])

WISHES = st.one_of(
    st.builds(hello, AGENTS, st.integers(0, 3)),
    st.builds(
        asks,
        ALLOCATIONS,
        st.integers(0, 5),
        job=JOBS,
        priority=st.sampled_from([None, 1, 42, 90]),
        max_slots=LIMITS,
        single_agent=st.booleans(),
    ),
    st.builds(lambda a: KillAllocation("default", a, "killed"), ALLOCATIONS),
    st.builds(lambda a: PreemptAllocation("default", a, "paused"), ALLOCATIONS),
    st.builds(lambda a: AcknowledgePreemption("default", a), ALLOCATIONS),
    st.builds(lambda a: ExpireLease(a, 30), AGENTS),
    st.builds(lambda a, d: DisableAgent("default", a, d), AGENTS, st.booleans()),
    st.builds(lambda a: EnableAgent("default", a), AGENTS),
    st.builds(lambda a, s, d: DisableSlot("default", a, s, d), AGENTS, st.integers(0, 2), st.booleans()),
    st.builds(lambda a, s: EnableSlot("default", a, s), AGENTS, st.integers(0, 2)),
    st.builds(
        lambda j, p, m: ChangeJob("default", j, {"priority": p, "max_slots": m}), JOBS, st.integers(1, 99), LIMITS
    ),
    st.builds(EnforceDeadlines),
)

# A report is about what there is: which share of which allocation is looked up when its turn comes.
REPORTS = st.tuples(
    ALLOCATIONS, st.integers(0, 2), st.sampled_from(["started", "exited"]), st.sampled_from([None, 0, 0, 0, 1])
)
SCRIPTS = st.lists(st.one_of(WISHES, WISHES, REPORTS, REPORTS), max_size=60)
PREEMPTION = st.booleans()


def report_of(story: PoolStory, about: tuple[str, int, str, int | None]) -> TaskReport:
    allocation_id, rank, what, code = about
    allocation = story.pool.allocations.get(allocation_id)
    shares = list(allocation.shares.values()) if allocation is not None else []
    if rank >= len(shares):
        return TaskReport("a1", "default", allocation_id, "never heard of", what, "", code)
    place = shares[rank].placement
    return TaskReport(place.agent_id, "default", allocation_id, place.resources_id, what, "10.0.0.1", code)


def tell(script, preemption: bool = False):
    """The story after each wish; refusals are part of life."""
    story = PoolStory(fifo(preemption))
    for step in script:
        wish: Wish = report_of(story, step) if isinstance(step, tuple) else step
        try:
            story.later(17).when(wish)
        except ResoluteError:
            story.latest = []
        yield story


def told(script, preemption: bool) -> PoolStory:
    """The whole story."""
    return deque(tell(script, preemption), maxlen=1).pop() if script else PoolStory()


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_a_slot_is_never_held_twice(script, preemption):
    for story in tell(script, preemption):
        held = Counter(
            (share.placement.agent_id, slot)
            for allocation in story.pool.allocations.values()
            for share in allocation.shares.values()
            if not share.exited
            for slot in share.placement.slot_ids
        )
        assert all(count == 1 for count in held.values())
        agents = story.pool.agents
        assert set(held) == {(agent.id, slot) for agent in agents.values() for slot in agent.held}


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_a_gang_has_all_of_its_slots_or_none(script, preemption):
    for story in tell(script, preemption):
        for event in story.latest:
            if isinstance(event, SlotsAssigned):
                request = next(
                    e for e in reversed(story.events)
                    if isinstance(e, AllocationRequested) and e.allocation_id == event.allocation_id
                )  # fmt: skip
                sizes = {len(place.slot_ids) for place in event.placements}
                assert sum(len(place.slot_ids) for place in event.placements) == request.slots
                assert len(sizes) == 1
                assert len(event.placements) == 1 or not request.single_agent


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_slots_are_held_exactly_while_something_of_it_may_be_alive(script, preemption):
    for story in tell(script, preemption):
        for allocation in story.pool.allocations.values():
            assert bool(allocation.shares) == (allocation.state in HOLDING)
            assert allocation.state not in HOLDING or not allocation.gone


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_every_allocation_ends_once_and_after_the_last_of_its_shares(script, preemption):
    for story in tell(script, preemption):
        pass_over = Counter(type(e).__name__ + e.allocation_id for e in story.events if isinstance(e, AllocationExited))
        assert all(count == 1 for count in pass_over.values())
        shares_gone = Counter((e.allocation_id, e.resources_id) for e in story.events if isinstance(e, ResourcesExited))
        assert all(count == 1 for count in shares_gone.values())


@hypothesis.given(SCRIPTS)
def test_nobody_is_overtaken_by_one_behind_him_who_wants_as_much(script):
    for story in tell(script):
        for entry in demands(story.pool):
            first = story.pool.allocations[entry[-1]]
            request = first.request
            fits = placement.find(story.pool, first.id, request.slots, request.single_agent)
            ahead = [e for e in demands(story.pool) if e[0] > 0 and e[2:] < entry[2:]]
            blocked = any(placement.could_ever_fit(story.pool, e[0], e[1]) for e in ahead)
            # Whoever fits now waits only for somebody who is before him.
            assert not fits or (blocked and request.slots > 0)


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_a_job_never_holds_more_than_its_limit_allowed_when_it_was_given(script, preemption):
    for story in tell(script, preemption):
        for event in story.latest:
            if isinstance(event, SlotsAssigned) and event.allocation_id in story.pool.allocations:
                request = story.pool.allocations[event.allocation_id].request
                held = story.pool.jobs[request.job_id].slots_held
                assert request.max_slots is None or held <= request.max_slots


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_a_decision_changes_nothing_until_it_is_folded_and_folding_again_tells_the_same(script, preemption):
    last = told(script, preemption)
    again = Pool()
    for event in last.events:
        evolve(again, event)
    assert as_plain(again) == as_plain(last.pool)


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_what_is_deduced_agrees_with_what_it_is_deduced_from(script, preemption):
    for story in tell(script, preemption):
        pool = story.pool
        agents = list(pool.agents.values())
        assert list(pool.room) == sorted((len(a.free), a.id) for a in agents if a.free)
        assert list(pool.capacity) == sorted((len(a.usable), a.id) for a in agents if a.usable)
        assert list(pool.idle) == sorted((len(a.free), a.id) for a in agents if a.free and a.free == a.usable)
        waiting = [a for a in pool.allocations.values() if a.state is State.WAITING]
        assert list(pool.waiting) == sorted(pool.waiting_entry(a) for a in waiting)
        assert sum(job.slots_held for job in pool.jobs.values()) == sum(
            a.request.slots for a in pool.allocations.values() if a.state in HOLDING
        )


@hypothesis.given(SCRIPTS, PREEMPTION)
def test_however_it_went_all_ends_well_once_everybody_is_killed(script, preemption):
    story = told(script, preemption)
    while allocations := list(story.pool.allocations.values()):
        for allocation in allocations:
            story.later(timedelta(hours=1).total_seconds())
            story.when(KillAllocation("default", allocation.id, "closing time"))
            current = story.pool.allocations.get(allocation.id)
            for rank in range(len(current.shares)) if current is not None else ():
                if allocation.id in story.pool.allocations:
                    story.when(report_of(story, (allocation.id, rank, "exited", 137)))
    assert all(not agent.held and not agent.shares for agent in story.pool.agents.values())
    assert all(job.slots_held == 0 for job in story.pool.jobs.values())
    requested = [e.allocation_id for e in story.events if isinstance(e, AllocationRequested)]
    ended = [e.allocation_id for e in story.events if isinstance(e, AllocationExited)]
    assert sorted(requested) == sorted(ended)


@hypothesis.given(SCRIPTS)
def test_a_lost_agent_runs_nothing(script):
    for story in tell(script):
        for event in story.latest:
            if isinstance(event, AgentLost):
                assert not story.pool.agents[event.agent_id].shares


def as_plain(pool: Pool):
    return (
        dict(pool.agents.items()),
        {key: replace(value) for key, value in pool.allocations.items()},
        dict(pool.jobs.items()),
        list(pool.waiting),
        list(pool.deadlines),
        list(pool.room),
        list(pool.idle),
        list(pool.capacity),
        list(pool.hosts),
    )
