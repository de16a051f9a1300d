"""Fair shares: how far each group is from its share of the slots, updated with each event.

Shares are weighted max-min fair, computed by water-filling: imagine each group as a vessel whose width is its weight
and whose volume is its demand, and water poured into all of them until the slots are used up. The water stands at the
same height in all vessels that are not full. That height is `level`, in slots per weight; the share of a group is the
water in its vessel. Groups are kept in the orders that a policy needs, so that an event costs the same however many
groups there are.

A share may be smaller than the number of slots that a group needs at once. Therefore a clock counts what each group is
owed (weighted fair queueing): each slot given advances the clock by one, divided by the weight of all groups. When the
clock has advanced by n, divided by the group's own weight, the group's share of the slots given since has been n
slots, and it is the group's turn for them.
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
"""Weights are counted in whole millionths: adding and subtracting whole numbers has no rounding error."""

TICKS = 10**30
"""How far the clock advances for one slot at a weight of one. The clock is a whole number, so rounding errors cannot
add up over the years."""

Rated = tuple[int, bool, tuple[str, ...], int, float, int, str]
"""A place among those who wait: a kind of demand, a rate in slots by weight, turn, group."""

Member = tuple[str, int, bool, tuple[str, ...], int, int, int | Fraction, str]
"""A group, and the place in the queue of a job of it."""


ABSENT_REMEMBERED = 10_000
"""How many groups without slots and demand are remembered, because they may come back."""


class Instant(NamedTuple):
    """A moment in the count of slots given."""

    clock: int
    """The slots given so far, each divided by the weight of all groups that had demand then, in TICKS."""
    given: int
    """Slots given so far."""


def ticks(slots: int, weight: int) -> int:
    """How far so many slots at such a weight advance the clock, rounded down."""
    return slots * TICKS // weight


def lesser_part(slots: int) -> float:
    """How many of the slots that a group needs at once have to be within its share: one slot, or half of several."""
    return slots if slots == 1 else slots / 2


@dataclass(frozen=True, slots=True)
class Stake:
    """What is remembered of the slots given to an allocation, until it is clear whether it keeps them for a round."""

    owed_since: Instant
    """`owed_since` of its group before the slots were given."""
    given_at: Instant


@dataclass(frozen=True, slots=True)
class Group:
    """The allocations that have one share together: those of a job, or of a user."""

    turn: int
    """When the group was last given slots, or came: the group that has waited longest goes first."""
    owed_since: Instant
    """When the group was last given slots that it kept, or came."""
    secure_until: int = 0
    """No preemption brings the group below its share before the pool has given so many slots in all: see `is_due`."""
    weight: int = 0
    committed: int = 0
    demand: int = 0
    kinds: Mapping[Kind, int] = field(default_factory=dict)
    """How many of its jobs have a demand ready, by kind."""

    @property
    def rate(self) -> float:
        return self.committed / self.weight

    def due_at(self, slots: int) -> int:
        """The clock at which the group's share of the slots given meanwhile is `slots`."""
        return self.owed_since.clock + ticks(slots, self.weight)

    def may_be_due(self, slots: int) -> bool:
        """Whether the group needs the clock: for more than one slot, which may never be free at once, and where it
        holds nothing because its share is less than one slot."""
        return slots > 1 or not self.committed

    def is_due(self, slots: int, now: Instant, capacity: int, weight: int) -> bool:
        """Whether the group got nothing while the pool gave so many slots that `slots` are its share of them and of
        `slots` themselves, and at least a round: as many slots as the pool has. `weight`: of all groups with demand.

        Slots that it is given when it is due are secure for a round: if they could be taken back at once, the group
        would never make progress.
        """
        waited = now.given - self.owed_since.given >= capacity
        rounded = ticks(slots, self.weight) // 10**9
        return waited and self.may_be_due(slots) and now.clock + ticks(slots, weight) >= self.due_at(slots) - rounded

    def share(self, level: float) -> float:
        """The group's share, in slots, when the water stands at `level`."""
        return min(float(self.demand), level * self.weight)

    def above(self, name: str) -> set[Rated]:
        """The group's places in the order by the rate that it would have with the slots it asks for (half of
        several)."""
        return {
            (*kind, (self.committed + lesser_part(kind.slots)) / self.weight, self.turn, name) for kind in self.kinds
        }

    def owed(self, name: str) -> set[Rated]:
        """The group's places in the order by when it will be due."""
        return {(*kind, self.due_at(kind.slots), self.turn, name) for kind in self.kinds if self.may_be_due(kind.slots)}

    def below(self, name: str) -> set[Rated]:
        """The group's places in the order by the rate that it has."""
        return {(*kind, self.rate, self.turn, name) for kind in self.kinds}


@dataclass(frozen=True, slots=True)
class DemandTotals:
    """The totals of all groups with the same demand per weight: their vessels have the same brim."""

    weight: int = 0
    demand: int = 0


@dataclass(frozen=True, slots=True)
class Absent:
    """What is remembered of a group without slots and demand."""

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
    totals_by_brim: Table[float, DemandTotals] = field(default_factory=Table)
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
        """The height of the water when `capacity` slots are shared; infinite where there are enough slots for all."""
        left, weight = float(capacity), self.weight
        for (brim,) in self.brims:
            if brim * weight >= left:
                return left / weight
            totals_by_brim = self.totals_by_brim[brim]
            left -= totals_by_brim.demand
            weight -= totals_by_brim.weight
        return float("inf")

    def level_with(self, name: str, more: int, capacity: int) -> tuple[float, float]:
        """The level if a group wanted so many more slots, and the share that it would have."""
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
        """A job has changed. `turn` and `given` are the moment for a group that is new."""
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
        """Takes a group up again: what it was owed when it left is still owed."""
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
        """The slots of an allocation are asked back before it held them for a round: its group is still owed them."""
        stake = self.stakes.get(allocation_id)
        if stake is not None:
            self.stakes.discard(allocation_id)
            self._owe(job_id, job, lambda since: min(since, stake.owed_since), given)

    def kept(self, allocation_id: str, job_id: str, job: Job, given: int) -> None:
        """An allocation gives back slots that it held for as long as it needed them, or for a round."""
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
        before = self.totals_by_brim.get(brim) or DemandTotals()
        after = DemandTotals(before.weight + sign * group.weight, before.demand + sign * group.demand)
        self.weight += sign * group.weight
        if after.weight:
            self.totals_by_brim[brim] = after
            self.brims.add((brim,))
        else:
            self.totals_by_brim.discard(brim)
            self.brims.discard((brim,))


_PLAIN = ("by_user", "weight", "absences_so_far", "clock")
_DRAFTED = tuple(found.name for found in fields(Shares) if found.name not in _PLAIN)


def _ready(job: Job) -> Iterator[Kind]:
    return (kind for kind in job.ready() if kind.slots)
