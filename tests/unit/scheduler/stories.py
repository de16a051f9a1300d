"""given / when / then for pools: a history, a wish, what happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from resolute.eventlog.waiting import WaitReason, effective_reason
from resolute.proto.message import Event
from resolute.proto.pool import AgentHello, AllocationWaits, RequestAllocation, Slot, TaskReport
from resolute.scheduling.allocation import Allocation
from resolute.scheduling.decisions import PoolInput, decide
from resolute.scheduling.demands import kind_of, line_of
from resolute.scheduling.policies import Policy, Priority
from resolute.scheduling.pool import Pool, evolve

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class PoolStory:
    """A pool, told by wishes; every event that follows is folded and kept."""

    policy: Policy = field(default_factory=Priority)
    pool: Pool = field(default_factory=Pool)
    now: datetime = NOON
    actor: str = ""
    """Whose wishes they are."""
    events: list[Event] = field(default_factory=list)
    """All of them."""
    latest: list[Event] = field(default_factory=list)
    """Those of the latest wish."""

    def given(self, *wishes: PoolInput) -> PoolStory:
        for wish in wishes:
            self.when(wish)
        return self

    def when(self, wish: PoolInput) -> PoolStory:
        self.latest = decide(wish, self.pool, self.now, self.policy, actor=self.actor)
        for event in self.latest:
            evolve(self.pool, event)
        self.events += self.latest
        return self

    def later(self, seconds: float) -> PoolStory:
        self.now += timedelta(seconds=seconds)
        return self

    def then(self, *kinds: type[Event]) -> PoolStory:
        """What happened; why others wait is told apart from it, unless it is asked for."""
        told = [type(event) for event in self.latest if AllocationWaits in kinds or type(event) is not AllocationWaits]
        assert told == list(kinds), self.latest
        return self

    def only(self, kind: type[Event]) -> Event:
        (found,) = [event for event in self.latest if isinstance(event, kind)]
        return found

    def holders(self) -> dict[str, tuple[str, ...]]:
        """Allocation id to the agents it has slots or shares on."""
        found: dict[str, tuple[str, ...]] = {}
        for allocation in self.pool.allocations.values():
            if allocation.shares:
                found[allocation.id] = tuple(s.placement.agent_id for s in allocation.shares.values())
        return found

    def explained(self) -> dict[str, str]:
        """Of all that wait, the rule that they are told when they ask."""
        waiting = [told(allocation) for allocation in self.pool.allocations.values() if allocation.rule_waiting]
        return {one.allocation_id: effective_reason(one, waiting).rule for one in waiting}


def told(allocation: Allocation) -> WaitReason:
    rule = allocation.rule_waiting
    request = allocation.request
    return WaitReason(allocation.id, request.job_id, request.slots, line_of(kind_of(request)), rule)


def given(*wishes: PoolInput) -> PoolStory:
    return PoolStory().given(*wishes)


def hello(agent: str = "a1", slots: int = 2, running: Iterable[str] = ()) -> AgentHello:
    return AgentHello(agent, "default", slots_of(slots), "10.0.0.1", "0.1.0", tuple(running))


def slots_of(count: int) -> tuple[Slot, ...]:
    return tuple(Slot(i, "artificial") for i in range(count))


def asks(
    allocation: str,
    slots: int = 1,
    *,
    job: str = "",
    priority: int | None = None,
    max_slots: int | None = None,
    single_agent: bool = False,
    preemption_timeout_s: int = 60,
    weight: float = 1.0,
    owner: str = "ada",
    blocked: tuple[str, ...] = (),
    slots_min: int | None = None,
    preemptible: bool = True,
) -> RequestAllocation:
    return RequestAllocation(
        pool="default",
        allocation_id=allocation,
        task_id=f"task-of-{allocation}",
        task_type="TRIAL",
        job_id=job or f"job-of-{allocation}",
        name="a trial",
        owner=owner,
        slots=slots,
        priority=priority,
        weight=weight,
        max_slots=max_slots,
        preemption_timeout_s=preemption_timeout_s,
        experiment_id=1,
        trial_id=1,
        single_agent=single_agent,
        blocked_agents=blocked,
        slots_min=slots_min,
        preemptible=preemptible,
    )


def started(story: PoolStory, allocation: str, rank: int = 0) -> TaskReport:
    return _report(story, allocation, rank, "started", None)


def exited(story: PoolStory, allocation: str, rank: int = 0, code: int | None = 0) -> TaskReport:
    return _report(story, allocation, rank, "exited", code)


def _report(story: PoolStory, allocation: str, rank: int, what: str, code: int | None) -> TaskReport:
    share = list(story.pool.allocations[allocation].shares.values())[rank]
    placement = share.placement
    return TaskReport(
        placement.agent_id, "default", allocation, placement.resources_id, what, "10.0.0.1", code, f"told {code}"
    )
