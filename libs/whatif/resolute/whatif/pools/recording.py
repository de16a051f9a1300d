"""The work in one pool, read from a cluster's log: when each task came, how long it ran, and on which agents.

Work is followed through its interruptions: a run that a policy preempted, or whose host was lost, and the run that
took its place at once are one piece of work. And it is followed to its cause: when a run was asked for because another
one ended, or reported, it will be asked for in a simulation when that one ends, or has got as far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import median

from resolute.proto import streams
from resolute.proto.experiment import TrialRunRequested
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import (
    AgentDisabled,
    AgentEnabled,
    AgentHello,
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    ChangeJob,
    DisableAgent,
    DisableSlot,
    EnableAgent,
    EnableSlot,
    JobChanged,
    JobMoved,
    MoveJob,
    PreemptionRequested,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
)
from resolute.proto.queue import PolicyName, Side
from resolute.proto.states import AllocationOutcome
from resolute.scheduling.decisions import ExpireLease, PoolInput
from resolute.whatif.pools.measures import Outcome, Ran

REPORTS = ("TrialValidated", "TrialTargetReached", "TrialCheckpointed", "TrialRunEnded")
"""Events of a run, by which it may be that another run is asked for."""
OF_A_POOL = (
    *("AgentJoined", "AgentLost", "AgentEnabled", "AgentDisabled", "SlotEnabled", "SlotDisabled"),
    *("AllocationRequested", "SlotsAssigned", "PreemptionRequested", "AllocationKillRequested", "AllocationExited"),
    *("JobChanged", "JobMoved"),
)
NEEDED = frozenset({*OF_A_POOL, *REPORTS, "TrialRunRequested"})
"""The types of events that `read` looks at."""

_TAKEN = (AllocationOutcome.YIELDED, AllocationOutcome.KILLED)
"""Outcomes of work whose slots were taken away, where another than its own experiment asked for them."""

_EVENT_ID = re.compile(r"evt-(\d+)(/|$)")


@dataclass(frozen=True, slots=True)
class After:
    """It comes `gap_s` after the other work has been served for `progress_s`."""

    work: str
    progress_s: float
    gap_s: float
    at_end: bool
    """Whether it is the end of the other that it follows, whenever that is."""


@dataclass(frozen=True, slots=True)
class Work:
    id: str
    """Of its first allocation."""
    request: AllocationRequested
    arrival_s: float
    """As recorded; where `after` is given that decides."""
    service_s: float
    """How long it held its slots, in all."""
    after: After | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to the pool's agents, or was done to its queue."""

    at_s: float
    wish: PoolInput


@dataclass(frozen=True, slots=True)
class Recording:
    pool: str
    works: tuple[Work, ...]
    """In order of arrival; first those that ran already when the recording begins."""
    changes: tuple[Change, ...]
    recorded: Outcome
    """How it went."""
    never_ran: int
    """Requests that never had slots until they ended or the recording did: left out, since their length is unknown."""
    unfinished: int
    """Work that still ran at the end, counted as if it had ended then."""
    yield_s: float
    """How long work took to stop when it was preempted: the median."""
    policy: str = ""
    """By which slots were given last; empty where the log does not say."""
    preempts: bool = False
    """Whether a policy asked for slots back."""

    @property
    def of_the_queue(self) -> tuple[Change, ...]:
        """Changes that are about jobs and not about agents."""
        return tuple(change for change in self.changes if isinstance(change.wish, ChangeJob | MoveJob))


@dataclass(slots=True)
class _Seen:
    """One allocation, as far as it is known."""

    request: AllocationRequested
    requested: Recorded
    assigned: Recorded | None = None
    asked_at: datetime | None = None
    """When its slots were asked back."""
    interrupted: bool = False
    """Whether another than its own experiment asked: a policy, or the person who disabled its agent."""
    exited: Recorded | None = None

    @property
    def assigned_at(self) -> datetime | None:
        return self.assigned.recorded_at if self.assigned is not None else None

    @property
    def goes_on(self) -> bool:
        """Whether a run that follows at once is the same work, because no request ended it."""
        event = self.exited.event if self.exited is not None else None
        if not isinstance(event, AllocationExited):
            return False
        return event.outcome == AllocationOutcome.LOST or (self.interrupted and event.outcome in _TAKEN)


@dataclass(slots=True)
class _Log:
    seen: dict[str, _Seen] = field(default_factory=dict)
    by_position: dict[int, Recorded] = field(default_factory=dict)
    """Exits, and requests for runs."""
    runs: dict[tuple[int, int], str] = field(default_factory=dict)
    """Allocation ids by (trial, run)."""
    reports: dict[tuple[str, str], Recorded] = field(default_factory=dict)
    """By stream and cause: what was reported in the append that asked for a run."""
    changes: list[Recorded] = field(default_factory=list)
    policy: str = ""
    preempts: bool = False
    last_at: datetime | None = None


def read(
    events: Iterable[Recorded], pool: str, since: datetime | None = None, until: datetime | None = None
) -> Recording:
    """`events` are the log's from its beginning, at least those of NEEDED types; those after `until` are ignored."""
    log = _Log()
    first_at: datetime | None = None
    for recorded in events:
        if until is not None and recorded.recorded_at > until:
            break
        first_at = first_at or recorded.recorded_at
        log.last_at = recorded.recorded_at
        _take(log, recorded, streams.POOL.stream(pool))
    if first_at is None or log.last_at is None:
        return Recording(pool, (), (), Outcome((), (), ()), 0, 0, 0.0)
    return _Window(log, pool, max(since, first_at) if since else first_at, log.last_at).recording()


def _take(log: _Log, recorded: Recorded, stream: str) -> None:
    event = recorded.event
    name = type(event).__name__
    if isinstance(event, TrialRunRequested):
        log.runs[event.trial_id, event.run_id] = event.allocation_id
        log.by_position[recorded.position] = recorded
    elif name in REPORTS:
        log.reports[recorded.stream, recorded.cause.id] = recorded
    elif recorded.stream == stream and name in OF_A_POOL:
        _take_from_pool(log, recorded, event)


def _take_from_pool(log: _Log, recorded: Recorded, event: Event) -> None:
    match event:
        case AllocationRequested(allocation_id=allocation_id):
            log.seen[allocation_id] = _Seen(event, recorded)
        case SlotsAssigned(allocation_id=allocation_id, placements=placements, rule=rule):
            seen, given = log.seen[allocation_id], sum(len(placement.slot_ids) for placement in placements)
            seen.assigned = recorded
            seen.request = replace(
                seen.request, slots=given, slots_min=None
            )  # of a range, what it took as long as it did
            log.policy = rule if rule in tuple(PolicyName) else log.policy
        case PreemptionRequested(allocation_id=allocation_id, rule=rule):
            log.seen[allocation_id].asked_at = recorded.recorded_at
            log.preempts = log.preempts or rule in tuple(PolicyName)
            log.seen[allocation_id].interrupted = bool(rule) or not recorded.cause.id.endswith("/preempt")
        case AllocationKillRequested(allocation_id=allocation_id, overdue=overdue):
            if not overdue and not recorded.cause.id.endswith("/kill"):  # its agent or its slot was disabled
                log.seen[allocation_id].interrupted = True
        case AllocationExited(allocation_id=allocation_id):
            log.seen[allocation_id].exited = recorded
            log.by_position[recorded.position] = recorded
        case _:
            log.changes.append(recorded)


class _Window:
    """A stretch of the log, in seconds from its beginning."""

    def __init__(self, log: _Log, pool: str, since: datetime, until: datetime) -> None:
        self._log, self._pool, self._since, self._until = log, pool, since, until
        self._part_of: dict[str, tuple[str, float]] = {}
        """By allocation: the work it is a part of, and how much of that had been served before."""
        self._latest: dict[str, _Seen] = {}
        """By work: the latest allocation of it."""
        self._works: dict[str, Work] = {}
        self._ran: dict[str, Ran] = {}
        self._never_ran = self._unfinished = 0

    def recording(self) -> Recording:
        for allocation_id, seen in sorted(self._log.seen.items(), key=self._order):
            if seen.exited is None or seen.exited.recorded_at > self._since:
                self._add(allocation_id, seen)
        changes = tuple(
            Change(self._at(recorded.recorded_at), wish)
            for recorded in self._log.changes
            if (wish := _wish(self._pool, recorded.event)) is not None
        )
        return Recording(
            self._pool,
            tuple(self._works.values()),
            changes,
            Outcome(tuple(self._ran.values()), capacity_of(changes), self._starts()),
            self._never_ran,
            self._unfinished,
            self._yield_s(),
            self._log.policy,
            self._log.preempts,
        )

    def _order(self, item: tuple[str, _Seen]) -> tuple[bool, datetime, int]:
        """Those that run when the window opens come first, in the order in which they had started."""
        seen = item[1]
        runs = seen.assigned_at is not None and seen.assigned_at <= self._since
        began = seen.assigned_at if runs and seen.assigned_at is not None else seen.requested.recorded_at
        return not runs, began, seen.requested.position

    def _add(self, allocation_id: str, seen: _Seen) -> None:
        if seen.assigned_at is None:
            self._never_ran += 1
            return
        start, arrival = self._at(seen.assigned_at), self._at(seen.requested.recorded_at)
        end = self._at(seen.exited.recorded_at if seen.exited is not None else self._until)
        self._unfinished += seen.exited is None
        after = self._after(seen)
        ran = Ran(
            allocation_id,
            group_of(seen.request),
            seen.request.slots,
            arrival,
            start,
            end if seen.exited is not None else None,
            waited_s=start - arrival,
            served_s=end - start,
            preemptions=int(seen.interrupted),
        )
        if after is not None and after.at_end and self._continues(after.work, seen):
            self._go_on(allocation_id, after.work, ran)
            self._latest[after.work] = seen
        else:
            self._latest[allocation_id] = seen
            self._part_of[allocation_id] = (allocation_id, 0.0)
            self._works[allocation_id] = Work(allocation_id, seen.request, arrival, end - start, after)
            self._ran[allocation_id] = ran

    def _continues(self, work_id: str, seen: _Seen) -> bool:
        before = self._latest[work_id]
        return before.goes_on and before.request.task_id == seen.request.task_id

    def _go_on(self, allocation_id: str, work_id: str, ran: Ran) -> None:
        work, before = self._works[work_id], self._ran[work_id]
        self._part_of[allocation_id] = (work_id, work.service_s)
        self._works[work_id] = replace(work, service_s=work.service_s + ran.served_s)
        self._ran[work_id] = replace(
            before,
            end_s=ran.end_s,
            waited_s=before.waited_s + ran.waited_s,
            served_s=before.served_s + ran.served_s,
            preemptions=before.preemptions + ran.preemptions,
        )

    def _after(self, seen: _Seen) -> After | None:
        """What it was asked for because of, if that is known and happened to work of this pool."""
        run = self._log.by_position.get(_position(seen.requested.cause.id))
        if run is None or run.recorded_at <= self._since:
            return None
        cause = self._log.by_position.get(_position(run.cause.id))
        report = self._log.reports.get((run.stream, run.cause.id))
        if cause is not None and isinstance(cause.event, AllocationExited):
            return self._because_of(cause.event.allocation_id, cause.recorded_at, seen, at_end=True)
        if report is not None:
            key = report.event.trial_id, report.event.run_id  # type: ignore[attr-defined]
            return self._because_of(self._log.runs.get(key, ""), report.recorded_at, seen, at_end=False)
        return None

    def _because_of(self, allocation_id: str, at: datetime, seen: _Seen, *, at_end: bool) -> After | None:
        other = self._log.seen.get(allocation_id)
        work_id, before_s = self._part_of.get(allocation_id, ("", 0.0))
        if not work_id or other is None or other.assigned_at is None:
            return None
        progress = before_s + self._at(at) - self._at(other.assigned_at)
        return After(work_id, progress, (seen.requested.recorded_at - at).total_seconds(), at_end)

    def _at(self, at: datetime) -> float:
        return max(0.0, (at - self._since).total_seconds())

    def _starts(self) -> tuple[str, ...]:
        first = {work_id: self._log.seen[work_id].assigned for work_id in self._works}
        return tuple(sorted(first, key=lambda work_id: at.position if (at := first[work_id]) is not None else 0))

    def _yield_s(self) -> float:
        took = [
            (seen.exited.recorded_at - seen.asked_at).total_seconds()
            for seen in self._log.seen.values()
            if seen.asked_at is not None and seen.exited is not None and seen.goes_on
        ]
        return median(took) if took else 0.0


def capacity_of(changes: Iterable[Change]) -> tuple[tuple[float, int], ...]:
    """How many slots the agents have that are there, and since when. Also disabled ones: what runs there runs on."""
    slots: dict[str, int] = {}
    found: list[tuple[float, int]] = []
    for change in changes:
        match change.wish:
            case AgentHello(agent_id=agent_id, slots=given):
                slots[agent_id] = len(given)
            case ExpireLease(agent_id=agent_id):
                slots.pop(agent_id, None)
            case _:
                continue
        if found and found[-1][0] == change.at_s:
            found.pop()
        found.append((change.at_s, sum(slots.values())))
    return tuple(found)


def agents_of(recording: Recording) -> Mapping[str, int]:
    """Slots of every agent that ever was there, by name."""
    hellos = (change.wish for change in recording.changes if isinstance(change.wish, AgentHello))
    return {hello.agent_id: len(hello.slots) for hello in hellos}


def group_of(request: AllocationRequested) -> str:
    """How people call the job."""
    return request.job_id if request.experiment_id is None else f"experiment {request.experiment_id}"


def _wish(pool: str, event: Event) -> PoolInput | None:
    """What would make it happen again."""
    match event:
        case AgentJoined(agent_id=agent_id, slots=slots, host=host, version=version):
            return AgentHello(agent_id, pool, slots, host, version, ())
        case AgentLost(agent_id=agent_id):
            return ExpireLease(agent_id, 0.0)
        case AgentEnabled(agent_id=agent_id):
            return EnableAgent(pool, agent_id)
        case AgentDisabled(agent_id=agent_id, drain=drain):
            return DisableAgent(pool, agent_id, drain)
        case SlotEnabled(agent_id=agent_id, slot_id=slot_id):
            return EnableSlot(pool, agent_id, slot_id)
        case SlotDisabled(agent_id=agent_id, slot_id=slot_id, drain=drain):
            return DisableSlot(pool, agent_id, slot_id, drain)
        case JobChanged(job_id=job_id, changes=changes):
            return ChangeJob(pool, job_id, changes)
        case JobMoved(job_id=job_id, neighbour=neighbour, side=side):
            ahead = side == Side.AHEAD
            return MoveJob(pool, job_id, neighbour if ahead else None, None if ahead else neighbour)
    return None


def _position(cause: str) -> int:
    """Of the event that the cause is made of; 0, which no event has, where it is something else."""
    found = _EVENT_ID.match(cause)
    return int(found.group(1)) if found else 0
