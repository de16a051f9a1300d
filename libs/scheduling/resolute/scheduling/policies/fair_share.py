"""Fair share: every group (a job, or a user) has a share of the slots by its weight, as far as it has use for it.

Shares are weighted max-min fair: see `shares`. They are fractions and slots are not, so what a group asks next is
one of three things. *Its own*: with it the group has no more than its share, or, of something larger than one slot,
the greater part lies within. *Its remainder*: the share ends inside of it. *More*: the group has its share, and others
leave slots unused.

Slots go to what is a group's own first, furthest from its share first; then to the others, those who hold least by
weight first, and among equals to who was last given something the longest ago: so remainders go round. What does not
fit yet is passed over by those behind it, but not for ever: once as many slots as the pool has have gone to others
since its group was last given any, it is first in line, and the agents nearest to having room are kept until it fits.
And it is not brought below its share again until as many slots again have gone to others.

A group above its share gives slots to one below it, when the one below is left no further above its share than the
other was, the other no further below than the one was, and the slots are the one's own, or more to the other. So
every preemption brings the worst-off nearer to its share, none is undone by another, and they come to an end. Who
goes: of the group that holds most by weight the lowest priority, youngest job and youngest allocation first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from resolute.proto.queue import PolicyName
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import AFTER, FIELDS, firsts, kind_in, kind_of
from resolute.scheduling.overlay import Order
from resolute.scheduling.placement import TIGHT, Fitting, fewest
from resolute.scheduling.policies.policy import Claim, Taken
from resolute.scheduling.pool import Pool
from resolute.scheduling.shares import WEIGHT_UNIT, Group, Rated, Shares

LOOKED_AT = 200
"""Of the groups that may have to give, so many are looked at, those first that hold most by weight. A search that
finds none then takes milliseconds, however much runs."""

NEARLY = 1e-6
"""Numbers of slots that differ by less than this count as equal: the difference is rounding."""


@dataclass(frozen=True, slots=True)
class FairShare:
    by_user: bool = False
    fitting: Fitting = TIGHT
    name: PolicyName = PolicyName.FAIR_SHARE
    one_queue: bool = False
    preempts: bool = True
    asks_before_passing: bool = False

    def shares(self, pool: Pool) -> Shares:
        return pool.user_shares if self.by_user else pool.shares

    def group(self, pool: Pool, allocation: Allocation) -> str:
        job_id = allocation.request.job_id
        return self.shares(pool).group_of(job_id, pool.jobs[job_id])

    def heads(self, pool: Pool) -> list[Allocation]:
        shares = self.shares(pool)
        level = shares.level(pool.slots)
        owed, above, below = (list(self._firsts(pool, order)) for order in (shares.owed, shares.above, shares.below))
        due = [entry for entry in owed if shares.is_due(entry[-1], entry[0], pool.given, pool.slots)]
        own = [entry for entry in above if _is_own(entry, level)]
        found = {kind_in(entry) for entry in own}
        others = [entry for entry in below if kind_in(entry) not in found]
        heads = (head for entries in (due, own, others) for head in self._in_turn(pool, entries))
        return list({head.id: head for head in heads}.values())

    def _in_turn(self, pool: Pool, entries: list[Rated]) -> list[Allocation]:
        """The first of each entry, in the order of rates and turns; within a group the oldest allocation first."""
        found = ((entry[FIELDS:], self._first_of(pool, entry)) for entry in entries)
        heads = [(turn, head) for turn, head in found if head is not None]
        return [head for _, head in sorted(heads, key=lambda one: (one[0], one[1].arrival))]

    def _firsts(self, pool: Pool, order: Order[Rated]) -> Iterator[Any]:
        """The first of every kind that its limit allows what can be placed."""
        for entry in firsts(order):
            kind = kind_in(entry)
            if fewest(pool, kind, self.fitting) == kind.slots:
                yield entry
            else:
                same_kind = takewhile(lambda other, kind=kind: kind_in(other) == kind, order.since(entry))  # type: ignore[misc]
                yield from islice((one for one in same_kind if self._first_of(pool, one) is not None), 1)

    def keeps(self, pool: Pool, head: Allocation) -> bool:
        return self.shares(pool).is_due(self.group(pool, head), kind_of(head.request).slots, pool.given, pool.slots)

    def may_pass(self, pool: Pool, head: Allocation, behind: Allocation) -> bool:
        return True

    def claim(self, pool: Pool, head: Allocation) -> Claim | None:
        shares, name, kind = self.shares(pool), self.group(pool, head), kind_of(head.request)
        slots = fewest(pool, kind, self.fitting)
        level, share = shares.level_with(name, slots - kind.slots, pool.slots)
        lacks = share - shares.groups[name].committed
        if lacks <= NEARLY:
            return None
        own = slots <= lacks + NEARLY or (slots > 1 and slots / 2 < lacks)
        return GroupsAboveShare(pool, shares, head, name, level, share, lacks, own, slots)

    def most(self, pool: Pool, allocation: Allocation) -> int:
        """Its group's share, as it is if the group wants all that this takes, where others have use for the rest."""
        shares, kind, name = self.shares(pool), kind_of(allocation.request), self.group(pool, allocation)
        promise = pool.promises.get(allocation.id)
        own = promise.slots if promise is not None else 0
        most = min(kind.most, pool.slots)
        _, share = shares.level_with(name, max(0, most - (own or kind.slots)), pool.slots)
        least = fewest(pool, kind, self.fitting)
        return min(kind.most, max(least, int(share - shares.groups[name].committed + own + NEARLY)))

    def standing(self, pool: Pool, allocation: Allocation) -> str:
        shares, name = self.shares(pool), self.group(pool, allocation)
        group = shares.groups.get(name)
        return (
            self._share_of_group(name, group, shares.level(pool.slots))
            if group is not None
            else f"{self._who(name)} is new"
        )

    def claims(self, pool: Pool, allocation: Allocation) -> str:
        shares, name = self.shares(pool), self.group(pool, allocation)
        group, level = shares.groups[name], shares.level(pool.slots)
        if group.committed < group.share(level) - NEARLY:
            return f"{self._who(name)} holds less than its share at weight {group.weight / WEIGHT_UNIT:g}"
        return self._share_of_group(name, group, level)

    def has_its_share(self, pool: Pool, allocation: Allocation) -> bool:
        shares = self.shares(pool)
        group = shares.groups[self.group(pool, allocation)]
        return group.committed >= group.share(shares.level(pool.slots)) - NEARLY

    def ahead(self, pool: Pool, allocation: Allocation, most: int) -> tuple[int, list[str]]:
        shares, name = self.shares(pool), self.group(pool, allocation)
        group = shares.groups.get(name)
        if group is None:
            return 0, []  # the limit of its own job holds the allocation, so no other one is ahead of it
        mine, count, first = (group.rate, group.turn), 0, list[Rated]()
        for head in firsts(shares.below):
            stop = (*kind_in(head), *mine)
            count += shares.below.count((*kind_in(head), -AFTER), stop)
            for entry in shares.below.since(head):
                if entry[: len(stop)] >= stop or len(first) >= 4 * most:
                    break
                first.append(entry)
        heads = (self._first_of(pool, entry) for entry in _in_turn(first)[:most])
        return count, list(dict.fromkeys(head.request.job_id for head in heads if head is not None))

    def _first_of(self, pool: Pool, entry: Rated) -> Allocation | None:
        """None where all are held by their jobs' limits."""
        kind, group = kind_in(entry), entry[-1]
        slots = fewest(pool, kind, self.fitting)
        for member in self.shares(pool).members.since((group, *kind)):
            if member[: FIELDS + 1] != (group, *kind):
                break
            if slots == kind.slots or not pool.jobs[member[-1]].at_its_limit(slots):
                return pool.first_of(member[-1], kind)
        assert slots > kind.slots, f"no job of {group} waits for {kind}"
        return None

    def _share_of_group(self, name: str, group: Group, level: float) -> str:
        weight = f" at weight {group.weight / WEIGHT_UNIT:g}"
        share = f"a share of {group.share(level):.4g} slots{weight}"
        return f"{self._who(name)} has {group.committed} of {share}"

    def _who(self, name: str) -> str:
        return f"user {name}" if self.by_user else f"job {name}"


def _is_own(entry: Rated, level: float) -> bool:
    """Whether what a group asks lies within its share; of more than one slot, the greater part: as for
    GroupsAboveShare."""
    rate: Any = entry[FIELDS]
    return bool(rate <= level * (1 + 1e-9) if kind_in(entry).slots == 1 else rate < level * (1 - 1e-9))


def _in_turn(entries: list[Rated]) -> list[Rated]:
    return sorted(entries, key=lambda entry: entry[FIELDS:])


@dataclass(frozen=True, slots=True)
class GroupsAboveShare:
    """What one below its share may take: from groups above theirs, whatever leaves the two nearer to their shares."""

    pool: Pool
    shares: Shares
    head: Allocation
    name: str
    level: float
    share: float
    """Its share, as it is when it wants all that it can be given at least."""
    lacks: float
    """Slots to that."""
    own: bool
    """Whether what it asks is its own, and not only its remainder."""
    slots: int
    """What it asks, at least."""

    def candidates(self) -> Iterator[Allocation]:
        for minus_rate, _, name in islice(self.shares.richest, LOOKED_AT):
            if -minus_rate <= self.level:
                return
            if name != self.name and self._could_give(name):
                yield from self._of_group(name)

    def _could_give(self, name: str) -> bool:
        """Whether it could give up so much as one slot."""
        group = self.shares.groups[name]
        above = group.committed - group.share(self.level)
        least = NEARLY if self.own else 1 - NEARLY
        return above > least and 1 - above < self.lacks and self.slots - self.lacks < above

    def _of_group(self, name: str) -> Iterator[Allocation]:
        for holder in self.shares.holders.since((name,)):
            if holder[0] != name:
                return
            for owner, _, allocation_id in self.pool.victims.since((holder[-1],)):
                if owner != holder[-1]:
                    break
                yield self.pool.allocations[allocation_id]

    def urgency(self, victim: Allocation) -> float:
        return self.shares.groups[self.owner(victim)].rate

    def owner(self, victim: Allocation) -> str:
        job_id = victim.request.job_id
        return self.shares.group_of(job_id, self.pool.jobs[job_id])

    def allows(self, victim: Allocation, taken: Taken) -> bool:
        name = self.owner(victim)
        group = self.shares.groups[name]
        above = group.committed - group.share(self.level)
        after = above - taken[name] - victim.request.slots
        return (
            name != self.name
            and above > NEARLY
            and (after >= -NEARLY or (self.own and self.pool.given >= group.secure_until))
            and -after < self.lacks - NEARLY
            and self.slots - self.lacks < above - NEARLY
        )

    def reason(self, victim: Allocation) -> str:
        name = self.owner(victim)
        mine, other = self.shares.groups.get(self.name), self.shares.groups.get(name)
        if mine is None or other is None:
            return f"fair share: {self.head.id} is below its share"
        return (
            f"fair share: {self.name} has {mine.committed} of a share of {self.share:.4g} slots and needs "
            f"{self.slots} for {self.head.id}; {name} has {other.committed} of {other.share(self.level):.4g}"
        )
