"""Fair shares, kept by event: how far each group is from its share of the slots, and the level that says so.

Weighted max-min fairness is water poured into vessels: each group is as wide as its weight and as high as its demand
allows; the water stands equally high in all that are not full. `level` is that height, in slots by weight. Groups are
kept in the orders a policy asks for, so that one change costs one change.

A share may be a small part of what a group asks at once. What such a group is owed is told by a clock that goes on
with slots given, by one for the weight of all (weighted fair queueing). When it has gone on by n for the group's own
weight, its share of what was given has been n slots, and they are its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import NamedTuple

from resolute.proto.pool import Turn
from resolute.proto.queue import WEIGHT_MOST
from resolute.scheduling.demands import Kind
from resolute.scheduling.jobs import Job
from resolute.scheduling.overlay import Order, Table

WEIGHT_UNIT = 1_000_000
"""Weights are counted in millionths: sums of whole numbers come back to what they were."""

TICKS = 10**30
"""Of the clock, for one slot at a weight of one: whole, so that it is as exact after years as on the first day."""

Rated = tuple[int, bool, tuple[str, ...], int, float, int, str]
"""A place among those who wait: a kind of demand, a rate in slots by weight, turn, group."""

Member = tuple[str, int, bool, tuple[str, ...], int, int, int | Fraction, str]
"""A group, and the place in the queue of a job of it."""


ABSENT_REMEMBERED = 10_000
"""Groups that have nothing and want nothing, and may come back."""


class Instant(NamedTuple):
    """A time, as fairness counts it."""

    clock: int
    """Slots given so far, each for the weight of all who had use for any, in TICKS."""
    given: int
    """Slots given so far."""


def ticks(slots: int, weight: int) -> int:
    """So many slots for such a weight, as the clock counts them: less than one tick too few."""
    return slots * TICKS // weight


def lesser_part(slots: int) -> float:
    """How much of what a group asks at once has to lie within its share, to be its own: one slot, or half of more."""
    return slots if slots == 1 else slots / 2


@dataclass(frozen=True, slots=True)
class Stake:
    """What an allocation was given, until it is clear whether it can keep it."""

    owed_since: Instant
    """Of its group, before it was given this."""
    given_at: Instant


@dataclass(frozen=True, slots=True)
class Group:
    """Those who share one share: the allocations of a job, or of a user."""

    turn: int
    """When it was last given slots, or came: who has waited longest goes first."""
    owed_since: Instant
    """When it was last given what it could keep, or came."""
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

    def due_at(self, slots: int) -> int:
        """By the clock: when so many slots have been its share of what was given meanwhile."""
        return self.owed_since.clock + ticks(slots, self.weight)

    def may_be_due(self, slots: int) -> bool:
        """What is larger than one slot may never find room by itself; one slot is what a group is kept from that has
        nothing, where its share is less."""
        return slots > 1 or not self.committed

    def is_due(self, slots: int, now: Instant, capacity: int, weight: int) -> bool:
        """Whether it has been passed over while so much was given that `slots` make its share, of those and themselves
        together; and for a round: as many slots as there are. `weight`: of all who have use for any.

        What it is given then is secure for a round: had it to go at once, it would never come to anything.
        """
        waited = now.given - self.owed_since.given >= capacity
        rounded = ticks(slots, self.weight) // 10**9
        return waited and self.may_be_due(slots) and now.clock + ticks(slots, weight) >= self.due_at(slots) - rounded

    def share(self, level: float) -> float:
        """The slots that are its own, where the water stands at `level`."""
        return min(float(self.demand), level * self.weight)

    def above(self, name: str) -> set[Rated]:
        """Where it stands by the rate it would have if it were given what it asks; of more than one slot, the half."""
        return {
            (*kind, (self.committed + lesser_part(kind.slots)) / self.weight, self.turn, name) for kind in self.kinds
        }

    def owed(self, name: str) -> set[Rated]:
        """Where it stands by when it will be due."""
        return {(*kind, self.due_at(kind.slots), self.turn, name) for kind in self.kinds if self.may_be_due(kind.slots)}

    def below(self, name: str) -> set[Rated]:
        """Where it stands by the rate it has."""
        return {(*kind, self.rate, self.turn, name) for kind in self.kinds}


@dataclass(frozen=True, slots=True)
class Vessels:
    """All groups whose demand is the same by weight."""

    weight: int = 0
    demand: int = 0


@dataclass(frozen=True, slots=True)
class Absent:
    """What a group that has nothing and wants nothing left behind."""

    number: int
    owed_for: Instant
    secure_until: int


@dataclass(slots=True)
class Shares:
    """One way to divide a pool between groups."""

    by_user: bool = False
    groups: Table[str, Group] = field(default_factory=Table)
    above: Order[Rated] = field(default_factory=Order)
    below: Order[Rated] = field(default_factory=Order)
    owed: Order[Rated] = field(default_factory=Order)
    """By when they will be due, in the place of a rate."""
    stakes: Table[str, Stake] = field(default_factory=Table)
    """By allocation, of those that hold slots."""
    absent: Table[str, Absent] = field(default_factory=Table)
    absences: Order[tuple[int, str]] = field(default_factory=Order)
    """(number, group) of those."""
    richest: Order[tuple[float, int, str]] = field(default_factory=Order)
    """(minus its rate, minus its turn, group) of those that hold anything."""
    members: Order[Member] = field(default_factory=Order)
    """(group, a kind of demand, priority, position, job) of those that are ready."""
    holders: Order[tuple[str, int, int | Fraction, str]] = field(default_factory=Order)
    """(group, minus priority, minus position, job) of those that hold slots."""
    vessels: Table[float, Vessels] = field(default_factory=Table)
    brims: Order[tuple[float]] = field(default_factory=Order)
    weight: int = 0
    absences_so_far: int = 0
    clock: int = 0

    def draft(self) -> Shares:
        drafted = {name: getattr(self, name).draft() for name in _DRAFTED}
        return Shares(**drafted, **{name: getattr(self, name) for name in _PLAIN})

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

    def level_with(self, name: str, more: int, capacity: int) -> tuple[float, float]:
        """Where the water would stand if a group wanted so many slots more, and what its share would be."""
        group = self.groups[name]
        if not more:
            level = self.level(capacity)
            return level, group.share(level)
        imagined, wider = self.draft(), replace(group, demand=group.demand + more)
        imagined._pour(group, -1)
        imagined._pour(wider, +1)
        level = imagined.level(capacity)
        return level, wider.share(level)

    def now(self, given: int) -> Instant:
        return Instant(self.clock, given)

    def is_due(self, name: str, slots: int, given: int, capacity: int) -> bool:
        """See Group.is_due; the pool has given `given`."""
        return self.weight > 0 and self.groups[name].is_due(slots, self.now(given), capacity, self.weight)

    def change(self, job_id: str, before: Job | None, after: Job, turn: int, given: int) -> None:
        """A job is other than it was. `turn` and `given`: the time, as groups count it, for a group that is new."""
        name = self.group_of(job_id, after)
        group = self.groups.get(name)
        if group is not None:
            self._leave(name, group)
        group = self._with(group or self._come(name, turn, given), before, after)
        if before is not None:
            for place in before.places(job_id):
                self.members.discard((name, *place))
            self.holders.discard((name, -before.priority, -before.position, job_id))
        for place in after.places(job_id):
            if place[0]:
                self.members.add((name, *place))
        if after.slots_held:
            self.holders.add((name, -after.priority, -after.position, job_id))
        self._enter(name, group, given)

    def _come(self, name: str, turn: int, given: int) -> Group:
        """What it was owed when it went is still owed."""
        absent = self.absent.get(name)
        if absent is None:
            return Group(turn, self.now(given))
        self.absent.discard(name)
        self.absences.discard((absent.number, name))
        since = Instant(self.clock - absent.owed_for.clock, given - absent.owed_for.given)
        return Group(turn, since, absent.secure_until)

    def _go(self, name: str, group: Group, given: int) -> None:
        self.absences_so_far += 1
        owed_for = Instant(self.clock - group.owed_since.clock, given - group.owed_since.given)
        self.absent[name] = Absent(self.absences_so_far, owed_for, group.secure_until)
        self.absences.add((self.absences_so_far, name))
        oldest = self.absences.first()
        if oldest is not None and oldest[0] <= self.absences_so_far - ABSENT_REMEMBERED:
            self.absences.discard(oldest)
            self.absent.discard(oldest[1])

    def served(self, allocation_id: str, job_id: str, job: Job, turn: Turn, number: int, given: int) -> None:
        """An allocation of this job was given slots, which means `turn` for its group. `number`: when, as turns are
        counted; the pool has given `given` with them."""
        name = self.group_of(job_id, job)
        group = self.groups[name]
        self.clock = int(turn.clock)
        now = self.now(given)
        self.stakes[allocation_id] = Stake(group.owed_since, now)
        after = replace(group, turn=number, owed_since=now, secure_until=turn.secure_until)
        self._replace(name, group, after, given)

    def still_owed(self, allocation_id: str, job_id: str, job: Job, given: int) -> None:
        """What it was given is wanted for others before it could keep it for a round: it is owed it still."""
        stake = self.stakes.get(allocation_id)
        if stake is not None:
            self.stakes.discard(allocation_id)
            self._owe(job_id, job, lambda since: min(since, stake.owed_since), given)

    def kept(self, allocation_id: str, job_id: str, job: Job, given: int) -> None:
        """It gives back what it could keep for as long as it wanted, or for a round."""
        stake = self.stakes.get(allocation_id)
        if stake is not None:
            self.stakes.discard(allocation_id)
            self._owe(job_id, job, lambda since: max(since, stake.given_at), given)

    def _owe(self, job_id: str, job: Job, since: Callable[[Instant], Instant], given: int) -> None:
        name = self.group_of(job_id, job)
        group = self.groups.get(name)
        if group is not None:
            self._replace(name, group, replace(group, owed_since=since(group.owed_since)), given)

    def _replace(self, name: str, before: Group, after: Group, given: int) -> None:
        self._leave(name, before)
        self._enter(name, after, given)

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
        for entry in group.owed(name):
            self.owed.discard(entry)
        self.richest.discard((-group.rate, -group.turn, name))
        self.groups.discard(name)

    def _enter(self, name: str, group: Group, given: int) -> None:
        if not group.demand and not group.committed and not group.kinds:
            self._go(name, group, given)
            return
        self._pour(group, +1)
        for entry in group.above(name):
            self.above.add(entry)
        for entry in group.below(name):
            self.below.add(entry)
        for entry in group.owed(name):
            self.owed.add(entry)
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


_PLAIN = ("by_user", "weight", "absences_so_far", "clock")
_DRAFTED = tuple(found.name for found in fields(Shares) if found.name not in _PLAIN)


def _ready(job: Job) -> Iterator[Kind]:
    return (kind for kind in job.ready() if kind.slots)
