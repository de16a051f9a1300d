"""`decide` of pools: commands, reports of agents, and timers of the scheduler.

After each decision the queue is looked at too: a request that fits at once gets its slots by the same append, and the
next request in line gets its slots by the append that frees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.message import Event, Object
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
    MarkServing,
    MoveJob,
    PoolConfigured,
    PoolRemoved,
    PoolRestored,
    PreemptAllocation,
    PreemptionAcknowledged,
    PreemptionRequested,
    RequestAllocation,
    ResourcesExited,
    ResourcesServeOthers,
    ResourcesStarted,
    SlotDisabled,
    SlotEnabled,
    SlotsAssigned,
    TaskReport,
    reference_in,
)
from resolute.proto.queue import PRIORITY_DEFAULT, WaitRule
from resolute.proto.states import AllocationOutcome, ShareNews
from resolute.scheduling import configured, moves, reasons
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
    """A scheduler's configuration names these pools; this pool may or may not be one of them."""

    pool: str
    pools: tuple[str, ...]
    settings: Object | None = None
    """Of this one, as `configured.settings_of` has them; None where it is not among the pools."""


@dataclass(frozen=True, slots=True)
class EnforceDeadlines:
    """Kill the allocations that were asked to give their slots back and did not do so in time."""


PoolCommand = (
    RequestAllocation
    | PreemptAllocation
    | AcknowledgePreemption
    | KillAllocation
    | MarkServing
    | ChangeJob
    | MoveJob
    | EnableAgent
    | DisableAgent
    | EnableSlot
    | DisableSlot
)
"""The commands that other services may send."""

PoolInput = (
    PoolCommand | AgentHello | TaskReport | ExpireLease | LeavePool | ConfigurePools | EnforceDeadlines | Provision
)


class PoolDraft:
    """The events decided so far, and the pool as it is after them."""

    def __init__(self, pool: Pool, now: datetime, actor: str = "") -> None:
        self.pool = pool.draft()
        self.now, self.actor = now, actor
        self.events: list[Event] = []
        self._jobs: dict[str, None] = {}

    @property
    def jobs(self) -> list[str]:
        """The jobs that the events are about, as far as the pool still knows them."""
        return [job_id for job_id in self._jobs if job_id in self.pool.jobs]

    def record(self, event: Event) -> None:
        before = job_of(self.pool, event)
        self.events.append(happen(self.pool, event))
        self._jobs |= dict.fromkeys(job_id for job_id in (before, job_of(self.pool, event)) if job_id)


def decide(
    request: PoolInput,
    pool: Pool,
    now: datetime,
    policy: Policy,
    default_priority: int = PRIORITY_DEFAULT,
    actor: str = "",
) -> list[Event]:
    """`default_priority`: for requests that set no priority. `actor`: the sender of a command, whom reasons name."""
    draft = PoolDraft(pool, now, actor)
    match request:
        case RequestAllocation():
            _request(draft, request, default_priority)
        case PreemptAllocation() | AcknowledgePreemption() | KillAllocation() | MarkServing():
            _of_allocation(draft, request)
        case TaskReport():
            _report(draft, request)
        case AgentHello():
            _hello(draft, request)
        case ExpireLease(agent_id=agent_id, silent_s=silent_s):
            _lose(draft, agent_id, f"agent {agent_id} was silent for {silent_s:.0f} s")
        case LeavePool(agent_id=agent_id, pool=other):
            _lose(draft, agent_id, f"agent {agent_id} came back in pool {other!r}")
        case ConfigurePools():
            _configure(draft, request)
        case EnforceDeadlines():
            _enforce(draft)
        case Provision():
            _provision(draft, request)
        case ChangeJob():
            _record_if_any(draft, moves.change(draft.pool, request))
        case MoveJob():
            _record_if_any(draft, moves.move(draft.pool, request, policy.name))
        case EnableAgent() | DisableAgent():
            _switch_agent(draft, request)
        case EnableSlot() | DisableSlot():
            _switch_slot(draft, request)
    if draft.events:
        _schedule(draft, policy)
    return draft.events


def _schedule(draft: PoolDraft, policy: Policy) -> None:
    if policy.preempts:
        for job_id in draft.jobs:
            _enforce_limit(draft, job_id)
    if draft.pool.removed is not None:
        for event in list(reasons.without_pool(draft.pool, draft.events, draft.now)):
            draft.record(event)
        return
    for event in list(reasons.impossible(draft.pool, draft.events, policy, draft.now)):
        draft.record(event)  # before slots are divided: an allocation that can never run has no share
    for decision in plan(draft.pool, policy):
        match decision:
            case Assign(allocation_id=allocation_id, placements=placements, reason=reason, rule=rule):
                draft.record(SlotsAssigned(allocation_id, placements, reason, rule))
            case Preempt(allocation_id=allocation_id):
                victim = draft.pool.allocations[allocation_id]
                deadline_at = draft.now + timedelta(seconds=victim.request.preemption_timeout_s)
                draft.record(preemption(decision, deadline_at))
    promised, impossible = len(draft.pool.promised), set(dict(draft.pool.impossible_kinds.items()))
    for event in list(reasons.changed(draft.pool, draft.events, draft.jobs, policy, draft.now)):
        draft.record(event)
    possible_again = impossible - set(dict(draft.pool.impossible_kinds.items()))
    if len(draft.pool.promised) < promised or possible_again:
        _schedule(draft, policy)  # the room that was made is not enough, or the shares have changed


def _enforce_limit(draft: PoolDraft, job_id: str) -> None:
    """Preempts allocations of a job that holds more than its max_slots, which was lowered: the newest first."""
    job = draft.pool.jobs[job_id]
    for victim in _beyond(draft.pool, job_id, job.over_its_limit):
        deadline_at = draft.now + timedelta(seconds=victim.request.preemption_timeout_s)
        by = f" by {draft.actor}" if draft.actor else ""
        reason = f"max_slots was lowered to {job.max_slots}{by}"
        draft.record(PreemptionRequested(victim.id, reason, deadline_at, WaitRule.MAX_SLOTS))


def _beyond(pool: Pool, job_id: str, slots: int) -> list[Allocation]:
    """The newest allocations of a job that together hold at least so many slots, without those that are not needed."""
    found, total = list[Allocation](), 0
    for owner, _, allocation_id in pool.victims.since((job_id,)):
        if owner != job_id:
            break
        found.append(pool.allocations[allocation_id])
        total += found[-1].request.slots
    spared = most_spared([(one, one.request.slots) for one in found], total - slots) if 0 < slots < total else ()
    return [one for one in found if one.id not in spared] if slots > 0 else []


def _record_if_any(draft: PoolDraft, event: Event | None) -> None:
    if event is not None:
        draft.record(event)


# ---------------------------------------------------------------- allocations


def _request(draft: PoolDraft, request: RequestAllocation, default_priority: int) -> None:
    if request.allocation_id in draft.pool.allocations or request.allocation_id in draft.pool.finished:
        return
    _check(request)
    job = draft.pool.jobs.get(request.job_id)
    chosen = job.settings if job is not None else {}
    draft.record(
        AllocationRequested(
            allocation_id=request.allocation_id,
            task_id=request.task_id,
            task_type=request.task_type,
            job_id=request.job_id,
            name=request.name,
            owner=request.owner,
            slots=request.slots,
            priority=chosen.get("priority", default_priority if request.priority is None else request.priority),
            weight=chosen.get("weight", request.weight),
            max_slots=chosen.get("max_slots", request.max_slots),
            preemption_timeout_s=request.preemption_timeout_s,
            **reference_in(request),
            single_agent=request.single_agent,
            blocked_agents=tuple(sorted(set(request.blocked_agents))),
            slots_min=None if request.slots_min == request.slots else request.slots_min,
            preemptible=request.preemptible,
            task_owner=request.task_owner,
        )
    )


def _check(request: RequestAllocation) -> None:
    if owner_named(request.task_owner) is None:
        raise InvalidConfig(f"task_owner: found {request.task_owner!r}; one of {', '.join(OWNERS)} would do")
    if request.slots < 0:
        raise InvalidConfig(f"slots: found {request.slots}; 0 or more would do")
    if request.slots_min is not None and not 1 <= request.slots_min <= request.slots:
        raise InvalidConfig(f"slots_min: found {request.slots_min}; from 1 to slots ({request.slots}) would do")
    if request.priority is not None:
        moves.check("priority", "priority", request.priority)
    moves.check("weight", "weight", request.weight)
    moves.check("max_slots", "max_slots", request.max_slots)


def _of_allocation(
    draft: PoolDraft, request: PreemptAllocation | AcknowledgePreemption | KillAllocation | MarkServing
) -> None:
    allocation = draft.pool.allocations.get(request.allocation_id)
    if allocation is None:
        if request.allocation_id in draft.pool.finished:
            return  # the command came late: the allocation has ended
        raise NotFound(f"no allocation {request.allocation_id} in pool {request.pool}")
    match request:
        case KillAllocation(reason=reason):
            _kill(draft, allocation, reason)
        case PreemptAllocation(reason=reason, deadline_at=deadline_at):
            _preempt(draft, allocation, reason, deadline_at)
        case AcknowledgePreemption():
            _acknowledge(draft, allocation)
        case MarkServing(resources_id=resources_id):
            _mark_serving(draft, allocation, resources_id)


def _mark_serving(draft: PoolDraft, allocation: Allocation, resources_id: str) -> None:
    share = allocation.shares.get(resources_id)
    if share is None:
        raise NotFound(f"allocation {allocation.id} has no resources {resources_id}")
    if share.serves or share.exited or allocation.ending:
        return
    if not any(not other.serves for other in allocation.shares.values() if other is not share):
        raise refuse(
            f"mark the resources {resources_id} of allocation {allocation.id} as a daemon",
            "its other resources are daemons already, or it has no others, so that nothing would end it",
            "leave one of them unmarked",
        )
    draft.record(ResourcesServeOthers(allocation.id, resources_id))


def _kill(draft: PoolDraft, allocation: Allocation, reason: str) -> None:
    if allocation.state is State.WAITING:
        draft.record(ended(allocation, AllocationOutcome.KILLED, None, reason))
    elif not allocation.ending or allocation.left_to_end:
        draft.record(AllocationKillRequested(allocation.id, reason))


def _preempt(draft: PoolDraft, allocation: Allocation, reason: str, deadline_at: datetime | None = None) -> None:
    if allocation.state is State.WAITING:
        draft.record(ended(allocation, AllocationOutcome.YIELDED, None, reason))
    elif allocation.state in PREEMPTIBLE and not allocation.ending:
        timeout = timedelta(seconds=allocation.request.preemption_timeout_s)
        draft.record(PreemptionRequested(allocation.id, reason, deadline_at or draft.now + timeout))


def _acknowledge(draft: PoolDraft, allocation: Allocation) -> None:
    if allocation.state is State.PREEMPTING:
        draft.record(PreemptionAcknowledged(allocation.id))
    elif allocation.state in PREEMPTIBLE or allocation.state is State.WAITING:
        raise refuse(
            f"acknowledge a preemption of allocation {allocation.id}",
            f"it is {allocation.state.value} and no preemption was requested",
        )


def _enforce(draft: PoolDraft) -> None:
    for deadline_at, allocation_id in list(draft.pool.deadlines):
        if deadline_at > draft.now:
            return
        allocation = draft.pool.allocations[allocation_id]
        if not allocation.ending:
            reason = f"{allocation.preempted_because}; it was given until {deadline_at:%H:%M:%S} UTC to stop by itself"
            draft.record(AllocationKillRequested(allocation_id, reason, overdue=True))


# ---------------------------------------------------------------- reports of agents


def _report(draft: PoolDraft, report: TaskReport) -> None:
    allocation = draft.pool.allocations.get(report.allocation_id)
    share = allocation.shares.get(report.resources_id) if allocation is not None else None
    if allocation is None or share is None or share.exited:
        return  # late, or repeated
    if share.placement.agent_id != report.agent_id:
        raise Refused(f"{report.resources_id} runs on {share.placement.agent_id}, not on {report.agent_id}")
    match report.what:
        case ShareNews.STARTED:
            if allocation.state in STARTABLE and share.address is None:
                _start(draft, report)
        case ShareNews.EXITED:
            exited = ResourcesExited(
                report.allocation_id, report.resources_id, report.exit_code, report.reason, report.hopeless
            )
            _exit(draft, exited)
        case other:
            raise InvalidConfig(f"what: found {other!r}; {' or '.join(ShareNews)} would do")


def _start(draft: PoolDraft, report: TaskReport) -> None:
    draft.record(ResourcesStarted(report.allocation_id, report.resources_id, report.address))
    shares = draft.pool.allocations[report.allocation_id].shares.values()
    if all(share.address is not None for share in shares):
        draft.record(AllocationStarted(report.allocation_id))


def _exit(draft: PoolDraft, exited: ResourcesExited) -> None:
    draft.record(exited)
    allocation = draft.pool.allocations[exited.allocation_id]
    if allocation.gone:
        draft.record(exit_of(allocation))


# ---------------------------------------------------------------- agents and their slots


def _hello(draft: PoolDraft, hello: AgentHello) -> None:
    known = draft.pool.agents.get(hello.agent_id)
    if known is None or not known.present or _has_changed(known, hello):
        draft.record(AgentJoined(hello.agent_id, hello.slots, hello.host, hello.version))
        _keep_closed_if_leaving(draft, hello.agent_id)


def _has_changed(known: Agent, hello: AgentHello) -> bool:
    found = {slot.id: slot for slot in hello.slots}, hello.host, hello.version
    return found != (known.slots, known.host, known.version)


def _lose(draft: PoolDraft, agent_id: str, reason: str) -> None:
    agent = draft.pool.agents.get(agent_id)
    if agent is not None and agent.present:
        _lose_agent(draft, agent, reason)


def _lose_agent(draft: PoolDraft, agent: Agent, reason: str) -> None:
    draft.record(AgentLost(agent.id, reason))
    for resources_id, allocation_id in agent.shares.items():
        _exit(draft, ResourcesExited(allocation_id, resources_id, None, reason))


def _switch_agent(draft: PoolDraft, request: EnableAgent | DisableAgent) -> None:
    agent = _agent(draft, request.pool, request.agent_id)
    if isinstance(request, EnableAgent):
        if not agent.enabled:
            draft.record(AgentEnabled(agent.id))
    else:
        if agent.enabled or agent.draining != request.drain:
            draft.record(AgentDisabled(agent.id, request.drain))
        if not request.drain:
            _clear(draft, agent.shares.values(), f"agent {agent.id} was disabled")


def _switch_slot(draft: PoolDraft, request: EnableSlot | DisableSlot) -> None:
    agent = _agent(draft, request.pool, request.agent_id)
    if request.slot_id not in agent.slots:
        raise NotFound(f"no slot {request.slot_id} on agent {agent.id}; it has {sorted(agent.slots)}")
    disabled, draining = (request.slot_id in slots for slots in (agent.disabled_slots, agent.draining_slots))
    if isinstance(request, EnableSlot):
        if disabled:
            draft.record(SlotEnabled(agent.id, request.slot_id))
    else:
        if not disabled or draining != request.drain:
            draft.record(SlotDisabled(agent.id, request.slot_id, request.drain))
        if not request.drain and request.slot_id in agent.held:
            _clear(draft, [agent.held[request.slot_id]], f"slot {request.slot_id} of agent {agent.id} was disabled")


def _agent(draft: PoolDraft, pool: str, agent_id: str) -> Agent:
    agent = draft.pool.agents.get(agent_id)
    if agent is None:
        raise NotFound(f"no agent {agent_id} in pool {pool}")
    return agent


def _clear(draft: PoolDraft, allocation_ids: Iterable[str], reason: str) -> None:
    """Ends the allocations now: their tasks go on elsewhere from their last checkpoint, and no restart is used up."""
    for allocation_id in dict.fromkeys(allocation_ids):
        _kill(draft, draft.pool.allocations[allocation_id], reason)


# ---------------------------------------------------------------- the pool itself


def _configure(draft: PoolDraft, request: ConfigurePools) -> None:
    removed = draft.pool.removed is not None
    if removed and request.pool in request.pools:
        draft.record(PoolRestored(request.pool))
    if not removed and request.pool not in request.pools:
        draft.record(PoolRemoved(request.pool, request.pools))
    changes = {} if request.settings is None else configured.changes(draft.pool.settings, request.settings)
    if changes:
        draft.record(PoolConfigured(request.pool, changes))


# ---------------------------------------------------------------- instances of an elastic pool


def _provision(draft: PoolDraft, request: Provision) -> None:
    for event in plan_instances(draft.pool, request, draft.now):
        leaving = draft.pool.fleet.instances.get(event.number) if isinstance(event, InstanceGone) else None
        draft.record(event)
        if leaving is not None:
            _forget_agent(draft, leaving.agent_id, leaving.why_leaving)


def _forget_agent(draft: PoolDraft, agent_id: str, reason: str) -> None:
    """The instance of an agent is gone: forgets which slots were disabled, for the next instance of that name."""
    agent = draft.pool.agents.get(agent_id)
    if agent is not None and agent.present:
        _lose_agent(draft, agent, reason)
    if agent is not None and not agent.enabled:
        draft.record(AgentEnabled(agent_id))


def _keep_closed_if_leaving(draft: PoolDraft, agent_id: str) -> None:
    """An agent that joins as its instance is about to end gets no work."""
    instance = draft.pool.fleet.of_agent(agent_id)
    if instance is not None and instance.state in LEAVING and draft.pool.agents[agent_id].enabled:
        draft.record(AgentDisabled(agent_id, drain=True))
