"""Any script of wishes, reports and silences keeps the promises of a pool."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import hypothesis
import pytest
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
    MarkServing,
    MoveJob,
    PreemptAllocation,
    PreemptionRequested,
    ResourcesExited,
    SlotsAssigned,
    TaskReport,
)
from resolute.scheduling import reasons
from resolute.scheduling.allocation import HOLDING, Allocation, State
from resolute.scheduling.decisions import EnforceDeadlines, ExpireLease, PoolInput
from resolute.scheduling.demands import kind_of
from resolute.scheduling.placement import Fitting
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority
from resolute.scheduling.pool import Pool, evolve
from resolute.scheduling.shares import Group
from tests.unit.scheduler.stories import PoolStory, asks, hello

AGENTS = st.sampled_from(["a1", "a2", "a3"])
ALLOCATIONS = st.integers(0, 9).map(lambda n: f"t{n}")
JOBS = st.integers(0, 2).map(lambda n: f"j{n}")
LIMITS = st.sampled_from([None, 1, 3, 5])
RANGE = st.integers(1, 4), st.integers(1, 3)

COMES = st.builds(hello, AGENTS, st.integers(0, 3))
ASKS = st.one_of(
    st.builds(
        asks,
        ALLOCATIONS,
        st.integers(0, 5),
        job=JOBS,
        priority=st.sampled_from([None, 1, 42, 90]),
        max_slots=LIMITS,
        single_agent=st.booleans(),
        weight=st.sampled_from([1.0, 1.0, 3.0, 0.5]),
        owner=st.sampled_from(["ada", "ben"]),
        blocked=st.sampled_from([(), (), (), ("a1",), ("a1", "a2")]),
    ),
    st.builds(
        lambda a, j, least, more, limit: asks(a, least + more, job=j, slots_min=least, max_slots=limit),
        ALLOCATIONS,
        JOBS,
        *RANGE,
        LIMITS,
    ),
)
WISHES = st.one_of(
    COMES,
    ASKS,
    ASKS,
    st.builds(
        lambda j, k, ahead: MoveJob("default", j, *((k, None) if ahead else (None, k))), JOBS, JOBS, st.booleans()
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
NEWS = st.sampled_from(["started", "exited", "exited", "serves"])
REPORTS = st.tuples(ALLOCATIONS, st.integers(0, 2), NEWS, st.sampled_from([None, 0, 0, 0, 1]))
# What happens to a pool that has nobody, or of which nobody wants anything, is soon told.
OPENINGS = st.tuples(st.lists(COMES, max_size=3), st.lists(ASKS, max_size=6)).map(lambda drawn: [*drawn[0], *drawn[1]])
SCRIPTS = st.tuples(OPENINGS, st.lists(st.one_of(WISHES, WISHES, REPORTS, REPORTS), max_size=60)).map(
    lambda drawn: [*drawn[0], *drawn[1]]
)
POLICIES = st.sampled_from(
    [
        Fifo(),
        Priority(),
        Priority(preemption=True),
        FairShare(),
        FairShare(by_user=True),
        Priority(preemption=True, fitting=Fitting(spread=True, uneven=True, zero_slot_tasks_max=1)),
        FairShare(fitting=Fitting(spread=True, uneven=True)),
    ]
)


Report = tuple[str, int, str, int | None]
Script = list[PoolInput | Report]


def report_of(story: PoolStory, about: Report) -> PoolInput:
    allocation_id, rank, what, code = about
    allocation = story.pool.allocations.get(allocation_id)
    shares = list(allocation.shares.values()) if allocation is not None else []
    if rank >= len(shares):
        return TaskReport("a1", "default", allocation_id, "never heard of", what, "", code)
    place = shares[rank].placement
    if what == "serves":
        return MarkServing("default", allocation_id, place.resources_id)
    return TaskReport(place.agent_id, "default", allocation_id, place.resources_id, what, "10.0.0.1", code)


def tell(script: Script, policy: Policy) -> Iterator[PoolStory]:
    """The story after each wish; refusals are part of life."""
    story = PoolStory(policy)
    for step in script:
        wish: PoolInput = report_of(story, step) if isinstance(step, tuple) else step
        try:
            story.later(17).when(wish)
        except ResoluteError:
            story.latest = []
        yield story


def told(script: Script, policy: Policy) -> PoolStory:
    """The whole story."""
    return deque(tell(script, policy), maxlen=1).pop() if script else PoolStory(policy)


@hypothesis.given(SCRIPTS, POLICIES)
def test_a_slot_is_never_held_twice(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
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


@hypothesis.given(SCRIPTS, POLICIES)
def test_a_gang_has_all_of_its_slots_or_none(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for event in story.latest:
            if isinstance(event, SlotsAssigned):
                request = next(
                    e for e in reversed(story.events)
                    if isinstance(e, AllocationRequested) and e.allocation_id == event.allocation_id
                )  # fmt: skip
                sizes = {len(place.slot_ids) for place in event.placements}
                given = sum(len(place.slot_ids) for place in event.placements)
                assert kind_of(request).slots <= given <= kind_of(request).most
                assert len(sizes) == 1 or story.policy.fitting.uneven
                assert len(event.placements) == 1 or not request.single_agent
                assert not {place.agent_id for place in event.placements} & set(request.blocked_agents)


@hypothesis.given(SCRIPTS, POLICIES)
def test_slots_are_held_exactly_while_something_of_it_may_be_alive(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for allocation in story.pool.allocations.values():
            assert bool(allocation.shares) == (allocation.state in HOLDING)
            assert allocation.state not in HOLDING or not allocation.gone


@hypothesis.given(SCRIPTS, POLICIES)
def test_every_allocation_ends_once_and_after_the_last_of_its_shares(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        pass_over = Counter(type(e).__name__ + e.allocation_id for e in story.events if isinstance(e, AllocationExited))
        assert all(count == 1 for count in pass_over.values())
        shares_gone = Counter((e.allocation_id, e.resources_id) for e in story.events if isinstance(e, ResourcesExited))
        assert all(count == 1 for count in shares_gone.values())


@hypothesis.given(SCRIPTS, POLICIES)
def test_a_job_never_holds_more_than_its_limit_allowed_when_it_was_given(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for event in story.latest:
            if isinstance(event, SlotsAssigned) and event.allocation_id in story.pool.allocations:
                request = story.pool.allocations[event.allocation_id].request
                job = story.pool.jobs[request.job_id]
                assert not request.slots or job.max_slots is None or job.slots_held <= job.max_slots


@hypothesis.given(SCRIPTS, POLICIES)
def test_a_decision_changes_nothing_until_it_is_folded_and_folding_again_tells_the_same(
    script: Script, policy: Policy
) -> None:
    last = told(script, policy)
    again = Pool()
    for event in last.events:
        evolve(again, event)
    assert as_plain(again) == as_plain(last.pool)


@hypothesis.given(SCRIPTS, POLICIES)
def test_what_is_deduced_agrees_with_what_it_is_deduced_from(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        pool = story.pool
        agents = list(pool.agents.values())
        assert list(pool.room) == sorted((len(a.free), a.id) for a in agents if a.free)
        assert list(pool.capacity) == sorted((len(a.usable), a.id) for a in agents if a.usable)
        assert list(pool.idle) == sorted((len(a.free), a.id) for a in agents if a.free and a.free == a.usable)
        assert (pool.slots, pool.slots_free) == (sum(len(a.usable) for a in agents), sum(len(a.free) for a in agents))
        waiting = [a for a in pool.allocations.values() if a.state is State.WAITING]
        assert list(pool.waiting) == sorted(pool.waiting_entry(a) for a in waiting)
        for job_id, job in pool.jobs.items():
            its = [a for a in pool.allocations.values() if a.request.job_id == job_id]
            holding, queued = [a for a in its if a.state in HOLDING], [a for a in its if a.state is State.WAITING]
            assert job.slots_held == slots(holding)
            assert job.slots_going == slots(a for a in holding if a.going)
            promises = {a.id: pool.promises[a.id].slots for a in queued if a.id in pool.promises}
            assert job.slots_promised == sum(promises.values())
            assert job.waiting == len(queued)
            assert job.slots_waiting == sum(promises.get(a.id, kind_of(a.request).slots) for a in queued)
            assert job.lines == Counter(kind_of(a.request) for a in queued if a.id not in pool.promises)
        assert list(pool.queue) == sorted(place for job_id, job in pool.jobs.items() for place in job.places(job_id))
        assert {entry[-1] for entry in pool.victims} == {
            a.id for a in pool.allocations.values() if a.preemptible and a.request.slots
        }
        assert {entry[-1] for entry in pool.victim_jobs} == {entry[0] for entry in pool.victims}
        for_others = {victim for promise in pool.promises.values() for victim in promise.victims}
        assert {entry[0] for entry in pool.leaving} == {
            a.id for a in pool.allocations.values() if a.going and a.id not in for_others
        }
        assert list(pool.promised_on) == sorted(
            (agent, name) for name, promise in pool.promises.items() for agent in promise.agents
        )


@hypothesis.given(SCRIPTS, POLICIES)
def test_shares_kept_by_event_are_those_worked_out_from_nothing(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        pool = story.pool
        for shares in (pool.shares, pool.user_shares):
            groups = defaultdict(list)
            for job_id, job in pool.jobs.items():
                groups[shares.group_of(job_id, job)].append(job)
            alive = {name: group for name, group in shares.groups.items() if group.demand}
            assert {name: group.demand for name, group in alive.items()} == {
                name: demand for name, jobs in groups.items() if (demand := sum(job.demand for job in jobs))
            }
            assert all(group.committed == sum(j.committed for j in groups[name]) for name, group in alive.items())
            level, expected = shares.level(pool.slots), level_of(list(alive.values()), pool.slots)
            assert [group.share(level) for group in alive.values()] == pytest.approx(
                [group.share(expected) for group in alive.values()]
            )


def level_of(groups: list[Group], capacity: int) -> float:
    """By halving: the height at which what all hold is what there is."""
    if sum(group.demand for group in groups) <= capacity:
        return float("inf")
    low, high = 0.0, float(capacity)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(g.share(middle) for g in groups) < capacity else (low, middle)
    return low


def slots(allocations: Iterable[Allocation]) -> int:
    return sum(a.request.slots for a in allocations)


@hypothesis.given(SCRIPTS, POLICIES)
def test_room_is_made_only_for_those_who_wait_and_by_those_who_go(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        pool = story.pool
        for allocation_id, promise in pool.promises.items():
            assert pool.allocations[allocation_id].state is State.WAITING
            assert promise.victims
            assert all(pool.allocations[victim].going for victim in promise.victims)
        kept = Counter(agent for _, promise in pool.promises.items() for agent in promise.agents)
        assert dict(pool.kept.items()) == kept
        given = {e.allocation_id for e in story.latest if isinstance(e, SlotsAssigned)}
        asked = {e.allocation_id for e in story.latest if isinstance(e, PreemptionRequested) and e.rule}
        assert not given & asked


@hypothesis.given(SCRIPTS, POLICIES)
def test_whoever_waits_has_a_recorded_reason(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for allocation in story.pool.allocations.values():
            assert (allocation.state is State.WAITING) == bool(allocation.why_waiting)


@hypothesis.given(SCRIPTS, POLICIES)
def test_whoever_asks_why_it_waits_is_told_what_holds_it_now(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for allocation_id, rule in story.explained().items():
            allocation = story.pool.allocations[allocation_id]
            now = reasons.rule_of(story.pool, allocation, policy)
            assert rule == now, allocation_id


@hypothesis.given(SCRIPTS, POLICIES)
def test_however_it_went_all_ends_well_once_everybody_is_killed(script: Script, policy: Policy) -> None:
    story = told(script, policy)
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


@hypothesis.given(SCRIPTS, POLICIES)
def test_a_lost_agent_runs_nothing(script: Script, policy: Policy) -> None:
    for story in tell(script, policy):
        for event in story.latest:
            if isinstance(event, AgentLost):
                assert not story.pool.agents[event.agent_id].shares


def as_plain(pool: Pool) -> tuple[Any, ...]:
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


@hypothesis.given(SCRIPTS, POLICIES, st.integers(0, 2))
@hypothesis.settings(max_examples=50)
def test_jobs_that_have_nothing_are_remembered_and_not_for_ever(
    script: Script, policy: Policy, remembered: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("resolute.scheduling.pool.JOBS_REMEMBERED", remembered)
        for story in tell(script, policy):
            pool = story.pool
            busy = {allocation.request.job_id for allocation in pool.allocations.values()}
            jobs = {job_id for job_id, _ in pool.jobs.items()}
            assert busy <= jobs
            assert jobs - busy == {job_id for _, job_id in pool.rests} == {job_id for job_id, _ in pool.resting.items()}
            assert len(pool.rests) <= remembered
