"""One task that is no trial, of whichever kind: from the request of a person to the end of its allocation.

A task has one allocation. When that ends, the task has ended: it is not started again by itself, because a command may
have had effects that must not happen twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.experiment import AgentUser
from resolute.proto.interactive import (
    CreateTask,
    KillTask,
    MarkTaskReady,
    SetTaskPriority,
    TaskCreated,
    TaskEnded,
    TaskIdleNoticed,
    TaskKillRequested,
    TaskKind,
    TaskPriorityChanged,
    TaskReady,
    TaskStarted,
)
from resolute.proto.message import Event, Object
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.queue import WANTED, JobSetting, may_be

State = Enum("State", "ABSENT PENDING RUNNING STOPPING TERMINATED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, TaskCreated): State.PENDING,
    (State.PENDING, TaskStarted): State.RUNNING,
    (State.PENDING, TaskReady): State.PENDING,  # its report may overtake the agent's
    (State.RUNNING, TaskReady): State.RUNNING,
    (State.PENDING, TaskIdleNoticed): State.PENDING,
    (State.RUNNING, TaskIdleNoticed): State.RUNNING,
    (State.PENDING, TaskPriorityChanged): State.PENDING,
    (State.RUNNING, TaskPriorityChanged): State.RUNNING,
    (State.PENDING, TaskKillRequested): State.STOPPING,
    (State.RUNNING, TaskKillRequested): State.STOPPING,
    (State.PENDING, TaskEnded): State.TERMINATED,
    (State.RUNNING, TaskEnded): State.TERMINATED,
    (State.STOPPING, TaskEnded): State.TERMINATED,
}

OPEN = frozenset({State.PENDING, State.RUNNING})
"""The states of a task that nobody has asked to end."""


@dataclass(frozen=True, slots=True)
class NoticeIdle:
    """It is to be said in the task's log that nobody uses it, and that it ends soon."""

    allocation_id: str
    idle_s: float
    left_s: float


Input = (
    NoticeIdle
    | CreateTask
    | KillTask
    | SetTaskPriority
    | MarkTaskReady
    | AllocationStarted
    | AllocationExited
    | JobMoved
)


@dataclass(slots=True)
class Task:
    """Owned by the fold that grows it."""

    state: State = State.ABSENT
    task_id: str = ""
    kind: str = ""
    allocation_id: str = ""
    name: str = ""
    config: Object = field(default_factory=dict)
    owner: str = ""
    workspace_id: int = 0
    pool: str = ""
    slots: int = 0
    priority: int | None = None
    weight: float = 1.0
    agent_user: AgentUser | None = None
    ready: bool = False
    ended: str = ""
    """Why, of a task that has ended."""


def allocation_of(task_id: str) -> str:
    """The id of the task's only allocation."""
    return f"{task_id}.1"


def decide(wish: Input, task: Task, task_id: str) -> list[Event]:
    """A fact about an allocation that is not the task's, or that comes late, has no effect.

    Raises NotFound for commands about a task that does not exist, InvalidConfig, and Refused."""
    match wish:
        case CreateTask():
            return [_created(wish, task_id)] if task.state is State.ABSENT else []
        case KillTask(why=why):
            _check_known(task, task_id)
            return [TaskKillRequested(why)] if task.state in OPEN else []
        case SetTaskPriority(priority=priority):
            return _set_priority(task, task_id, priority)
        case MarkTaskReady(allocation_id=allocation_id):
            _check_known(task, task_id)
            new = task.state in OPEN and not task.ready and allocation_id == task.allocation_id
            return [TaskReady()] if new else []
        case NoticeIdle(allocation_id=allocation_id, idle_s=idle_s, left_s=left_s):
            own = task.state in OPEN and allocation_id == task.allocation_id
            return [TaskIdleNoticed(allocation_id, idle_s, left_s)] if own else []
        case JobMoved(priority=priority):
            return [TaskPriorityChanged(priority)] if task.state in OPEN and priority != task.priority else []
        case AllocationStarted(allocation_id=allocation_id):
            own = task.state is State.PENDING and allocation_id == task.allocation_id
            return [TaskStarted()] if own else []
        case AllocationExited(allocation_id=allocation_id, outcome=outcome, exit_code=exit_code, reason=reason):
            over = task.state in (State.ABSENT, State.TERMINATED) or allocation_id != task.allocation_id
            return [] if over else [TaskEnded(outcome, exit_code, reason)]


def _created(wish: CreateTask, task_id: str) -> TaskCreated:
    if wish.kind not in tuple(TaskKind):
        raise InvalidConfig(f"kind: expected one of {', '.join(TaskKind)}; found {wish.kind!r}")
    if wish.slots < 0:
        raise InvalidConfig(f"resources.slots: expected 0 or more; found {wish.slots}")
    if wish.idle_timeout_s is not None and not wish.idle_timeout_s > 0:
        raise InvalidConfig(f"idle_timeout: expected more than 0 s; found {wish.idle_timeout_s:g} s")
    if wish.priority is not None:
        _check_priority("resources.priority", wish.priority)
    return TaskCreated(
        task_id=task_id,
        kind=wish.kind,
        allocation_id=allocation_of(task_id),
        name=wish.name,
        config=wish.config,
        owner_id=wish.owner_id,
        owner=wish.owner,
        workspace_id=wish.workspace_id,
        pool=wish.pool,
        slots=wish.slots,
        priority=wish.priority,
        weight=wish.weight,
        context=wish.context,
        agent_user=wish.agent_user,
        idle_timeout_s=wish.idle_timeout_s,
    )


def _set_priority(task: Task, task_id: str, priority: int) -> list[Event]:
    _check_known(task, task_id)
    _check_priority("priority", priority)
    if task.state not in OPEN:
        raise refuse(f"set the priority of task {task_id}", f"it is {task.state.name}", "start another task")
    return [] if priority == task.priority else [TaskPriorityChanged(priority)]


def _check_priority(where: str, priority: int) -> None:
    if not may_be(JobSetting.PRIORITY, priority):
        raise InvalidConfig(f"{where}: expected {WANTED[JobSetting.PRIORITY]}; found {priority!r}")


def _check_known(task: Task, task_id: str) -> None:
    if task.state is State.ABSENT:
        raise NotFound(f"task {task_id} not found")


def evolve(task: Task, event: Event) -> Task:
    task.state = FLOW[task.state, type(event)]
    match event:
        case TaskCreated():
            task.task_id, task.kind, task.allocation_id = event.task_id, event.kind, event.allocation_id
            task.name, task.config = event.name, event.config
            task.owner, task.workspace_id, task.agent_user = event.owner, event.workspace_id, event.agent_user
            task.pool, task.slots, task.priority, task.weight = event.pool, event.slots, event.priority, event.weight
        case TaskPriorityChanged(priority=priority):
            task.priority = priority
        case TaskReady():
            task.ready = True
        case TaskEnded(reason=reason):
            task.ended = reason
    return task
