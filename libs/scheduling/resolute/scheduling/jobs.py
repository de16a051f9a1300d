"""A job in its pool: all allocations with one job id together, their place in the queue and what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from resolute.proto.message import Object
from resolute.proto.pool import AllocationRequested
from resolute.scheduling.demands import Kind, kind_of

Queued = tuple[int, bool, tuple[str, ...], int, int, int | Fraction, str]
"""A place in the queue: a kind of demand, priority, position, job id."""


@dataclass(frozen=True, slots=True)
class Job:
    arrival: int
    owner: str
    priority: int
    weight: float
    max_slots: int | None
    position: int | Fraction
    """Among equal priorities: that of its arrival, until somebody moves it."""
    slots_held: int = 0
    slots_going: int = 0
    """Of those held: what is on its way out."""
    slots_promised: int = 0
    """Waited for, and others were asked to make room."""
    waiting: int = 0
    """Allocations, promised or not."""
    slots_waiting: int = 0
    lines: Mapping[Kind, int] = field(default_factory=dict)
    """How many wait, by kind, of those to whom nothing is promised."""
    impossible: frozenset[Kind] = frozenset()
    """Of those kinds: what the pool cannot hold as it is known. It counts for nothing until it can."""
    settings: Object = field(default_factory=dict)
    """priority, weight, max_slots, where a person has changed them."""

    @property
    def waits(self) -> bool:
        return self.waiting > 0

    @property
    def rank(self) -> tuple[int, int | Fraction]:
        """Its place among others by priority: the smallest first."""
        return self.priority, self.position

    @property
    def committed(self) -> int:
        """What it will hold once everybody has moved who was asked to."""
        return self.slots_held - self.slots_going + self.slots_promised

    @property
    def demand(self) -> int:
        """The slots that it could use: what could never run, in this pool or within its max_slots, asks for nothing."""
        able = sum(kind.slots * count for kind, count in self.lines.items() if self._could_run(kind))
        wanted = self.slots_held + self.slots_promised + able
        return wanted if self.max_slots is None else min(wanted, self.max_slots)

    def _could_run(self, kind: Kind) -> bool:
        return kind not in self.impossible and (self.max_slots is None or kind.slots <= self.max_slots)

    @property
    def over_its_limit(self) -> int:
        """Slots that the job holds beyond its max_slots, without those that it has been asked to give back already."""
        return 0 if self.max_slots is None else max(0, self.slots_held - self.slots_going - self.max_slots)

    def at_its_limit(self, slots: int) -> bool:
        """Whether so many more would be more than its max_slots."""
        return (
            self.max_slots is not None and slots > 0 and self.slots_held + self.slots_promised + slots > self.max_slots
        )

    def without(self, slots: int) -> Job:
        """As it would be without a promise of so many."""
        return replace(self, slots_promised=self.slots_promised - slots)

    def ready(self) -> Iterator[Kind]:
        """The kinds of demand that its own limit allows."""
        return (kind for kind in self.lines if not self.at_its_limit(kind.slots))

    def places(self, job_id: str) -> set[Queued]:
        return {(*kind, self.priority, self.position, job_id) for kind in self.ready()}


def waits(job: Job, request: AllocationRequested, sign: int) -> Job:
    """One more of it waits in line, or one less."""
    kind = kind_of(request)
    job = replace(job, waiting=job.waiting + sign, slots_waiting=job.slots_waiting + sign * kind.slots)
    return lined_up(job, kind, sign)


def promised(job: Job, kind: Kind, slots: int, sign: int) -> Job:
    """Room for so many slots is made for one that waits, and it stands in line no longer; or it does again."""
    more = sign * (slots - kind.slots)
    job = replace(job, slots_promised=job.slots_promised + sign * slots, slots_waiting=job.slots_waiting + more)
    return lined_up(job, kind, -sign)


def lined_up(job: Job, kind: Kind, sign: int) -> Job:
    count = job.lines.get(kind, 0) + sign
    others = {known: number for known, number in job.lines.items() if known != kind}
    return replace(job, lines={**others, kind: count} if count else others)
