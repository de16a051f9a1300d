"""Resource pools: agents, slots and allocations: the messages of the scheduler and of the agents.

A pool, its agents and the allocations in it are one stream, `pool-default`: that is the fence which keeps a slot
from being held twice, however many schedulers run (docs/decisions/0003).
An allocation is asked for, given slots, started, and exits; a task may have many, one after another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, TypedDict

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object
from resolute.proto.tasks import TaskSpec


class PoolEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.POOL.name


class SchedulerCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "scheduler"


@dataclass(frozen=True, slots=True)
class Slot:
    """One unit of compute on an agent."""

    id: int
    kind: str
    """cuda, rocm, cpu or artificial."""
    brand: str = ""
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """The share of an allocation on one agent: there it is one container, or one process."""

    resources_id: str
    """A UUID; also the container's id."""
    agent_id: str
    slot_ids: tuple[int, ...]


# ---------------------------------------------------------------- events: the pool itself


@dataclass(frozen=True, slots=True)
class PoolRemoved(PoolEvent):
    """The configuration that a scheduler started with does not name the pool any more.

    The pool keeps what it gave: its allocations may go on and end. It gives no slots until it is restored.
    """

    pool: str
    pools: tuple[str, ...]
    """Those that the configuration does name."""


@dataclass(frozen=True, slots=True)
class PoolRestored(PoolEvent):
    """A scheduler started with a configuration that names the pool again."""

    pool: str


UNRECORDED: Object = {
    "agent_reconnect_wait": 25.0,
    "max_aux_containers_per_agent": 100,
    "scheduler.type": "priority",
    "scheduler.preemption": False,
    "scheduler.default_priority": 42,
    "scheduler.fitting_policy": "best",
    "scheduler.allow_heterogeneous_fits": False,
    "scheduler.fair_share_groups": "experiment",
}
"""What counts for a pool as long as its stream says nothing else. It never changes: where a later release has other
defaults, its scheduler records them."""


@dataclass(frozen=True, slots=True)
class PoolConfigured(PoolEvent):
    """A scheduler started with a configuration that says other settings of the pool than were recorded.

    Until the first such event a pool has the settings that are `UNRECORDED`.
    """

    pool: str
    changes: Object
    """The new values by name, as `scheduler.type` or `provider.max_instances`; null for what is configured no more."""


# ---------------------------------------------------------------- events: agents


@dataclass(frozen=True, slots=True)
class AgentJoined(PoolEvent):
    """An agent is there, for the first time, anew after it was lost, or with other slots than before."""

    agent_id: str
    slots: tuple[Slot, ...]
    host: str
    version: str


@dataclass(frozen=True, slots=True)
class AgentLost(PoolEvent):
    """Silent for longer than the pool's agent_reconnect_wait, or now in another pool; its slots are gone."""

    agent_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class AgentEnabled(PoolEvent):
    agent_id: str


@dataclass(frozen=True, slots=True)
class AgentDisabled(PoolEvent):
    agent_id: str
    drain: bool
    """Whether running work may end by itself."""


@dataclass(frozen=True, slots=True)
class SlotEnabled(PoolEvent):
    agent_id: str
    slot_id: int


@dataclass(frozen=True, slots=True)
class SlotDisabled(PoolEvent):
    agent_id: str
    slot_id: int
    drain: bool


# ---------------------------------------------------------------- events: allocations


@dataclass(frozen=True, slots=True)
class AllocationRequested(PoolEvent):
    allocation_id: str
    task_id: str
    task_type: str
    job_id: str
    name: str
    owner: str
    slots: int
    priority: int
    weight: float
    max_slots: int | None
    """The most slots the whole job may hold at once."""
    preemption_timeout_s: int
    experiment_id: int | None = None
    trial_id: int | None = None
    single_agent: bool = False
    blocked_agents: tuple[str, ...] = ()
    """Agents it must not be placed on."""
    slots_min: int | None = None
    """Where it takes any number of slots from this up to `slots`."""
    preemptible: bool = True
    """Whether it may be asked to make room for others, as a notebook may not."""
    task_owner: str = ""
    """The service that asked for it, by its name in `resolute.proto.owners`: it says what runs in the allocation. Empty
    where a release before there were owners asked; `owner` is the person."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A job and slots of its own."""

    job_id: str
    slots: int


@dataclass(frozen=True, slots=True)
class AllocationHeldBack(PoolEvent):
    """The pool as it is known could not hold it even when idle; it waits for other agents, and no other
    allocation waits behind it.

    The next AllocationWaits or SlotsAssigned of the allocation withdraws it.
    """

    allocation_id: str
    reason: str
    line: str = ""
    """See AllocationWaits."""


@dataclass(frozen=True, slots=True)
class AllocationWaits(PoolEvent):
    """Why an allocation waits: recorded when it is queued, and whenever its own reason changes.

    Allocations further back have the rule in_line until they are first. What all of them wait for is the latest reason
    of the first; `resolute.eventlog.waiting` finds out which that is.
    """

    allocation_id: str
    rule: str
    """in_line (others come first), busy (first in line, its slots are held), whole_agents (slots enough are free, but
    not on agents that are free altogether), max_slots (of its own job), fair_share (its job has its share),
    making_room (slots are being given back for it), starting (first in line, and instances are on their way),
    suspended (first in line, and too many instances in a row could not be started), no_pool (the configuration of the
    cluster does not name its pool; recorded for everything that waits there)."""
    reason: str
    """In a sentence, which stays true for as long as the rule holds it."""
    since: datetime
    slots_needed: int
    slots_free: int
    """In the pool, wherever they are."""
    jobs_ahead: int = 0
    """Jobs that come first, at the time of writing."""
    ahead: tuple[str, ...] = ()
    """The first few of them."""
    holders: tuple[Holder, ...] = ()
    """Who holds the slots it waits for: those who hold most, the first few."""
    line: str = ""
    """The kind of demand: those who ask for the same wait in one line."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What being given slots means for a group's later claims, where a pool is divided fairly between groups."""

    clock: str
    """Where the clock of the division stands then: a whole number of up to some forty digits, as text."""
    secure_until: int
    """The group is not brought below its share before the pool has given so many slots."""


@dataclass(frozen=True, slots=True)
class SlotsAssigned(PoolEvent):
    allocation_id: str
    placements: tuple[Placement, ...]
    reason: str
    rule: str = ""
    """fifo, priority, fair_share; zero_slots where no slots were needed."""
    turn: Turn | None = None
    """In the division between jobs. None where no slots were needed, and in events of releases that recorded none."""
    user_turn: Turn | None = None
    """The same in the division between users."""


@dataclass(frozen=True, slots=True)
class ResourcesStarted(PoolEvent):
    """One agent's share of an allocation runs; `address` is where its peers can reach it."""

    allocation_id: str
    resources_id: str
    address: str


@dataclass(frozen=True, slots=True)
class AllocationStarted(PoolEvent):
    """All of its shares run."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class PreemptionRequested(PoolEvent):
    allocation_id: str
    reason: str
    deadline_at: datetime
    """After this it is killed."""
    rule: str = ""
    """priority or fair_share: the policy asked; max_slots: its job's limit was lowered; empty where a person or the
    searcher asked."""
    for_allocation: str | None = None
    """Whom a policy makes room for."""
    room_on: tuple[str, ...] = ()
    """The agents on which it is made: what is free there, and what becomes free, is kept for it."""
    room_slots: int | None = None
    """For how many slots. None where no room is made, and in events of releases that recorded none."""
    still_owed: bool | None = None
    """Whether the group that has to give was given these slots so lately that it is still owed them. None where the
    slots are not wanted for others, and in events of releases that recorded none."""


@dataclass(frozen=True, slots=True)
class PreemptionAcknowledged(PoolEvent):
    allocation_id: str


@dataclass(frozen=True, slots=True)
class AllocationKillRequested(PoolEvent):
    allocation_id: str
    reason: str
    overdue: bool = False
    """Not anybody's wish: it had been asked to give its slots back, and its deadline passed."""


@dataclass(frozen=True, slots=True)
class ResourcesServeOthers(PoolEvent):
    """One share only serves the others, such as a server that ranks are started through. It is stopped when all shares
    that do not serve others have exited, and its exit code then says nothing."""

    allocation_id: str
    resources_id: str


@dataclass(frozen=True, slots=True)
class ResourcesExited(PoolEvent):
    allocation_id: str
    resources_id: str
    exit_code: int | None
    reason: str
    hopeless: bool = False
    """See TaskReport."""


@dataclass(frozen=True, slots=True)
class AllocationExited(PoolEvent):
    """The last of it is gone and its slots are free. An allocation that waited may exit without ever starting."""

    allocation_id: str
    outcome: str
    """exited (exit_code tells how), yielded (gave its slots back because a preemption asked for them: by a clean
    exit after acknowledging it, while it still waited, or by force after the deadline), killed (as asked), lost
    (its host went away), refused (can never fit)."""
    exit_code: int | None
    reason: str
    task_id: str
    experiment_id: int | None
    trial_id: int | None
    hopeless: bool = False
    """Whether it never ran, and would not if it were tried again."""


@dataclass(frozen=True, slots=True)
class JobChanged(PoolEvent):
    """New queue settings for all allocations of a job, present and future, by field: priority, weight,
    max_slots."""

    job_id: str
    changes: Object


@dataclass(frozen=True, slots=True)
class JobMoved(PoolEvent):
    """A job has another place in the queue, next to `neighbour`."""

    job_id: str
    neighbour: str
    side: str
    """ahead or behind (of the neighbour)."""
    position: str
    """An exact decimal number: among equal priorities the queue goes by it. Others have that of their arrival."""
    priority: int
    """That of the neighbour, which the job adopts."""
    experiment_id: int | None = None
    """See JobReference. None in events of releases that recorded none."""
    priority_before: int | None = None
    """The priority that the job had. None in events of releases that recorded none."""


NUMBERED = (AllocationRequested, SlotsAssigned)
"""Events that each take the next number of the pool's queue: 1, 2, 3 …. A job's position is the number of its first
request, until it is moved; see `resolute.proto.queue.OrderKey`."""


# ---------------------------------------------------------------- events: instances of an elastic pool


@dataclass(frozen=True, slots=True)
class InstanceRequested(PoolEvent):
    """A machine is to be started. Its name is made of its number, so that starting it twice starts it once."""

    number: int
    """1, 2, 3 … within the pool, never used again."""
    name: str
    agent_id: str
    """The agent that will join from it. An id is used again once the instance that had it is gone."""
    slots: int
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class InstanceStarted(PoolEvent):
    """The provider has it; its agent has yet to join."""

    number: int
    instance_id: str
    """What the provider calls it."""
    at: datetime


@dataclass(frozen=True, slots=True)
class InstanceIdled(PoolEvent):
    """Nothing runs on it; it is idle from now on, until something is placed on it."""

    number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class InstanceDrainRequested(PoolEvent):
    """It takes no more work, and stops when what runs on it has ended."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class InstanceStopRequested(PoolEvent):
    """It holds no work, and is to be ended."""

    number: int
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class InstanceGone(PoolEvent):
    """Nothing of it runs any more."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProvisioningFailed(PoolEvent):
    """An instance could not be started, or did not join in time; the next one is not tried before `retry_at`."""

    number: int
    reason: str
    at: datetime
    failures: int
    """In a row; an instance that joins ends the row."""
    retry_at: datetime
    suspended: bool
    """Too many in a row: the next try is one instance alone, and the others wait for it to join."""


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class RequestAllocation(SchedulerCommand):
    pool: str
    allocation_id: str
    task_id: str
    task_type: str
    job_id: str
    name: str
    owner: str
    slots: int
    priority: int | None
    weight: float
    max_slots: int | None
    preemption_timeout_s: int
    experiment_id: int | None = None
    trial_id: int | None = None
    single_agent: bool = False
    blocked_agents: tuple[str, ...] = ()
    slots_min: int | None = None
    """Where any number of slots from this up to `slots` will do."""
    preemptible: bool = True
    """Whether it may be asked to make room for others, as a notebook may not."""
    task_owner: str = ""
    """The service that asked for it, by its name in `resolute.proto.owners`: it says what runs in the allocation. Empty
    where a release before there were owners asked; `owner` is the person."""


class TaskReference(TypedDict):
    """The numbers by which the owner of a task knows it. They come with the request for an allocation; others pass them
    on as they are, with every event from which the owner has to recognise the task."""

    experiment_id: int | None
    trial_id: int | None


def reference_in(message: RequestAllocation | AllocationRequested) -> TaskReference:
    """The reference that the owner gave with its request."""
    return TaskReference(experiment_id=message.experiment_id, trial_id=message.trial_id)


class JobReference(TypedDict):
    """The number by which the owner of a job's tasks knows the job."""

    experiment_id: int | None


def job_reference_in(message: RequestAllocation | AllocationRequested) -> JobReference:
    """The reference to its job, of what the owner gave with its request."""
    return JobReference(experiment_id=message.experiment_id)


@dataclass(frozen=True, slots=True)
class PreemptAllocation(SchedulerCommand):
    pool: str
    allocation_id: str
    reason: str
    deadline_at: datetime | None = None
    """Left out, the deadline is the allocation's own preemption timeout from now."""


@dataclass(frozen=True, slots=True)
class AcknowledgePreemption(SchedulerCommand):
    pool: str
    allocation_id: str


@dataclass(frozen=True, slots=True)
class MarkServing(SchedulerCommand):
    """See ResourcesServeOthers."""

    pool: str
    allocation_id: str
    resources_id: str


@dataclass(frozen=True, slots=True)
class KillAllocation(SchedulerCommand):
    pool: str
    allocation_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangeJob(SchedulerCommand):
    pool: str
    job_id: str
    changes: Object


@dataclass(frozen=True, slots=True)
class MoveJob(SchedulerCommand):
    """Move a waiting job next to another one of the same pool: exactly one of `ahead_of` and `behind_of` is given."""

    pool: str
    job_id: str
    ahead_of: str | None = None
    behind_of: str | None = None


@dataclass(frozen=True, slots=True)
class CheckFit(SchedulerCommand):
    """Ask whether the pool could hold this, were it idle; nothing is written. The reply's data is a Fit, as JSON."""

    pool: str
    slots: int
    single_agent: bool = False
    blocked_agents: tuple[str, ...] = ()
    slots_min: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    fits: bool
    why: str = ""
    """Why not; or, where it fits, what speaks for caution: no agent has joined yet."""
    would_fit: str = ""
    """What would fit instead."""


@dataclass(frozen=True, slots=True)
class EnableAgent(SchedulerCommand):
    pool: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class DisableAgent(SchedulerCommand):
    pool: str
    agent_id: str
    drain: bool = False


@dataclass(frozen=True, slots=True)
class EnableSlot(SchedulerCommand):
    pool: str
    agent_id: str
    slot_id: int


@dataclass(frozen=True, slots=True)
class DisableSlot(SchedulerCommand):
    pool: str
    agent_id: str
    slot_id: int
    drain: bool = False


# ---------------------------------------------------------------- the conversation with one agent
#
# resolute.agent.<agent>.hello      agent -> scheduler   AgentHello, answered by AgentOrders
# resolute.agent.<agent>.heartbeat  agent -> scheduler   AgentHeartbeat, no answer
# resolute.agent.<agent>.report     agent -> scheduler   TaskReport, answered by a Reply when it is in the log
# resolute.agent.<agent>.logs       agent -> api         LogBatch, answered by LogsStored when it is durable
# resolute.agent.<agent>.secrets    agent -> api         OpenSecrets, answered by SecretsOpened, a box for this agent
# resolute.agent.<agent>.orders     scheduler -> agent   AgentOrders, no answer: hello heals what was lost


@dataclass(frozen=True, slots=True)
class AgentHello:
    """The agent is there, with these slots, and these tasks are alive on it (allocation ids).

    Sent on start, on every reconnection, and every few seconds: it is also the question "what should I be
    doing?", so that an order lost on the way is only late.
    """

    agent_id: str
    pool: str
    slots: tuple[Slot, ...]
    host: str
    version: str
    running: tuple[str, ...]
    """resources_ids of tasks that are alive, or whose exit is not yet acknowledged."""


@dataclass(frozen=True, slots=True)
class AgentHeartbeat:
    agent_id: str
    pool: str


@dataclass(frozen=True, slots=True)
class StartTask:
    """One share of an allocation for this agent. `token` opens only this task's routes of the gateway."""

    placement: Placement
    spec: TaskSpec
    token: str
    rank: int
    """Of this share among the allocation's shares."""
    shares: int
    started: bool = False
    """It was reported as started before: an agent that no longer has it reports it as lost, and starts nothing."""
    traceparent: str | None = None
    """The trace of who asked for the allocation, for the task to continue."""


@dataclass(frozen=True, slots=True)
class StopTask:
    resources_id: str
    reason: str
    allocation_id: str = ""
    """Whose share it is: an agent that does not have the task needs it to report the exit."""
    peer_failed: bool = False
    """Another share of its gang has failed, so that this one is about to end by itself: the agent asks it to end only
    when it has not done so within the agent's `grace_s`."""


@dataclass(frozen=True, slots=True)
class AgentOrders:
    """What the agent should do now.

    `complete` says that `start` and `keep` list every task that should run on the agent: one that was alive when
    the agent asked and is not listed is stopped. A task to stop that the agent does not have is reported as exited.
    """

    start: tuple[StartTask, ...] = ()
    stop: tuple[StopTask, ...] = ()
    keep: tuple[str, ...] = ()
    """resources_ids that the agent said are alive, and that shall stay so."""
    complete: bool = False


@dataclass(frozen=True, slots=True)
class TaskReport:
    """News of one share: `started` with the address its peers reach it at, or `exited` with a code."""

    agent_id: str
    pool: str
    """That of the allocation: the agent may have moved to another one since."""
    allocation_id: str
    resources_id: str
    what: str
    """started or exited."""
    address: str = ""
    exit_code: int | None = None
    reason: str = ""
    hopeless: bool = False
    """Whether it never ran, for a reason that trying again cannot mend: there is no such image, a mount that is not
    allowed."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a task's output. (task_id, rank, sequence) is unique, so that sending it twice stores it once.

    Every run and every share of a task counts its own lines, so `sequence` is made of all three: see
    `resolute.agent.log_lines.sequence`.
    """

    task_id: str
    allocation_id: str
    rank: int
    sequence: int
    at: datetime
    level: str
    """TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL."""
    stdtype: str
    text: str
    """Without its newline."""
    agent_id: str = ""
    container_id: str = ""
    source: str = "task"


@dataclass(frozen=True, slots=True)
class LogBatch:
    lines: tuple[LogLine, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class OpenSecrets:
    """Ask for the secrets of a task's configuration, which its StartTask carries sealed."""

    token: str
    """The task's, from its StartTask."""
    public_key: str
    """What the answer is sealed to: made up by the agent for this one answer."""


@dataclass(frozen=True, slots=True)
class SecretsOpened:
    """The answer to OpenSecrets: a box that the asking agent alone can open."""

    sender: str
    """The public key of whoever filled the box."""
    box: str
    """A JSON object: what stands behind each sealed value, by that value."""


@dataclass(frozen=True, slots=True)
class LogsStored:
    """The answer to a LogBatch: its lines are durable, or were before; the agent may forget them."""

    count: int
