"""First come, first served: the older job goes first, and within a job the older allocation, whatever the priority.

One that does not fit yet is passed over by those behind it, until as many slots as the pool has were given to others;
from then on the agents that are nearest to having room are kept for it (docs/decisions/0045). Demands beyond the whole
pool, and jobs at their own max_slots, hold up no other job. No allocation is asked to go.
"""

from __future__ import annotations

from dataclasses import dataclass

from resolute.proto.queue import PolicyName
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.demands import AFTER, Kind, firsts, kind_in, kind_of
from resolute.scheduling.jobs import Queued
from resolute.scheduling.placement import TIGHT, Fitting, first_able
from resolute.scheduling.policies.policy import Claim
from resolute.scheduling.pool import Pool


@dataclass(frozen=True, slots=True)
class Fifo:
    fitting: Fitting = TIGHT
    name: PolicyName = PolicyName.FIFO
    one_queue: bool = True
    preempts: bool = False
    asks_before_passing: bool = False

    def heads(self, pool: Pool) -> list[Allocation]:
        found = [(entry[-2:], pool.first_of(entry[-1], kind_in(entry))) for entry in _oldest(pool, self.fitting)]
        return [head for _, head in sorted(found, key=lambda one: (one[0], one[1].arrival))]

    def keeps(self, pool: Pool, head: Allocation) -> bool:
        return pool.was_passed_over(head)

    def may_pass(self, pool: Pool, head: Allocation, behind: Allocation) -> bool:
        return True

    def claim(self, pool: Pool, head: Allocation) -> Claim | None:
        return None

    def most(self, pool: Pool, allocation: Allocation) -> int:
        return kind_of(allocation.request).most

    def standing(self, pool: Pool, allocation: Allocation) -> str:
        return "first in the queue"

    def claims(self, pool: Pool, allocation: Allocation) -> str:
        return self.standing(pool, allocation)

    def has_its_share(self, pool: Pool, allocation: Allocation) -> bool:
        return False

    def ahead(self, pool: Pool, allocation: Allocation, most: int) -> tuple[int, list[str]]:
        job = pool.jobs[allocation.request.job_id]
        start, stop = (-AFTER,), (job.position,)
        first = list[str]()
        for position, job_id in pool.positions:
            if position >= job.position or len(first) == most:
                break
            first.append(job_id)
        return pool.positions.count(start, stop), first


def _oldest(pool: Pool, fitting: Fitting) -> list[Queued]:
    """Of every kind of demand for slots the one of the oldest job, the oldest first."""
    found: dict[Kind, Queued] = {}
    for head in firsts(pool.queue):
        kind: Kind = kind_in(head)
        entry = first_able(pool, head, fitting) if kind.slots else None
        while entry is not None:
            *_, priority, position, _ = entry
            best = found.setdefault(kind, entry)
            if position < best[-2]:
                found[kind] = entry
            entry = first_able(pool, (*kind, priority + 1), fitting)
    return sorted(found.values(), key=lambda entry: entry[-2:])
