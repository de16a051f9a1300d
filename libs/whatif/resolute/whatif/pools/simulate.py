"""Recorded work played once more: real decisions of the scheduler, made-up time, and every fate as recorded.

Work runs for as long as it did. When it is preempted it takes a while to stop, and goes on later from where it was: the
log does not say how much progress a preemption cost, so none is lost here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush

from resolute.proto.errors import ResoluteError
from resolute.proto.message import Event
from resolute.proto.pool import (
    AcknowledgePreemption,
    AgentHello,
    AllocationExited,
    AllocationRequested,
    ChangeJob,
    PreemptionRequested,
    RequestAllocation,
    ResourcesExited,
    Slot,
    SlotsAssigned,
    TaskReport,
)
from resolute.proto.states import ShareNews
from resolute.scheduling.decisions import PoolInput, decide
from resolute.scheduling.policies import Policy
from resolute.scheduling.pool import Pool, evolve
from resolute.whatif.pools.measures import Outcome, Ran
from resolute.whatif.pools.recording import Change, Work, capacity_of, group_of

MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC)
NEARLY_S = 1e-6
"""Work with less than this left counts as done: recorded instants have microseconds."""


def agents(count: int, slots: int, pool: str = "default") -> tuple[Change, ...]:
    """`count` agents of `slots` each, there from the beginning and for good."""
    kinds = tuple(Slot(number, "artificial") for number in range(slots))
    width = len(str(count))
    names = (f"agent-{number:0{width}}" for number in range(1, count + 1))
    return tuple(Change(0.0, AgentHello(name, pool, kinds, name, "", ())) for name in names)


def whatif(
    arrivals: Iterable[Work],
    agents: Iterable[Change],
    policy: Policy,
    *,
    pool: str = "default",
    yield_s: float = 0.0,
    weights: Mapping[str, float] | None = None,
) -> Outcome:
    """How it goes when `arrivals` meet `agents` under `policy`.

    `agents` are what becomes of agents and of the queue, in order of time. `yield_s`: how long work takes to stop when
    it is preempted. `weights`: of jobs, by job id or experiment id, instead of their own.
    """
    changes, works, chosen = tuple(agents), tuple(arrivals), dict(weights or {})
    play = _Play(policy, pool, yield_s, chosen)
    weighed = {work.request.job_id for work in works if _weight(work.request, chosen) is not None}
    for change in changes:
        if (wish := _unweighed(change.wish, weighed)) is not None:
            play.at(change.at_s, _Changed(wish))
    play.begin(works)
    play.run()
    return Outcome(tuple(play.ran()), capacity_of(changes), tuple(play.starts))


# ---------------------------------------------------------------- what happens


@dataclass(frozen=True, slots=True)
class _Changed:
    wish: PoolInput


@dataclass(frozen=True, slots=True)
class _Arrives:
    work: str


@dataclass(frozen=True, slots=True)
class _Reaches:
    """The work of this allocation has been served for as long as another one waits for."""

    allocation: str
    follower: str


@dataclass(frozen=True, slots=True)
class _Ends:
    allocation: str
    yields: bool


_Happening = _Changed | _Arrives | _Reaches | _Ends


@dataclass(slots=True)
class _Life:
    """One piece of work, as far as it has come."""

    work: Work
    arrived_at: float = 0.0
    asked_at: float = 0.0
    started_at: float | None = None
    """None while it does not run."""
    first_start: float | None = None
    end: float | None = None
    served_s: float = 0.0
    waited_s: float = 0.0
    requests: int = 0
    preemptions: int = 0
    asked_to_go: bool = False
    followers: dict[str, Work] = field(default_factory=dict)

    @property
    def left_s(self) -> float:
        return self.work.service_s - self.served_s


class _Play:
    def __init__(self, policy: Policy, pool_name: str, yield_s: float, weights: Mapping[str, float]) -> None:
        self._policy, self._pool_name, self._yield_s, self._weights = policy, pool_name, yield_s, weights
        self.starts: list[str] = []
        self._pool = Pool()
        self._now = 0.0
        self._agenda: list[tuple[float, int, _Happening]] = []
        self._noted = 0
        self._lives: dict[str, _Life] = {}
        self._work_of: dict[str, str] = {}
        """By allocation."""

    def at(self, at_s: float, happening: _Happening) -> None:
        """What is noted for one instant happens in the order of noting."""
        self._noted += 1
        heappush(self._agenda, (at_s, self._noted, happening))

    def begin(self, works: Iterable[Work]) -> None:
        self._lives = {work.id: _Life(work) for work in works}
        for life in self._lives.values():
            after = life.work.after
            if after is None or after.work not in self._lives:
                self.at(life.work.arrival_s, _Arrives(life.work.id))
            else:
                self._lives[after.work].followers[life.work.id] = life.work

    def run(self) -> None:
        while self._agenda:
            self._now, _, happening = heappop(self._agenda)
            match happening:
                case _Changed(wish=wish):
                    self._change(wish)
                case _Arrives(work=work):
                    self._request(self._lives[work])
                case _Reaches(allocation=allocation, follower=follower):
                    self._reach(allocation, follower)
                case _Ends(allocation=allocation, yields=yields):
                    self._end(allocation, yields)

    def ran(self) -> Iterable[Ran]:
        for life in self._lives.values():
            yield Ran(
                life.work.id,
                group_of(life.work.request),
                life.work.request.slots,
                life.arrived_at if life.requests else life.work.arrival_s,
                life.first_start,
                life.end,
                life.waited_s,
                life.served_s,
                life.preemptions,
            )

    # ------------------------------------------------------------ deciding

    def _decide(self, wish: PoolInput) -> None:
        events = decide(wish, self._pool, MIDNIGHT + timedelta(seconds=self._now), self._policy)
        for event in events:
            evolve(self._pool, event)
        for event in events:
            self._follow(event)

    def _follow(self, event: Event) -> None:
        match event:
            case SlotsAssigned(allocation_id=allocation_id):
                self._start(allocation_id)
            case PreemptionRequested(allocation_id=allocation_id):
                self._ask_to_go(allocation_id)
            case ResourcesExited(allocation_id=allocation_id):
                allocation = self._pool.allocations.get(allocation_id)
                if allocation is not None and allocation.ending:  # a part of it was lost: the others end as well
                    self.at(self._now, _Ends(allocation_id, yields=False))
            case AllocationExited(allocation_id=allocation_id):
                self._stopped(allocation_id)

    def _change(self, wish: PoolInput) -> None:
        try:
            self._decide(wish)
        except ResoluteError:
            return  # it was done to a job that is not there yet, or no longer, as things go here

    # ------------------------------------------------------------ the life of work

    def _request(self, life: _Life) -> None:
        life.requests += 1
        if life.requests == 1:
            life.arrived_at = self._now
        life.asked_at = self._now
        suffix = "" if life.requests == 1 else f"~{life.requests}"
        allocation_id = f"{life.work.id}{suffix}"
        self._work_of[allocation_id] = life.work.id
        self._decide(_wish(life.work.request, allocation_id, self._pool_name, self._weights))

    def _start(self, allocation_id: str) -> None:
        life = self._of(allocation_id)
        life.started_at, life.asked_to_go = self._now, False
        life.waited_s += self._now - life.asked_at
        if life.first_start is None:
            life.first_start = self._now
            self.starts.append(life.work.id)
        for follower in life.followers.values():
            if follower.after is not None and not follower.after.at_end:
                ahead = max(0.0, follower.after.progress_s - life.served_s)
                self.at(self._now + ahead, _Reaches(allocation_id, follower.id))
        self.at(self._now + life.left_s, _Ends(allocation_id, yields=False))

    def _ask_to_go(self, allocation_id: str) -> None:
        life = self._of(allocation_id)
        if life.started_at is not None and not life.asked_to_go:
            life.asked_to_go = True
            life.preemptions += 1
            self.at(self._now + self._yield_s, _Ends(allocation_id, yields=True))

    def _reach(self, allocation_id: str, follower_id: str) -> None:
        life = self._of(allocation_id)
        if allocation_id in self._pool.allocations and follower_id in life.followers:
            self._release(life, follower_id)

    def _end(self, allocation_id: str, yields: bool) -> None:
        allocation = self._pool.allocations.get(allocation_id)
        if allocation is None or not allocation.shares:
            return
        if yields:
            self._decide(AcknowledgePreemption(self._pool_name, allocation_id))
        for resources_id, share in allocation.shares.items():
            agent_id = share.placement.agent_id
            self._decide(
                TaskReport(agent_id, self._pool_name, allocation_id, resources_id, ShareNews.EXITED, exit_code=0)
            )

    def _stopped(self, allocation_id: str) -> None:
        """It holds no slots any more: because it is done, or to come again."""
        life = self._of(allocation_id)
        if life.started_at is None:
            return
        life.served_s += self._now - life.started_at
        life.started_at = None
        if life.left_s > NEARLY_S:
            return self.at(self._now, _Arrives(life.work.id))
        life.end = self._now
        for follower_id in list(life.followers):
            self._release(life, follower_id)

    def _release(self, life: _Life, follower_id: str) -> None:
        after = life.followers.pop(follower_id).after
        assert after is not None, f"{follower_id} follows nothing"
        self.at(self._now + after.gap_s, _Arrives(follower_id))

    def _of(self, allocation_id: str) -> _Life:
        return self._lives[self._work_of[allocation_id]]


def _weight(request: AllocationRequested, weights: Mapping[str, float]) -> float | None:
    return weights.get(request.job_id, weights.get(str(request.experiment_id)))


def _unweighed(wish: PoolInput, jobs: Set[str]) -> PoolInput | None:
    """What people did to the weights of `jobs` is left out: those are given."""
    if not isinstance(wish, ChangeJob) or wish.job_id not in jobs:
        return wish
    changes = {field: value for field, value in wish.changes.items() if field != "weight"}
    return replace(wish, changes=changes) if changes else None


def _wish(
    request: AllocationRequested, allocation_id: str, pool: str, weights: Mapping[str, float]
) -> RequestAllocation:
    weight = _weight(request, weights)
    return RequestAllocation(
        pool=pool,
        allocation_id=allocation_id,
        task_id=request.task_id,
        task_type=request.task_type,
        job_id=request.job_id,
        name=request.name,
        owner=request.owner,
        slots=request.slots,
        priority=request.priority,
        weight=request.weight if weight is None else weight,
        max_slots=request.max_slots,
        preemption_timeout_s=request.preemption_timeout_s,
        experiment_id=request.experiment_id,
        trial_id=request.trial_id,
        single_agent=request.single_agent,
        blocked_agents=request.blocked_agents,
    )
