"""One look at a pool: who gets slots now, and who is asked to make room, by any policy.

First those that need no slots; then those for which room was made; then the queue, in the policy's order; then, for
those that do not fit, others are asked to go, and what fits beside that room is given. What was given in this look is
not asked back in it. The price is that of what is decided, whatever waits: equal demands fit or do not fit together.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, takewhile

from resolute.proto.pool import Placement, PreemptionRequested, SlotsAssigned
from resolute.proto.queue import ZERO_SLOTS
from resolute.scheduling import placement
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import AFTER, FIELDS, Kind, firsts, kind_in, kind_of
from resolute.scheduling.jobs import Queued
from resolute.scheduling.policies import victims
from resolute.scheduling.policies.policy import Assign, Claim, Decision, Policy, Preempt
from resolute.scheduling.pool import Pool, happen

SOME_TIME = datetime.max.replace(tzinfo=UTC)
"""The deadline of preemptions that are only imagined."""


def plan(pool: Pool, policy: Policy) -> list[Decision]:
    """All that is to be done in `pool` as it is, in order."""
    look = _Look(pool.draft(), policy)
    look.give_without_slots()
    if look.pool.slots_free:
        look.give_promised()
    look.give()
    while look.make_room():
        look.give()  # what fits beside the room that is being made
    return look.decisions


class _Look:
    def __init__(self, pool: Pool, policy: Policy) -> None:
        self.pool, self._policy = pool, policy
        self.decisions: list[Decision] = []
        self._given: set[str] = set()
        self._tried: set[str] = set()
        """Allocations for which this look has already tried to make room."""
        self._full: dict[Kind, int] = {}
        """Demands that found no room, and how many slots they might have had: there will not be more in this look."""
        self._reserved: set[str] = set()
        """Agents on which nothing is placed for those behind, when those before them do not fit yet."""

    def give_without_slots(self) -> None:
        while (head := self._first_without_slots()) is not None:
            self._assign(*head)

    def _first_without_slots(self) -> tuple[Allocation, tuple[Placement, ...]] | None:
        for allocation in sorted(without_slots(self.pool), key=lambda a: self.pool.jobs[a.request.job_id].rank):
            if placements := self._find(allocation):
                return allocation, placements
        return None

    def give_promised(self) -> None:
        """Place the allocations for which others were asked to go: first where room was made for them, then in slots
        that are promised to no allocation."""
        for allocation_id in self._promised_near_room():
            self._keep_word(self.pool.allocations[allocation_id])
        for kind in [kind_in(entry) for entry in firsts(self.pool.promised)]:
            entry = self.pool.promised.first(kind)
            while entry is not None and kind_in(entry) == kind and self._keep_word(self.pool.allocations[entry[-1]]):
                entry = self.pool.promised.first((*entry, ""))

    def _promised_near_room(self) -> list[str]:
        near = set[tuple[Kind, int, str]]()
        for _, agent_id in self.pool.room:
            for where, allocation_id in self.pool.promised_on.since((agent_id,)) if agent_id in self.pool.kept else ():
                if where != agent_id:
                    break
                allocation = self.pool.allocations[allocation_id]
                near.add((kind_of(allocation.request), allocation.arrival, allocation_id))
        return [allocation_id for *_, allocation_id in sorted(near)]

    def _keep_word(self, allocation: Allocation) -> bool:
        """Whether there was room for it, though its job's own limit may hold it."""
        placements = self._find(allocation)
        if placements and not self._over_its_limit(allocation):
            self._assign(allocation, placements)
        return bool(placements)

    def _over_its_limit(self, allocation: Allocation) -> bool:
        job, kind = self.pool.jobs[allocation.request.job_id], kind_of(allocation.request)
        slots = placement.fewest(self.pool, kind, self._policy.fitting)
        return job.max_slots is not None and job.slots_held + slots > job.max_slots

    def give(self) -> None:
        while self.pool.slots_free and self._give_one():
            pass

    def _give_one(self) -> bool:
        """Whether anything was decided: slots given to the first that may have them, or others asked to go for it."""
        self._reserved = set()
        first: Allocation | None = None
        for head in self._in_line():
            if placements := self._find(head):
                self._assign(head, placements, passing=first if self._policy.one_queue else None)
                return True
            if self._policy.asks_before_passing and self._make_room_for(head):
                return True
            self._reserve(head)
            first = first or head
        return False

    def _in_line(self) -> Iterator[Allocation]:
        """Those whose turn it is: the first in line, and, as it cannot use what is free, those that may pass it."""
        passed: Allocation | None = None
        for head in self._heads():
            if passed is not None and not self._policy.may_pass(self.pool, passed, head):
                return
            yield head
            passed = passed or head

    def _reserve(self, head: Allocation) -> None:
        """Keeps the agents nearest to having room for `head`, where it was passed over for long enough."""
        if self._policy.keeps(self.pool, head):
            kind = kind_of(head.request)
            self._reserved.update(placement.nearest(self.pool, kind, self._policy.fitting, self._reserved))

    def _heads(self) -> Iterator[Allocation]:
        fitting = self._policy.fitting
        for head in self._policy.heads(self.pool):
            if placement.could_ever_fit(self.pool, kind_of(head.request), fitting):
                yield head

    def _find(self, allocation: Allocation) -> tuple[Placement, ...]:
        kind, in_line = kind_of(allocation.request), allocation.id not in self.pool.promises
        most = most_of(self.pool, allocation, self._policy)
        if in_line and most <= self._full.get(kind, -1):
            return ()
        placements = placement.find(self.pool, allocation, self._policy.fitting, self._reserved, most)
        if not placements and in_line:
            self._full[kind] = most
        return placements

    def _assign(
        self, allocation: Allocation, placements: tuple[Placement, ...], passing: Allocation | None = None
    ) -> None:
        """`passing`: the one that comes first, and cannot use these slots yet."""
        why_there = self._why_there(allocation, placements) + self._why_so_many(allocation, placements)
        standing = self._policy.standing(self.pool, allocation)
        if passing is not None:
            standing = f"{passing.id} comes first, and cannot use these slots yet"
        reason = f"{standing}; {why_there}"
        rule = self._policy.name if allocation.request.slots else ZERO_SLOTS
        self.decisions.append(Assign(allocation.id, placements, reason, rule))
        self._given.add(allocation.id)
        happen(self.pool, SlotsAssigned(allocation.id, placements, reason, rule))

    def _why_there(self, allocation: Allocation, placements: tuple[Placement, ...]) -> str:
        hosts = ", ".join(p.agent_id for p in placements)
        if allocation.request.slots == 0:
            if self._policy.fitting.spread:
                return f"needs no slots; {hosts} runs the fewest such tasks"
            return f"needs no slots; {hosts} runs the most such tasks, or work with slots, so that others can go idle"
        if len(placements) > 1:
            return f"larger than one agent, so all of {hosts}"
        return f"{hosts} has the most room" if self._policy.fitting.spread else f"{hosts} is the tightest fit"

    def _why_so_many(self, allocation: Allocation, placements: tuple[Placement, ...]) -> str:
        """Of one that takes a range."""
        kind, given = kind_of(allocation.request), sum(len(place.slot_ids) for place in placements)
        if kind.most == kind.slots:
            return ""
        most = most_of(self.pool, allocation, self._policy)
        asked = f"; it takes {kind.slots} to {kind.most} slots and has {given}"
        if given == kind.most:
            return f"{asked}, all it asks for"
        if given == most:
            return f"{asked}: more is not its job's to have while others wait, or beyond its max_slots"
        return f"{asked}: more do not fit now"

    def make_room(self) -> bool:
        """Whether others were asked to go for one that waits."""
        self._reserved = set()
        for head in self._in_line():
            if self._make_room_for(head):
                return True
            self._reserve(head)
        return False

    def _make_room_for(self, head: Allocation) -> bool:
        if head.id in self._tried:
            return False
        self._tried.add(head.id)
        claim = self._policy.claim(self.pool, head)
        if claim is None:
            return False
        kind = kind_of(head.request)
        kind = kind._replace(blocked=(*kind.blocked, *sorted(self._reserved))) if self._reserved else kind
        found = victims.find(self.pool, kind, claim, self._policy.fitting, self._given)
        if found is None or not found.victims:
            return False
        self._ask(found, claim, head)
        return True

    def _ask(self, room: victims.Room, claim: Claim, head: Allocation) -> None:
        asked = [
            Preempt(victim.id, claim.reason(victim), self._policy.name, head.id, room.agents) for victim in room.victims
        ]
        self.decisions += asked
        for one in asked:
            happen(self.pool, preemption(one, SOME_TIME))


def most_of(pool: Pool, allocation: Allocation, policy: Policy) -> int:
    """The most that it is given where there is room: as its policy says, and its job's own limit allows."""
    job, kind = pool.jobs[allocation.request.job_id], kind_of(allocation.request)
    if kind.most == kind.slots:
        return kind.most
    most = policy.most(pool, allocation)
    if job.max_slots is None:
        return most
    promise = pool.promises.get(allocation.id)
    own = promise.slots if promise is not None else 0
    left = job.max_slots - job.slots_held - job.slots_promised + own
    return max(placement.fewest(pool, kind, policy.fitting), min(most, left))


def preemption(asked: Preempt, deadline_at: datetime) -> PreemptionRequested:
    return PreemptionRequested(
        asked.allocation_id, asked.reason, deadline_at, asked.rule, asked.for_allocation, asked.room_on
    )


def without_slots(pool: Pool) -> Iterator[Allocation]:
    """The first of every kind of demand that needs no slots."""
    for entry in firsts(pool.queue):
        if entry[0]:
            return
        yield pool.first_of(entry[-1], kind_in(entry))


def ahead_without_slots(pool: Pool, allocation: Allocation, most: int) -> tuple[int, list[str]]:
    """Of one that needs no slots: how many jobs come before its own, and the first few of them."""
    mine, count, found = pool.jobs[allocation.request.job_id].rank, 0, list[Queued]()
    for head in firsts(pool.queue):
        if head[0]:
            break
        before = (*kind_in(head), -AFTER), (*kind_in(head), *mine)
        count += pool.queue.count(*before)
        found += takewhile(lambda entry, stop=before[1]: entry < stop, islice(pool.queue.since(before[0]), most))  # type: ignore[misc]
    return count, [entry[-1] for entry in sorted(found, key=lambda entry: entry[FIELDS:])[:most]]
