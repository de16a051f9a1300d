"""Nobody starves under fair share, whatever the weights: who keeps asking comes to hold what it can keep, and often."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import hypothesis
from hypothesis import strategies as st

from resolute.proto.message import Event
from resolute.proto.pool import AcknowledgePreemption, AllocationExited, PreemptionRequested, SlotsAssigned
from resolute.scheduling.allocation import State
from resolute.scheduling.decisions import PoolInput
from resolute.scheduling.policies import FairShare
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

LONGEST = 6
"""Ticks that a task takes at most."""


@dataclass(frozen=True)
class Group:
    """A job that has work for ever: so many tasks at once, each of so many slots, for so many ticks.

    A task may ask for a range of slots, and have to be given more than the least of it, where it takes whole agents."""

    weight: int
    tasks: int
    slots: int
    """At least, of those that can be placed."""
    ticks: int
    leaves_ticks: int = 0
    """How long it takes to go when it is asked to."""
    lazy: bool = False
    """Whether it asks for its next task only once others had the occasion to take its slots."""
    asked: tuple[int, int] | None = None
    """The range of slots that it asks for."""


AGENTS = st.lists(st.integers(1, 4), min_size=1, max_size=3)
GROUPS = st.lists(
    st.builds(
        Group,
        weight=st.sampled_from([1, 1, 2, 5, 20, 100]),
        tasks=st.integers(1, 5),
        slots=st.sampled_from([1, 1, 1, 2, 3, 4]),
        ticks=st.integers(1, LONGEST),
        leaves_ticks=st.integers(0, 2),
        lazy=st.booleans(),
    ),
    min_size=2,
    max_size=5,
)


@dataclass
class Life:
    """Jobs that work for ever in one pool. When a task is done, or has gone, the job asks for the next."""

    agents: list[int]
    groups: list[Group]
    story: PoolStory = field(default_factory=lambda: PoolStory(FairShare()))
    given: int = 0
    """Slots, to anybody."""
    preemptions: int = 0
    longest: Counter[str] = field(default_factory=Counter)
    """By job: the most slots given to anybody between two moments at which it kept something."""
    _seen: int = 0
    _asked: int = 0
    _ends: dict[str, int] = field(default_factory=dict)
    """By allocation: the tick at which it is done, or gone."""
    _holds_since: dict[str, int] = field(default_factory=dict)
    """By allocation that nobody has asked to go: how many slots had been given, with its own."""
    _kept_at: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, slots in enumerate(self.agents):
            self.story.when(hello(f"a{number}", slots))
        for number, group in enumerate(self.groups):
            self._kept_at[f"j{number}"] = 0
            for _ in range(group.tasks):
                self.ask(f"j{number}")

    @property
    def capacity(self) -> int:
        return sum(self.agents)

    def group(self, job: str) -> Group:
        return self.groups[int(job[1:])]

    def ask(self, job: str) -> None:
        self._asked += 1
        group = self.group(job)
        least, most = group.asked or (group.slots, group.slots)
        self.when(asks(f"{job}-{self._asked}", most, slots_min=least, job=job, weight=group.weight))

    def run(self, ticks: int) -> None:
        for now in range(ticks):
            self.tick(now)

    def tick(self, now: int) -> None:
        """Whose time has come is done, or has gone. Others that ask at the end of the tick come late."""
        late = list[str]()
        for allocation in list(self.story.pool.allocations.values()):
            group = self.group(allocation.request.job_id)
            if allocation.state is State.PREEMPTING:
                self.when(AcknowledgePreemption("default", allocation.id))
                self._ends[allocation.id] = now + group.leaves_ticks
            elif allocation.shares:
                self._ends.setdefault(allocation.id, now + group.ticks)
            if self._ends.get(allocation.id, now + 1) <= now:
                for rank in range(len(allocation.shares)):
                    self.when(exited(self.story, allocation.id, rank))
                del self._ends[allocation.id]
                late.append(allocation.request.job_id) if group.lazy else self.ask(allocation.request.job_id)
        for job in late:
            self.ask(job)

    def when(self, wish: PoolInput) -> None:
        self.story.when(wish)
        for event in self.story.latest:
            self._note(event)

    def _note(self, event: Event) -> None:
        """What is kept: what is held to its end, or while as many slots are given as there are."""
        match event:
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                self.given += sum(len(placement.slot_ids) for placement in placements)
                self._holds_since[allocation_id] = self.given
                for other, since in self._holds_since.items():
                    if self.given - since >= self.capacity:
                        self._keeps(other)
                for job, kept_at in self._kept_at.items():
                    self.longest[job] = max(self.longest[job], self.given - kept_at)
            case PreemptionRequested(allocation_id=allocation_id):
                self.preemptions += 1
                del self._holds_since[allocation_id]
            case AllocationExited(allocation_id=allocation_id) if allocation_id in self._holds_since:
                self._keeps(allocation_id)
                del self._holds_since[allocation_id]

    def _keeps(self, allocation_id: str) -> None:
        self._kept_at[_job(allocation_id)] = self.given

    def turn(self, job: str) -> float:
        """So many slots are given until the job's share of them has been what one task asks."""
        group, weight = self.group(job), sum(group.weight for group in self.groups)
        return group.slots * weight / group.weight


def _job(allocation_id: str) -> str:
    return allocation_id.partition("-")[0]


PAIRS = Group(weight=100, tasks=3, slots=2, ticks=1, leaves_ticks=2, lazy=True)
"""It takes back whatever others are given, for two slots more are mostly its own; and before it asks, others are."""
LIGHT = Group(weight=1, tasks=1, slots=1, ticks=LONGEST, leaves_ticks=1)
"""Asked to go, it has nothing and asks for nothing for a moment."""


@hypothesis.given(AGENTS, GROUPS)
@hypothesis.example([4], [PAIRS, LIGHT, LIGHT])
@hypothesis.example([4], [replace(PAIRS, lazy=False, leaves_ticks=0), LIGHT, replace(LIGHT, tasks=3)])
@hypothesis.example([4, 4], [PAIRS, replace(PAIRS, slots=4), replace(LIGHT, slots=3, weight=7)])
@hypothesis.settings(max_examples=10)
def test_whoever_keeps_asking_keeps_something_within_a_bounded_number_of_slots_given(
    agents: list[int], groups: list[Group]
) -> None:
    """However light it is, and however soon others ask again: by the time its share of what was given is what one task
    needs, it is its turn. Others may be due before it, each for one task; agents may have to come free, while others
    go on elsewhere; and what it holds is its to keep for a round."""
    groups = [replace(group, slots=min(group.slots, max(agents))) for group in groups]
    life = Life(agents, groups)
    turns = {f"j{number}": life.turn(f"j{number}") for number in range(len(groups))}
    others_first = sum(group.slots for group in groups)
    coming_free = (LONGEST + 4) * life.capacity
    for now in range(500):
        life.tick(now)
        if life.given > 3 * (max(turns.values()) + coming_free):
            break
    for job, turn in turns.items():
        assert life.longest[job] <= turn + others_first + coming_free, f"{job} of {groups} on {agents}"


ALIKE = st.tuples(st.integers(1, 4), st.integers(2, 4)).map(lambda drawn: [drawn[0]] * drawn[1])
RANGES = st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.integers(0, 5)), min_size=5, max_size=5)


@hypothesis.given(ALIKE, GROUPS, RANGES)
@hypothesis.example([2, 2], [replace(LIGHT, tasks=4), LIGHT], [(False, 1, 0), (True, 3, 1)])
@hypothesis.example([2, 2], [replace(LIGHT, tasks=2), replace(LIGHT, tasks=2)], [(True, 3, 1), (True, 3, 1)])
@hypothesis.settings(max_examples=10)
def test_nor_does_one_that_takes_a_range_of_which_only_some_make_up_whole_agents(
    agents: list[int], groups: list[Group], ranges: list[tuple[bool, int, int]]
) -> None:
    """What it waits for is the fewest that agents make up, be that more than it asks for at least."""
    groups = [ranged(group, agents, *drawn) for group, drawn in zip(groups, ranges, strict=False)]
    life = Life(agents, groups)
    turns = {f"j{number}": life.turn(f"j{number}") for number in range(len(groups))}
    others_first = sum(group.asked[1] if group.asked else group.slots for group in groups)
    coming_free = (LONGEST + 4) * life.capacity
    for now in range(500):
        life.tick(now)
        assert life.story.pool.slots_free < life.capacity, "the pool lies idle"
        if life.given > 3 * (max(turns.values()) + coming_free):
            break
    for job, turn in turns.items():
        assert life.longest[job] <= turn + others_first + coming_free, f"{job} of {groups} on {agents}"


def ranged(group: Group, agents: list[int], ranges: bool, least: int, more: int) -> Group:
    """Of agents of one size; the range has one number at least that they make up."""
    size, capacity = agents[0], sum(agents)
    if not ranges:
        return replace(group, slots=min(group.slots, size))
    least = min(least, capacity)
    fewest = least if least <= size else -(-least // size) * size
    return replace(group, slots=fewest, asked=(least, min(capacity, max(fewest, least + more))))
