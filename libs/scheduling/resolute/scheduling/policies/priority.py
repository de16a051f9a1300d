"""Priorities: a smaller number goes first; among equals the older job, and within a job the older allocation.

One that does not fit yet is passed over by others of its priority, and with preemption by lower ones too, which can be
asked to go; until as many slots as the pool has were given to others. From then on the agents that are nearest to
having room are kept for it (docs/decisions/0045), so that large jobs do not starve.

With preemption it may take the slots of lower priorities: as few of the least urgent as suffice, see `victims`; among
equals those of the youngest job, and of that the youngest; only where all that go make room for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from resolute.proto.queue import PolicyName
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import AFTER, FIELDS, firsts, kind_in, kind_of
from resolute.scheduling.jobs import Queued
from resolute.scheduling.placement import TIGHT, Fitting, first_able
from resolute.scheduling.policies.policy import Claim, Taken
from resolute.scheduling.pool import Pool


@dataclass(frozen=True, slots=True)
class Priority:
    preemption: bool = False
    fitting: Fitting = TIGHT
    name: PolicyName = PolicyName.PRIORITY
    one_queue: bool = True

    @property
    def preempts(self) -> bool:
        return self.preemption

    def heads(self, pool: Pool) -> list[Allocation]:
        found = (first_able(pool, entry, self.fitting) for entry in firsts(pool.queue) if entry[0])
        heads = [(entry[FIELDS:], pool.first_of(entry[-1], kind_in(entry))) for entry in found if entry is not None]
        return [head for _, head in sorted(heads, key=lambda one: (one[0], one[1].arrival))]

    def keeps(self, pool: Pool, head: Allocation) -> bool:
        return pool.was_passed_over(head)

    def may_pass(self, pool: Pool, head: Allocation, behind: Allocation) -> bool:
        mine, other = (pool.jobs[one.request.job_id].priority for one in (head, behind))
        return mine == other or (self.preemption and behind.request.preemptible)

    @property
    def asks_before_passing(self) -> bool:
        return self.preemption

    def claim(self, pool: Pool, head: Allocation) -> Claim | None:
        return LowerPriorities(pool, head) if self.preemption else None

    def most(self, pool: Pool, allocation: Allocation) -> int:
        return kind_of(allocation.request).most

    def standing(self, pool: Pool, allocation: Allocation) -> str:
        return f"first in the queue at priority {pool.jobs[allocation.request.job_id].priority}"

    def claims(self, pool: Pool, allocation: Allocation) -> str:
        return self.standing(pool, allocation)

    def has_its_share(self, pool: Pool, allocation: Allocation) -> bool:
        return False

    def ahead(self, pool: Pool, allocation: Allocation, most: int) -> tuple[int, list[str]]:
        mine, count, first = pool.jobs[allocation.request.job_id].rank, 0, list[Queued]()
        for head in firsts(pool.queue):
            if head[0]:
                stop = (*kind_in(head), *mine)
                count += pool.queue.count((*kind_in(head), -AFTER), stop)
                first += takewhile(
                    lambda entry, stop=stop: entry < stop,  # type: ignore[misc]
                    islice(pool.queue.since(head), most),
                )
        return count, list(dict.fromkeys(entry[-1] for entry in sorted(first, key=lambda e: e[FIELDS:])))[:most]


@dataclass(frozen=True, slots=True)
class LowerPriorities:
    """What one that waits may take: all that is of lower priority."""

    pool: Pool
    head: Allocation

    def candidates(self) -> Iterator[Allocation]:
        mine = self._priority(self.head)
        for minus_priority, _, job_id in self.pool.victim_jobs:
            if -minus_priority <= mine:
                return
            for owner, _, allocation_id in self.pool.victims.since((job_id,)):
                if owner != job_id:
                    break
                yield self.pool.allocations[allocation_id]

    def urgency(self, victim: Allocation) -> float:
        return self._priority(victim)

    def owner(self, victim: Allocation) -> str:
        return victim.request.job_id

    def allows(self, victim: Allocation, taken: Taken) -> bool:
        return True

    def reason(self, victim: Allocation) -> str:
        head, mine, other = self.head.request, self._priority(self.head), self._priority(victim)
        return f"{head.allocation_id} of priority {mine} needs {kind_of(head).slots} slots; this is of priority {other}"

    def _priority(self, allocation: Allocation) -> int:
        """That of its job: of what it asked for when, the latest counts."""
        return self.pool.jobs[allocation.request.job_id].priority
