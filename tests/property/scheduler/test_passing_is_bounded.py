"""A gang of whole agents starts within a bound, however many small jobs keep coming and pass it.

The bound counts from the tick at which the gang is first in line: jobs that asked before it start before it.
"""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from resolute.scheduling.policies import Fifo, Policy, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

LONGEST = 5
"""Ticks that a small job takes at most."""


def waiting(story: PoolStory) -> set[str]:
    """The allocations that asked for slots and have none yet."""
    return {name for name, one in story.pool.allocations.items() if not one.shares}


@given(
    st.sampled_from([Fifo(), Priority()]),
    st.integers(1, 3),
    st.integers(1, 4),
    st.data(),
)
def test_a_gang_starts_while_small_jobs_never_end_to_come(
    policy: Policy, agents: int, size: int, data: st.DataObject
) -> None:
    story = PoolStory(policy).given(*(hello(f"a{n}", size) for n in range(agents)))
    ends: dict[str, int] = {}
    coming = iter(range(100_000))
    wanted = size * data.draw(st.integers(1, agents), label="agents that the gang takes")
    bound = (2 + wanted) * LONGEST
    asked_before: set[str] = set()
    first_since: int | None = None
    for tick in itertools.count():
        for name in [name for name, end in ends.items() if end <= tick]:
            story.when(exited(story, name))
            del ends[name]
        while len(waiting(story)) < size * agents + 2:
            story.when(asks(f"small{next(coming)}"))
        if tick == LONGEST:
            asked_before = waiting(story)
            story.when(asks("gang", wanted))
        if "gang" in story.holders():
            return
        if first_since is None and tick >= LONGEST and not asked_before & waiting(story):
            first_since = tick
        assert tick - (first_since or tick) <= bound, f"the gang of {wanted} slots did not start within {bound} ticks"
        assert tick <= LONGEST * (len(asked_before) + 1) + bound, "the jobs that asked before the gang do not start"
        for name in story.holders().keys() - ends.keys():
            ends[name] = tick + data.draw(st.integers(1, LONGEST), label="ticks")
