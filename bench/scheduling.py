"""Scheduling: one look at a pool of 1,000 agents with 8 slots each and 10,000 jobs in its queue, by every policy.

Incremental: a task ends, and its slots are given on. Cold: nothing is given yet and everything waits. Then 15,000 jobs
come to a fair-share pool over simulated hours, run, and go: what the whole of that costs to decide. Deciding waits
for nothing, so what is measured is processor time.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from bench.figures import Figure, tell
from bench.harness import median
from resolute.proto.message import Event
from resolute.proto.pool import AgentHello, AllocationRequested, RequestAllocation, Slot, SlotsAssigned, TaskReport
from resolute.scheduling.decisions import PoolInput, decide
from resolute.scheduling.policies import FairShare, Fifo, Policy, Priority, plan
from resolute.scheduling.pool import Pool, evolve

AGENTS, SLOTS, QUEUED, ADMITTED = 1000, 8, 10_000, 15_000
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SIZES = [1, 1, 1, 1, 2, 2, 4, 8, 16]
POLICIES: tuple[Policy, ...] = (Fifo(), Priority(preemption=True), FairShare())


def hellos(agents: int) -> Iterator[AgentHello]:
    slots = tuple(Slot(n, "artificial") for n in range(SLOTS))
    for number in range(agents):
        yield AgentHello(f"agent-{number:04}", "default", slots, "10.0.0.1", "bench", ())


def request(number: int, chance: Random, sizes: list[int]) -> RequestAllocation:
    return RequestAllocation(
        pool="default",
        allocation_id=f"trial-{number}.1",
        task_id=f"trial-{number}",
        task_type="TRIAL",
        job_id=f"job-{number}",
        name=f"experiment {number}",
        owner=f"user-{number % 50}",
        slots=chance.choice(sizes),
        priority=42,
        weight=chance.choice([1.0, 1.0, 2.0, 3.0]),
        max_slots=None,
        preemption_timeout_s=60,
        experiment_id=number,
        trial_id=number,
    )


class TimedPool:
    """A pool, and the time spent on deciding about it."""

    def __init__(self, policy: Policy) -> None:
        self.pool, self.policy, self.now = Pool(), policy, NOON
        self.decided_s = 0.0

    def when(self, request: PoolInput) -> list[Event]:
        began = time.process_time()
        events = decide(request, self.pool, self.now, self.policy)
        for event in events:
            evolve(self.pool, event)
        self.decided_s += time.process_time() - began
        return events

    def exits(self, allocation_id: str) -> list[Event]:
        """The last share of it ends well."""
        events: list[Event] = []
        for share in list(self.pool.allocations[allocation_id].shares.values()):
            place = share.placement
            report = TaskReport(place.agent_id, "default", allocation_id, place.resources_id, "exited", "", 0)
            events += self.when(report)
        return events


def full(policy: Policy, queued: int) -> TimedPool:
    """All slots are held, by one job each, and `queued` jobs more wait."""
    timed, chance = TimedPool(policy), Random(7)
    for hello in hellos(AGENTS):
        timed.when(hello)
    for number in range(AGENTS * SLOTS):
        timed.when(request(number, chance, [1]))
    for number in range(AGENTS * SLOTS, AGENTS * SLOTS + queued):
        timed.when(request(number, chance, SIZES))
    return timed


def incremental_ms(policy: Policy, looks: int) -> list[float]:
    timed, found = full(policy, QUEUED), list[float]()
    for number in range(looks):
        before = timed.decided_s
        timed.exits(f"trial-{number * 7}.1")
        found.append((timed.decided_s - before) * 1000)
    return found


def cold(policy: Policy) -> tuple[float, float]:
    """(seconds of one look at an idle pool with the whole queue before it, placements a second)."""
    pool, chance = Pool(), Random(7)
    for number in range(QUEUED):
        for event in decide(request(number, chance, SIZES), pool, NOON, policy):
            evolve(pool, event)
    for hello in hellos(AGENTS):
        evolve(pool, decide(hello, Pool(), NOON, policy)[0])
    began = time.process_time()
    decisions = plan(pool, policy)
    took_s = time.process_time() - began
    return took_s, len(decisions) / took_s


def admission(jobs: int) -> tuple[float, float, float]:
    """(seconds spent deciding, simulated hours, mean seconds that a job waited)."""
    timed, chance = TimedPool(FairShare()), Random(11)
    for hello in hellos(AGENTS // 10):
        timed.when(hello)
    coming = [(number * 1.5, number) for number in range(jobs)]
    ends: list[tuple[float, str]] = []
    asked_s: dict[str, float] = {}
    waited_s: list[float] = []

    def take(events: list[Event], now_s: float) -> None:
        for event in events:
            match event:
                case AllocationRequested(allocation_id=allocation_id):
                    asked_s[allocation_id] = now_s
                case SlotsAssigned(allocation_id=allocation_id):
                    waited_s.append(now_s - asked_s[allocation_id])
                    heapq.heappush(ends, (now_s + chance.expovariate(1 / 1500), allocation_id))

    now_s = 0.0
    for at_s, number in [*coming, (float("inf"), -1)]:
        while ends and ends[0][0] <= at_s:
            now_s, allocation_id = heapq.heappop(ends)
            timed.now = NOON + timedelta(seconds=now_s)
            take(timed.exits(allocation_id), now_s)
        if number >= 0:
            now_s = at_s
            timed.now = NOON + timedelta(seconds=now_s)
            take(timed.when(request(number, chance, [1])), now_s)
    assert len(waited_s) == jobs, "every job has had its turn"
    return timed.decided_s, now_s / 3600, sum(waited_s) / jobs


def main(looks: int, jobs: int) -> None:
    figures = []
    for policy in POLICIES:
        found = sorted(incremental_ms(policy, looks))
        took_s, rate = cold(policy)
        figures += [
            Figure(f"{policy.name}: a task ends, its slots go on, median", median(found), "ms", bar=50, at_most=True),
            Figure(f"{policy.name}: the slowest of {looks}", found[-1], "ms", bar=50, at_most=True),
            Figure(f"{policy.name}: cold, the whole queue at once", took_s, "s"),
            Figure(f"{policy.name}: cold", rate, "placements/s", bar=500),
        ]
    decided_s, hours, waited_s = admission(jobs)
    figures += [
        Figure(f"fair_share: {jobs:,} jobs come, run and go, all decisions", decided_s, "s"),
        Figure("simulated time of that", hours, "h"),
        Figure("mean wait in it", waited_s, "s"),
        Figure("jobs admitted", jobs / decided_s, "jobs/s"),
    ]
    tell("scheduling", figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--looks", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=ADMITTED)
    options = parser.parse_args()
    main(options.looks, options.jobs)
