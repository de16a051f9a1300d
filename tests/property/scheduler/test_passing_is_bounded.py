"""A gang of whole agents starts within a bound, however many small jobs keep coming and pass it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from resolute.scheduler.policies import Fifo, Policy, Priority
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

LONGEST = 5
"""Ticks that a small job takes at most."""


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
    for tick in range(LONGEST + bound):
        for name in [name for name, end in ends.items() if end <= tick]:
            story.when(exited(story, name))
            del ends[name]
        while sum(1 for one in story.pool.allocations.values() if not one.shares) < size * agents + 2:
            story.when(asks(f"small{next(coming)}"))
        if tick == LONGEST:
            story.when(asks("gang", wanted))
        if "gang" in story.holders():
            return
        for name in story.holders().keys() - ends.keys():
            ends[name] = tick + data.draw(st.integers(1, LONGEST), label="ticks")
    raise AssertionError(f"the gang of {wanted} slots did not start within {bound} ticks")
