"""What policies promise over any workload that comes back for what it lost: it comes to rest, and fairly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.scheduling.allocation import State
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority
from tests.unit.scheduler.workloads import Workload

AGENTS = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(
    lambda sizes: {f"a{n}": s for n, s in enumerate(sizes)}
)
WEIGHTS = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.0])
UNITS = st.lists(st.tuples(WEIGHTS, st.integers(1, 8), st.sampled_from([None, None, 1, 3])), min_size=1, max_size=6)
GANGS = st.lists(st.tuples(WEIGHTS, st.lists(st.integers(1, 6), min_size=1, max_size=4)), min_size=1, max_size=5)


def shares_of(demands: list[tuple[float, int]], slots: int) -> list[float]:
    """Weighted max-min shares by the book: whoever wants less than an equal part gets it, and leaves the rest."""
    open_, found, left = set(range(len(demands))), [0.0] * len(demands), float(slots)
    while open_:
        weight = sum(demands[i][0] for i in open_)
        modest = {i for i in open_ if demands[i][1] <= left * demands[i][0] / weight + 1e-9}
        if not modest:
            for i in open_:
                found[i] = left * demands[i][0] / weight
            return found
        for i in modest:
            found[i] = float(demands[i][1])
        left -= sum(found[i] for i in modest)
        open_ -= modest
    return found


@hypothesis.given(AGENTS, UNITS)
@hypothesis.settings(deadline=None, max_examples=40)
def test_jobs_of_single_slots_come_to_hold_their_max_min_shares(
    agents: dict[str, int], jobs: list[tuple[Any, ...]]
) -> None:
    workload = Workload(FairShare(), agents)
    for number, (weight, count, limit) in enumerate(jobs):
        workload.submit(f"j{number}", [1] * count, weight=weight, max_slots=limit)
    workload.settle()
    wanted = [(weight, min(count, limit or count)) for weight, count, limit in jobs]
    slots, held = sum(agents.values()), workload.held()
    for number, share in enumerate(shares_of(wanted, slots)):
        assert abs(held.get(f"j{number}", 0) - share) < 1 - 1e-6, "the whole part is its own; only remainders go round"
    assert sum(held.values()) == min(slots, sum(count for _, count in wanted))


@hypothesis.given(AGENTS, GANGS, st.sampled_from([FairShare(), FairShare(by_user=True), Priority(preemption=True)]))
@hypothesis.settings(deadline=None, max_examples=40)
def test_a_workload_that_stays_as_it_is_comes_to_rest_and_stays_there(
    agents: dict[str, int], jobs: list[tuple[Any, ...]], policy: Policy
) -> None:
    workload = Workload(policy, agents)
    for number, (weight, sizes) in enumerate(jobs):
        owner = "ada" if number % 2 else "ben"
        workload.submit(f"j{number}", sizes, weight=weight, owner=owner, priority=10 + number % 3)
    workload.settle()
    before = workload.preemptions
    workload.settle()
    assert workload.preemptions == before


@hypothesis.given(
    st.tuples(st.integers(1, 4), st.integers(2, 4)),
    st.lists(st.tuples(WEIGHTS, st.integers(1, 10), st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=5),
    st.sampled_from([FairShare(), FairShare(by_user=True), Priority(preemption=True)]),
    st.sampled_from([None, None, 7]),
)
@hypothesis.settings(deadline=None, max_examples=40)
def test_a_workload_of_ranges_comes_to_rest_on_agents_that_make_up_some_of_their_numbers(
    alike: tuple[int, int], jobs: list[tuple[Any, ...]], policy: Policy, limit: int | None
) -> None:
    size, count = alike
    workload = Workload(policy, {f"a{n}": size for n in range(count)})
    for number, (weight, least, more, tasks) in enumerate(jobs):
        owner = "ada" if number % 2 else "ben"
        asked = {"slots_min": least, "max_slots": limit, "weight": weight, "owner": owner, "priority": 10 + number % 3}
        workload.submit(f"j{number}", [least + more] * tasks, **asked)
    workload.settle()
    pool = workload.story.pool
    waits = [one for one in pool.allocations.values() if one.state is State.WAITING]
    able = [one for one in waits if workload.story.explained()[one.id] not in ("never_fits", "max_slots")]
    assert workload.order or not able, "the pool lies idle"


@hypothesis.given(AGENTS, GANGS, st.sampled_from([FairShare(), Priority(), Priority(preemption=True), Fifo()]))
@hypothesis.example({"a0": 1, "a1": 2}, [(0.5, [1, 1]), (0.5, [2]), (0.5, [1])], FairShare())
@hypothesis.settings(deadline=None, max_examples=40)
def test_nobody_starves_as_long_as_others_come_to_an_end(
    agents: dict[str, int], jobs: list[tuple[Any, ...]], policy: Policy
) -> None:
    """Everybody has work for ever: who is about to be done asks again. Under priorities that holds among equals, and
    under fair share among those of equal weight."""
    workload = Workload(policy, agents)
    largest = max(agents.values())
    for number, (_, sizes) in enumerate(jobs):
        workload.submit(f"j{number}", [min(size, largest) for size in sizes])
    workload.settle()
    served = Counter[str]()
    for _ in range(20 + 4 * sum(len(sizes) for _, sizes in jobs) + 8 * sum(agents.values())):
        if isinstance(policy, FairShare):
            workload.submit(workload.oldest(), [1])
            workload.settle()
        served[workload.finish_oldest()] += 1
        if not workload.order:
            break
    assert set(served) == {f"j{n}" for n in range(len(jobs))}


@hypothesis.given(AGENTS, GANGS, st.sampled_from([FairShare(), Priority(preemption=True), Fifo()]))
@hypothesis.settings(deadline=None, max_examples=40)
def test_slots_stand_idle_only_for_those_they_are_kept_for(
    agents: dict[str, int], jobs: list[tuple[Any, ...]], policy: Policy
) -> None:
    """A single slot is free only while somebody larger, who is before all others, waits for more; or nobody waits."""
    workload = Workload(policy, agents)
    for number, (weight, sizes) in enumerate(jobs):
        workload.submit(f"j{number}", sizes, weight=weight)
    workload.settle()
    pool = workload.story.pool
    if pool.slots_free and (heads := [h for h in policy.heads(pool) if h.request.slots <= max(agents.values())]):
        if all(head.request.slots == 1 for head in heads):
            assert len(heads) < len(policy.heads(pool)), "one slot fits where there is one"
        assert any(policy.keeps(pool, head) for head in policy.heads(pool)) or all(
            max(size for size, _ in pool.room) < head.request.slots for head in heads
        )


@hypothesis.given(AGENTS, st.lists(st.tuples(st.integers(1, 3), st.integers(1, 5)), min_size=1, max_size=8))
@hypothesis.settings(deadline=None, max_examples=40)
def test_a_higher_priority_never_waits_for_a_lower_one(agents: dict[str, int], jobs: list[tuple[int, int]]) -> None:
    workload = Workload(Priority(preemption=True), agents)
    for number, (priority, count) in enumerate(jobs):
        workload.submit(f"j{number}", [1] * count, priority=priority)
    workload.settle()
    allocations = list(workload.story.pool.allocations.values())
    waiting = [a.request.priority for a in allocations if a.state is State.WAITING]
    holding = [a.request.priority for a in allocations if a.state is not State.WAITING]
    assert not waiting or max(holding) <= min(waiting)


def test_the_reference_knows_its_arithmetic() -> None:
    assert shares_of([(1, 8), (3, 8)], 8) == [2, 6]
    assert shares_of([(1, 1), (1, 9), (1, 9)], 9) == [1, 4, 4]
    assert shares_of([(1, 1), (1, 1)], 9) == [1, 1]
    assert shares_of([(1, 9), (1, 9), (1, 9)], 8) == pytest.approx([8 / 3] * 3)
