"""What happens in a pool when something is wished of it, or reported to it: wish and state in, events out.

Whatever happened, the queue is looked at in the same breath: a request that fits at once is given its slots by the
same append, and so is the next in line by the append that frees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.message import Event
from resolute.proto.owners import OWNERS, owner_named
from resolute.proto.pool import (
    AcknowledgePreemption,
    AgentDisabled,
    AgentEnabled,
    AgentHello,
    AgentJoined,
    AgentLost,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    ChangeJob,
    DisableAgent,
    DisableSlot,
    EnableAgent,
    EnableSlot,
    InstanceGone,
    KillAllocation,
    MoveJob,
    PoolRemoved,
    PoolRestored,
    PreemptAllocation,
    PreemptionAcknowledged,
    PreemptionRequested,
    RequestAllocation,
    ResourcesExited,
    ResourcesStarted,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
    TaskReport,
    reference_in,
)
from resolute.proto.queue import PRIORITY_DEFAULT, WaitRule
from resolute.proto.states import AllocationOutcome, ShareNews
from resolute.scheduling import moves, reasons
from resolute.scheduling.agents import Agent
from resolute.scheduling.allocation import PREEMPTIBLE, STARTABLE, Allocation, State, ended, exit_of
from resolute.scheduling.elastic.fleet import LEAVING
from resolute.scheduling.elastic.plan import Provision
from resolute.scheduling.elastic.plan import plan as plan_instances
from resolute.scheduling.policies import Assign, Policy, Preempt, plan
from resolute.scheduling.policies.passes import preemption
from resolute.scheduling.policies.victims import most_spared
from resolute.scheduling.pool import Pool, happen, job_of


@dataclass(frozen=True, slots=True)
class ExpireLease:
    """The agent has been silent for too long."""

    agent_id: str
    silent_s: float


@dataclass(frozen=True, slots=True)
class LeavePool:
    """The agent said hello to another pool: an agent is in one pool at a time."""

    agent_id: str
    pool: str
    """The other pool."""


@dataclass(frozen=True, slots=True)
class ConfigurePools:
    """A scheduler's configuration names these pools; this one is among them, or is not."""

    pool: str
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EnforceDeadlines:
    """Kill what was asked to give its slots back and has had its time."""


PoolWish = (
    RequestAllocation
    | PreemptAllocation
    | AcknowledgePreemption
    | KillAllocation
    | ChangeJob
    | MoveJob
    | EnableAgent
    | DisableAgent
    | EnableSlot
    | DisableSlot
)
"""The commands others may send."""

Wish = PoolWish | AgentHello | TaskReport | ExpireLease | LeavePool | ConfigurePools | EnforceDeadlines | Provision


class Story:
    """Events as they are decided, and the pool as it is after them."""

    def __init__(self, pool: Pool, now: datetime, actor: str = "") -> None:
        self.pool = pool.draft()
        self.now, self.actor = now, actor
        self.events: list[Event] = []
        self._jobs: dict[str, None] = {}

    @property
    def jobs(self) -> list[str]:
        """Those that the events are about, and that the pool has not forgotten with them."""
        return [job_id for job_id in self._jobs if job_id in self.pool.jobs]

    def happens(self, event: Event) -> None:
        before = job_of(self.pool, event)
        self.events.append(happen(self.pool, event))
        self._jobs |= dict.fromkeys(job_id for job_id in (before, job_of(self.pool, event)) if job_id)


def decide(
    wish: Wish, pool: Pool, now: datetime, policy: Policy, default_priority: int = PRIORITY_DEFAULT, actor: str = ""
) -> list[Event]:
    """`default_priority`: of requests that set none. `actor`: whose wish it is, for those who are told."""
    story = Story(pool, now, actor)
    match wish:
        case RequestAllocation():
            _request(story, wish, default_priority)
        case PreemptAllocation() | AcknowledgePreemption() | KillAllocation():
            _end(story, wish)
        case TaskReport():
            _report(story, wish)
        case AgentHello():
            _hello(story, wish)
        case ExpireLease(agent_id=agent_id, silent_s=silent_s):
            _lose(story, agent_id, f"agent {agent_id} was silent for {silent_s:.0f} s")
        case LeavePool(agent_id=agent_id, pool=other):
            _lose(story, agent_id, f"agent {agent_id} came back in pool {other!r}")
        case ConfigurePools():
            _configure(story, wish)
        case EnforceDeadlines():
            _enforce(story)
        case Provision():
            _provision(story, wish)
        case ChangeJob():
            _tell(story, moves.change(story.pool, wish))
        case MoveJob():
            _tell(story, moves.move(story.pool, wish, policy.name))
        case EnableAgent() | DisableAgent():
            _switch_agent(story, wish)
        case EnableSlot() | DisableSlot():
            _switch_slot(story, wish)
    if story.events:
        _schedule(story, policy)
    return story.events


def _schedule(story: Story, policy: Policy) -> None:
    if policy.preempts:
        for job_id in story.jobs:
            _enforce_limit(story, job_id)
    if story.pool.removed is not None:
        for event in list(reasons.without_pool(story.pool, story.events, story.now)):
            story.happens(event)
        return
    for event in list(reasons.impossible(story.pool, story.events, policy, story.now)):
        story.happens(event)  # before shares are divided: what can never run has none
    for decision in plan(story.pool, policy):
        match decision:
            case Assign(allocation_id=allocation_id, placements=placements, reason=reason, rule=rule):
                story.happens(SlotsAssigned(allocation_id, placements, reason, rule))
            case Preempt(allocation_id=allocation_id):
                victim = story.pool.allocations[allocation_id]
                deadline_at = story.now + timedelta(seconds=victim.request.preemption_timeout_s)
                story.happens(preemption(decision, deadline_at))
    promised, impossible = len(story.pool.promised), set(dict(story.pool.told_impossible.items()))
    for event in list(reasons.changed(story.pool, story.events, story.jobs, policy, story.now)):
        story.happens(event)
    possible_again = impossible - set(dict(story.pool.told_impossible.items()))
    if len(story.pool.promised) < promised or possible_again:
        _schedule(story, policy)  # room that was made is not enough, or shares are to be divided anew


def _enforce_limit(story: Story, job_id: str) -> None:
    """Of a job that holds more than its max_slots, which was lowered: the newest go first."""
    job = story.pool.jobs[job_id]
    for victim in _beyond(story.pool, job_id, job.over_its_limit):
        deadline_at = story.now + timedelta(seconds=victim.request.preemption_timeout_s)
        by = f" by {story.actor}" if story.actor else ""
        reason = f"max_slots was lowered to {job.max_slots}{by}"
        story.happens(PreemptionRequested(victim.id, reason, deadline_at, WaitRule.MAX_SLOTS))


def _beyond(pool: Pool, job_id: str, slots: int) -> list[Allocation]:
    """The allocations of a job that hold so many slots: the newest, without those whose going is not needed."""
    found, total = list[Allocation](), 0
    for owner, _, allocation_id in pool.victims.since((job_id,)):
        if owner != job_id:
            break
        found.append(pool.allocations[allocation_id])
        total += found[-1].request.slots
    spared = most_spared([(one, one.request.slots) for one in found], total - slots) if 0 < slots < total else ()
    return [one for one in found if one.id not in spared] if slots > 0 else []


def _tell(story: Story, event: Event | None) -> None:
    if event is not None:
        story.happens(event)


# ---------------------------------------------------------------- allocations


def _request(story: Story, wish: RequestAllocation, default_priority: int) -> None:
    if wish.allocation_id in story.pool.allocations or wish.allocation_id in story.pool.finished:
        return
    _check(wish)
    job = story.pool.jobs.get(wish.job_id)
    chosen = job.settings if job is not None else {}
    story.happens(
        AllocationRequested(
            allocation_id=wish.allocation_id,
            task_id=wish.task_id,
            task_type=wish.task_type,
            job_id=wish.job_id,
            name=wish.name,
            owner=wish.owner,
            slots=wish.slots,
            priority=chosen.get("priority", default_priority if wish.priority is None else wish.priority),
            weight=chosen.get("weight", wish.weight),
            max_slots=chosen.get("max_slots", wish.max_slots),
            preemption_timeout_s=wish.preemption_timeout_s,
            **reference_in(wish),
            single_agent=wish.single_agent,
            blocked_agents=tuple(sorted(set(wish.blocked_agents))),
            slots_min=None if wish.slots_min == wish.slots else wish.slots_min,
            preemptible=wish.preemptible,
            task_owner=wish.task_owner,
        )
    )


def _check(wish: RequestAllocation) -> None:
    if owner_named(wish.task_owner) is None:
        raise InvalidConfig(f"task_owner: found {wish.task_owner!r}; one of {', '.join(OWNERS)} would do")
    if wish.slots < 0:
        raise InvalidConfig(f"slots: found {wish.slots}; 0 or more would do")
    if wish.slots_min is not None and not 1 <= wish.slots_min <= wish.slots:
        raise InvalidConfig(f"slots_min: found {wish.slots_min}; from 1 to slots ({wish.slots}) would do")
    if wish.priority is not None:
        moves.check("priority", "priority", wish.priority)
    moves.check("weight", "weight", wish.weight)
    moves.check("max_slots", "max_slots", wish.max_slots)


def _end(story: Story, wish: PreemptAllocation | AcknowledgePreemption | KillAllocation) -> None:
    allocation = story.pool.allocations.get(wish.allocation_id)
    if allocation is None:
        if wish.allocation_id in story.pool.finished:
            return  # it came late: what was wished has happened
        raise NotFound(f"no allocation {wish.allocation_id} in pool {wish.pool}")
    match wish:
        case KillAllocation(reason=reason):
            _kill(story, allocation, reason)
        case PreemptAllocation(reason=reason, deadline_at=deadline_at):
            _preempt(story, allocation, reason, deadline_at)
        case AcknowledgePreemption():
            _acknowledge(story, allocation)


def _kill(story: Story, allocation: Allocation, reason: str) -> None:
    if allocation.state is State.WAITING:
        story.happens(ended(allocation, AllocationOutcome.KILLED, None, reason))
    elif not allocation.ending or allocation.left_to_end:
        story.happens(AllocationKillRequested(allocation.id, reason))


def _preempt(story: Story, allocation: Allocation, reason: str, deadline_at: datetime | None = None) -> None:
    if allocation.state is State.WAITING:
        story.happens(ended(allocation, AllocationOutcome.YIELDED, None, reason))
    elif allocation.state in PREEMPTIBLE and not allocation.ending:
        timeout = timedelta(seconds=allocation.request.preemption_timeout_s)
        story.happens(PreemptionRequested(allocation.id, reason, deadline_at or story.now + timeout))


def _acknowledge(story: Story, allocation: Allocation) -> None:
    if allocation.state is State.PREEMPTING:
        story.happens(PreemptionAcknowledged(allocation.id))
    elif allocation.state in PREEMPTIBLE or allocation.state is State.WAITING:
        raise refuse(
            f"acknowledge a preemption of allocation {allocation.id}",
            f"it is {allocation.state.value} and nobody has asked for its slots",
        )


def _enforce(story: Story) -> None:
    for deadline_at, allocation_id in list(story.pool.deadlines):
        if deadline_at > story.now:
            return
        allocation = story.pool.allocations[allocation_id]
        if not allocation.ending:
            reason = f"{allocation.preempted_because}; it was given until {deadline_at:%H:%M:%S} UTC to stop by itself"
            story.happens(AllocationKillRequested(allocation_id, reason, overdue=True))


# ---------------------------------------------------------------- reports of agents


def _report(story: Story, report: TaskReport) -> None:
    allocation = story.pool.allocations.get(report.allocation_id)
    share = allocation.shares.get(report.resources_id) if allocation is not None else None
    if allocation is None or share is None or share.exited:
        return  # late, or repeated
    if share.placement.agent_id != report.agent_id:
        raise Refused(f"{report.resources_id} runs on {share.placement.agent_id}, not on {report.agent_id}")
    match report.what:
        case ShareNews.STARTED:
            if allocation.state in STARTABLE and share.address is None:
                _start(story, report)
        case ShareNews.EXITED:
            exited = ResourcesExited(
                report.allocation_id, report.resources_id, report.exit_code, report.reason, report.hopeless
            )
            _exit(story, exited)
        case other:
            raise InvalidConfig(f"what: found {other!r}; {' or '.join(ShareNews)} would do")


def _start(story: Story, report: TaskReport) -> None:
    story.happens(ResourcesStarted(report.allocation_id, report.resources_id, report.address))
    shares = story.pool.allocations[report.allocation_id].shares.values()
    if all(share.address is not None for share in shares):
        story.happens(AllocationStarted(report.allocation_id))


def _exit(story: Story, exited: ResourcesExited) -> None:
    story.happens(exited)
    allocation = story.pool.allocations[exited.allocation_id]
    if allocation.gone:
        story.happens(exit_of(allocation))


# ---------------------------------------------------------------- agents and their slots


def _hello(story: Story, hello: AgentHello) -> None:
    known = story.pool.agents.get(hello.agent_id)
    if known is None or not known.present or _has_changed(known, hello):
        story.happens(AgentJoined(hello.agent_id, hello.slots, hello.host, hello.version))
        _keep_closed_if_leaving(story, hello.agent_id)


def _has_changed(known: Agent, hello: AgentHello) -> bool:
    found = {slot.id: slot for slot in hello.slots}, hello.host, hello.version
    return found != (known.slots, known.host, known.version)


def _lose(story: Story, agent_id: str, reason: str) -> None:
    agent = story.pool.agents.get(agent_id)
    if agent is not None and agent.present:
        _lose_agent(story, agent, reason)


def _lose_agent(story: Story, agent: Agent, reason: str) -> None:
    story.happens(AgentLost(agent.id, reason))
    for resources_id, allocation_id in agent.shares.items():
        _exit(story, ResourcesExited(allocation_id, resources_id, None, reason))


def _switch_agent(story: Story, wish: EnableAgent | DisableAgent) -> None:
    agent = _agent(story, wish.pool, wish.agent_id)
    if isinstance(wish, EnableAgent):
        if not agent.enabled:
            story.happens(AgentEnabled(agent.id))
    else:
        if agent.enabled or agent.draining != wish.drain:
            story.happens(AgentDisabled(agent.id, wish.drain))
        if not wish.drain:
            _clear(story, agent.shares.values(), f"agent {agent.id} was disabled")


def _switch_slot(story: Story, wish: EnableSlot | DisableSlot) -> None:
    agent = _agent(story, wish.pool, wish.agent_id)
    if wish.slot_id not in agent.slots:
        raise NotFound(f"no slot {wish.slot_id} on agent {agent.id}; it has {sorted(agent.slots)}")
    disabled, draining = (wish.slot_id in slots for slots in (agent.disabled_slots, agent.draining_slots))
    if isinstance(wish, EnableSlot):
        if disabled:
            story.happens(SlotEnabled(agent.id, wish.slot_id))
    else:
        if not disabled or draining != wish.drain:
            story.happens(SlotDisabled(agent.id, wish.slot_id, wish.drain))
        if not wish.drain and wish.slot_id in agent.held:
            _clear(story, [agent.held[wish.slot_id]], f"slot {wish.slot_id} of agent {agent.id} was disabled")


def _agent(story: Story, pool: str, agent_id: str) -> Agent:
    agent = story.pool.agents.get(agent_id)
    if agent is None:
        raise NotFound(f"no agent {agent_id} in pool {pool}")
    return agent


def _clear(story: Story, allocation_ids: Iterable[str], reason: str) -> None:
    """Ends them now: their tasks go on elsewhere from their last checkpoint, and it counts as no failure."""
    for allocation_id in dict.fromkeys(allocation_ids):
        _kill(story, story.pool.allocations[allocation_id], reason)


# ---------------------------------------------------------------- the pool itself


def _configure(story: Story, wish: ConfigurePools) -> None:
    removed = story.pool.removed is not None
    if removed and wish.pool in wish.pools:
        story.happens(PoolRestored(wish.pool))
    if not removed and wish.pool not in wish.pools:
        story.happens(PoolRemoved(wish.pool, wish.pools))


# ---------------------------------------------------------------- instances of an elastic pool


def _provision(story: Story, wish: Provision) -> None:
    for event in plan_instances(story.pool, wish, story.now):
        leaving = story.pool.fleet.instances.get(event.number) if isinstance(event, InstanceGone) else None
        story.happens(event)
        if leaving is not None:
            _forget_agent(story, leaving.agent_id, leaving.why_leaving)


def _forget_agent(story: Story, agent_id: str, reason: str) -> None:
    """Its machine is gone. The next one whose agent has that name starts with a clean sheet."""
    agent = story.pool.agents.get(agent_id)
    if agent is not None and agent.present:
        _lose_agent(story, agent, reason)
    if agent is not None and not agent.enabled:
        story.happens(AgentEnabled(agent_id))


def _keep_closed_if_leaving(story: Story, agent_id: str) -> None:
    """An agent that joins as its instance is about to end gets no work."""
    instance = story.pool.fleet.of_agent(agent_id)
    if instance is not None and instance.state in LEAVING and story.pool.agents[agent_id].enabled:
        story.happens(AgentDisabled(agent_id, drain=True))
