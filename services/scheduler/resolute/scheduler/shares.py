"""Fair shares, kept by event: how far each group is from its share of the slots, and the level that says so.

Weighted max-min fairness is water poured into vessels: each group is as wide as its weight and as high as its demand
allows; the water stands equally high in all that are not full. `level` is that height, in slots by weight. Groups are
kept in the orders a policy asks for, so that one change costs one change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from resolute.config.pools import WEIGHT_MOST
from resolute.scheduler.demands import Kind
from resolute.scheduler.jobs import Job
from resolute.scheduler.overlay import Order, Table

WEIGHT_UNIT = 1_000_000
"""Weights are counted in millionths: sums of whole numbers come back to what they were."""

Rated = tuple[int, bool, tuple[str, ...], float, int, str]
"""A place among those who wait: a kind of demand, a rate in slots by weight, turn, group."""

Member = tuple[str, int, bool, tuple[str, ...], int, int | Fraction, str]
"""A group, and the place in the queue of a job of it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Those who share one share: the allocations of a job, or of a user."""

    turn: int
    """When it was last given slots, or came: who has waited longest goes first."""
    given_before: int
    """Slots that the pool had given to anybody by then."""
    secure_until: int = 0
    """Nobody brings it below its share before the pool has given so many slots: see `is_due`."""
    weight: int = 0
    committed: int = 0
    demand: int = 0
    kinds: Mapping[Kind, int] = field(default_factory=dict)
    """How many of its jobs have a demand ready, by kind."""

    @property
    def rate(self) -> float:
        return self.committed / self.weight

    def is_due(self, slots: int, given: int, capacity: int) -> bool:
        """Whether it has been passed over for a round, when the pool has given `given`: by as many slots as there are.
        One slot fits as soon as there is one.

        What it is given then is secure for a round: had it to go at once, it would never come to anything.
        """
        return slots > 1 and given - self.given_before >= capacity

    def share(self, level: float) -> float:
        """The slots that are its own, where the water stands at `level`."""
        return min(float(self.demand), level * self.weight)

    def above(self, name: str) -> set[Rated]:
        """Where it stands by the rate it would have if it were given what it asks."""
        return {(*kind, (self.committed + kind.slots) / self.weight, self.turn, name) for kind in self.kinds}

    def below(self, name: str) -> set[Rated]:
        """Where it stands by the rate it has."""
        return {(*kind, self.rate, self.turn, name) for kind in self.kinds}


@dataclass(frozen=True, slots=True)
class Vessels:
    """All groups whose demand is the same by weight."""

    weight: int = 0
    demand: int = 0


@dataclass(slots=True)
class Shares:
    """One way to divide a pool between groups."""

    by_user: bool = False
    groups: Table[str, Group] = field(default_factory=Table)
    above: Order[Rated] = field(default_factory=Order)
    below: Order[Rated] = field(default_factory=Order)
    richest: Order[tuple[float, int, str]] = field(default_factory=Order)
    """(minus its rate, minus its turn, group) of those that hold anything."""
    members: Order[Member] = field(default_factory=Order)
    """(group, a kind of demand, priority, position, job) of those that are ready."""
    holders: Order[tuple[str, int, int | Fraction, str]] = field(default_factory=Order)
    """(group, minus priority, minus position, job) of those that hold slots."""
    vessels: Table[float, Vessels] = field(default_factory=Table)
    brims: Order[tuple[float]] = field(default_factory=Order)
    weight: int = 0

    def draft(self) -> Shares:
        return Shares(
            self.by_user,
            self.groups.draft(),
            self.above.draft(),
            self.below.draft(),
            self.richest.draft(),
            self.members.draft(),
            self.holders.draft(),
            self.vessels.draft(),
            self.brims.draft(),
            self.weight,
        )

    def group_of(self, job_id: str, job: Job) -> str:
        return job.owner if self.by_user else job_id

    def level(self, capacity: int) -> float:
        """How high the water stands when `capacity` slots are shared; infinite where there is enough for all."""
        left, weight = float(capacity), self.weight
        for (brim,) in self.brims:
            if brim * weight >= left:
                return left / weight
            vessels = self.vessels[brim]
            left -= vessels.demand
            weight -= vessels.weight
        return float("inf")

    def change(self, job_id: str, before: Job | None, after: Job, turn: int, given: int) -> None:
        """A job is other than it was. `turn` and `given`: the time, as groups count it, for a group that is new."""
        name = self.group_of(job_id, after)
        group = self.groups.get(name)
        if group is not None:
            self._leave(name, group)
        group = self._with(group or Group(turn, given), before, after)
        if before is not None:
            for place in before.places(job_id):
                self.members.discard((name, *place))
            self.holders.discard((name, -before.priority, -before.position, job_id))
        for place in after.places(job_id):
            if place[0]:
                self.members.add((name, *place))
        if after.slots_held:
            self.holders.add((name, -after.priority, -after.position, job_id))
        self._enter(name, group)

    def served(self, job_id: str, job: Job, slots: int, turn: int, given: int, capacity: int) -> None:
        """The group of this job was given `slots` of `capacity`; the pool has given `given` with them."""
        name = self.group_of(job_id, job)
        group = self.groups[name]
        secure_until = given + capacity if group.is_due(slots, given - slots, capacity) else group.secure_until
        self._leave(name, group)
        self._enter(name, replace(group, turn=turn, given_before=given, secure_until=secure_until))

    def _with(self, group: Group, before: Job | None, after: Job) -> Group:
        kinds = dict(group.kinds)
        committed, demand = group.committed + after.committed, group.demand + after.demand
        for kind in _ready(after):
            kinds[kind] = kinds.get(kind, 0) + 1
        if before is not None:
            committed, demand = committed - before.committed, demand - before.demand
            for kind in _ready(before):
                kinds[kind] -= 1
        weight = WEIGHT_UNIT if self.by_user else max(1, round(min(after.weight, WEIGHT_MOST) * WEIGHT_UNIT))
        kinds = {kind: count for kind, count in kinds.items() if count}
        return replace(group, weight=weight, committed=committed, demand=demand, kinds=kinds)

    def _leave(self, name: str, group: Group) -> None:
        self._pour(group, -1)
        for entry in group.above(name):
            self.above.discard(entry)
        for entry in group.below(name):
            self.below.discard(entry)
        self.richest.discard((-group.rate, -group.turn, name))
        self.groups.discard(name)

    def _enter(self, name: str, group: Group) -> None:
        if not group.demand and not group.committed and not group.kinds:
            return  # it has nothing and wants nothing: should it come back, it comes anew
        self._pour(group, +1)
        for entry in group.above(name):
            self.above.add(entry)
        for entry in group.below(name):
            self.below.add(entry)
        if group.committed > 0:
            self.richest.add((-group.rate, -group.turn, name))
        self.groups[name] = group

    def _pour(self, group: Group, sign: int) -> None:
        if not group.demand:
            return
        brim = group.demand / group.weight
        before = self.vessels.get(brim) or Vessels()
        after = Vessels(before.weight + sign * group.weight, before.demand + sign * group.demand)
        self.weight += sign * group.weight
        if after.weight:
            self.vessels[brim] = after
            self.brims.add((brim,))
        else:
            self.vessels.discard(brim)
            self.brims.discard((brim,))


def _ready(job: Job) -> Iterator[Kind]:
    return (kind for kind in job.ready() if kind.slots)
