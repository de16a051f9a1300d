"""Logs of made-up clusters: a pool is driven by its own decisions, and what it says is recorded with its time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count

from resolute.proto.experiment import TrialRunRequested
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.pool import (
    AcknowledgePreemption,
    AllocationExited,
    PreemptionRequested,
    RequestAllocation,
    SlotsAssigned,
    TaskReport,
)
from resolute.scheduling.decisions import PoolInput, decide
from resolute.scheduling.policies import Policy
from resolute.scheduling.pool import Pool, evolve
from tests.unit.scheduler.stories import NOON, asks, hello


@dataclass(frozen=True)
class Job:
    """`after`: the job by whose end it is asked for; `at_s` is then counted from there."""

    name: str
    at_s: float
    service_s: float
    slots: int = 1
    priority: int = 42
    after: str = ""


@dataclass
class Cluster:
    """Real decisions, recorded; what is preempted stops at once, and is asked for again because of its exit."""

    policy: Policy
    pool: Pool = field(default_factory=Pool)
    log: list[Recorded] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    """Names of jobs, in the order of their first start."""
    _agenda: list[tuple[datetime, int, tuple[str, str]]] = field(default_factory=list)
    _order: Iterable[int] = field(default_factory=count)
    _left: dict[str, float] = field(default_factory=dict)
    _since: dict[str, datetime] = field(default_factory=dict)
    _runs: dict[str, int] = field(default_factory=dict)
    _jobs: dict[str, Job] = field(default_factory=dict)
    _causes: dict[str, str] = field(default_factory=dict)

    def play(self, agents: Sequence[tuple[str, int]], jobs: Sequence[Job]) -> list[Recorded]:
        for name, slots in agents:
            self._decide(NOON, hello(name, slots), Cause(f"hello/{name}"))
        self._jobs = {job.name: job for job in jobs}
        self._left = {job.name: job.service_s for job in jobs}
        for job in jobs:
            if not job.after:
                self._note(NOON + timedelta(seconds=job.at_s), "arrive", job.name)
        while self._agenda:
            at, _, (what, which) = heappop(self._agenda)
            getattr(self, f"_{what}")(at, which)
        return self.log

    def _note(self, at: datetime, what: str, which: str) -> None:
        heappush(self._agenda, (at, next(iter(self._order)), (what, which)))

    def _record(self, at: datetime, stream: str, events: Sequence[Event], cause: Cause) -> list[Recorded]:
        found = [
            Recorded(len(self.log) + number, stream, 0, event, cause, at)
            for number, event in enumerate(events, start=1)
        ]
        self.log += found
        return found

    def _decide(self, at: datetime, wish: PoolInput, cause: Cause) -> None:
        events = decide(wish, self.pool, at, self.policy)
        for event in events:
            evolve(self.pool, event)
        for recorded in self._record(at, "pool-default", events, cause):
            self._follow(at, recorded)

    def _follow(self, at: datetime, recorded: Recorded) -> None:
        match recorded.event:
            case SlotsAssigned(allocation_id=allocation_id):
                name = allocation_id.partition("/")[0]
                self._since[name] = at
                if name not in self.starts:
                    self.starts.append(name)
                self._note(at + timedelta(seconds=self._left[name]), "finish", allocation_id)
            case PreemptionRequested(allocation_id=allocation_id):
                self._note(at, "go", allocation_id)
            case AllocationExited(allocation_id=allocation_id):
                self._ended(at, allocation_id.partition("/")[0], recorded)

    def _arrive(self, at: datetime, name: str, cause: str = "") -> None:
        job = self._jobs[name]
        run = self._runs[name] = self._runs.get(name, 0) + 1
        allocation = f"{name}/{run}"
        because = Cause(cause or f"person/{name}")
        request = asks(allocation, job.slots, job=f"job-of-{name}", priority=job.priority)
        number = list(self._jobs).index(name) + 1
        asked = TrialRunRequested(number, run, allocation, job.slots, None, 0)
        (noted,) = self._record(at, "experiment-1", [asked], because)
        self._decide(at, _of_task(request, name), Cause(f"{noted.id}/request"))

    def _finish(self, at: datetime, allocation_id: str) -> None:
        allocation = self.pool.allocations.get(allocation_id)
        for resources_id, share in allocation.shares.items() if allocation is not None else ():
            report = TaskReport(share.placement.agent_id, "default", allocation_id, resources_id, "exited", exit_code=0)
            self._decide(at, report, Cause(f"report/{resources_id}/exited"))

    def _go(self, at: datetime, allocation_id: str) -> None:
        if allocation_id in self.pool.allocations:
            self._decide(at, AcknowledgePreemption("default", allocation_id), Cause(f"ack/{allocation_id}"))
            self._finish(at, allocation_id)

    def _ended(self, at: datetime, name: str, exit: Recorded) -> None:
        self._left[name] -= (at - self._since[name]).total_seconds()
        if self._left[name] > 1e-6:
            return self._arrive(at, name, f"{exit.id}/note")
        for job in self._jobs.values():
            if job.after == name:
                self._chain(at, job, exit)

    def _chain(self, at: datetime, job: Job, exit: Recorded) -> None:
        self._causes[job.name] = f"{exit.id}/note"
        self._note(at + timedelta(seconds=job.at_s), "arrive_because", job.name)

    def _arrive_because(self, at: datetime, name: str) -> None:
        self._arrive(at, name, self._causes[name])


def _of_task(request: RequestAllocation, name: str) -> RequestAllocation:
    return replace(request, task_id=f"task-of-{name}")
