"""On small pools the allocations that are asked to go are those that trying all sets of them finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from resolute.proto.pool import KillAllocation, PreemptionRequested
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.policies import Priority
from resolute.scheduling.pool import Pool
from tests.unit.scheduler.stories import PoolStory, asks, hello

Cost = tuple[tuple[int, int], ...]

HELD = st.lists(st.tuples(st.sampled_from([1, 1, 2, 3, 4, 6]), st.sampled_from([20, 50, 50, 99])), max_size=8)


def cost(victims: Iterable[Allocation]) -> Cost:
    """Slots taken, of the most urgent priority first."""
    taken = Counter[int]()
    for victim in victims:
        taken[victim.request.priority] += victim.request.slots
    return tuple((-priority, taken[priority]) for priority in sorted(taken))


def fits(pool: Pool, gone: Iterable[Allocation], slots: int) -> bool:
    """Whether so many slots fit on one agent, or on idle agents of one size, once these have gone."""
    free = Counter({agent.id: len(agent.free) for agent in pool.agents.values()})
    for allocation in gone:
        for share in allocation.shares.values():
            free[share.placement.agent_id] += len(share.placement.slot_ids)
    idle = Counter(count for agent_id, count in free.items() if count == len(pool.agents[agent_id].usable))
    whole = any(slots % size == 0 and idle[size] >= slots // size for size in idle)
    return whole or any(count >= slots for count in free.values())


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), HELD, st.integers(1, 8))
def test_no_other_set_of_allocations_would_hurt_less(
    agents: list[int], held: list[tuple[int, int]], slots: int
) -> None:
    story = PoolStory(Priority()).given(*(hello(f"a{n}", size) for n, size in enumerate(agents)))
    story.given(*(asks(f"held{n}", size, priority=priority) for n, (size, priority) in enumerate(held)))
    for waiting in [one.id for one in story.pool.allocations.values() if not one.shares]:
        story = without(story, waiting)
    before = deepcopy(story.pool)
    holding = [one for one in before.allocations.values() if one.shares]
    story.policy = Priority(preemption=True)
    story.when(asks("urgent", slots, priority=10))
    asked = [before.allocations[e.allocation_id] for e in story.latest if isinstance(e, PreemptionRequested)]
    sets = (chosen for count in range(len(holding) + 1) for chosen in combinations(holding, count))
    able = [cost(chosen) for chosen in sets if fits(before, chosen, slots)]
    if able and min(able):
        assert fits(before, asked, slots)
        assert cost(asked) == min(able)
    else:
        assert not asked


def without(story: PoolStory, allocation_id: str) -> PoolStory:
    """As it is once this one, which found no room, has given up."""
    return story.given(KillAllocation("default", allocation_id, "it is not part of this test"))
