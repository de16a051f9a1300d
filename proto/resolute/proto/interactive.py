"""Tasks that are no trials: commands today; notebooks, shells, TensorBoards and generic tasks are further kinds.

Each task is a stream, `task-<id>`, of the service `tasks`. What kind it is stands in its first event. A job in the
queue is one task, and has the task's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.experiment import AgentUser
from resolute.proto.message import Command, Event, Object


class TaskKind(StrEnum):
    """As `TaskSpec.task_type` has it, and the wire behind `TASK_TYPE_`."""

    COMMAND = "COMMAND"
    NOTEBOOK = "NOTEBOOK"
    SHELL = "SHELL"


class TaskEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.TASK.name


class TaskCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "tasks"


@dataclass(frozen=True, slots=True)
class TaskCreated(TaskEvent):
    sentence: ClassVar[str] = "{owner} started {name} ({kind}) in pool {pool}"
    task_id: str
    kind: str
    """One of TaskKind."""
    allocation_id: str
    name: str
    config: Object
    """The merged configuration. Its secrets are sealed."""
    owner_id: int
    owner: str
    workspace_id: int
    pool: str
    slots: int
    priority: int | None
    """None for the pool's default."""
    weight: float
    context: str | None = None
    """The address at which the archive of the context directory is stored; None where there is none."""
    agent_user: AgentUser | None = None
    idle_timeout_s: float | None = None
    """For how long nobody may use it before it is ended; None for ever."""


@dataclass(frozen=True, slots=True)
class TaskStarted(TaskEvent):
    sentence: ClassVar[str] = "the task runs"


@dataclass(frozen=True, slots=True)
class TaskReady(TaskEvent):
    """What runs in it has said that it serves people. A command never says so."""

    sentence: ClassVar[str] = "the task is ready"


@dataclass(frozen=True, slots=True)
class TaskIdleNoticed(TaskEvent):
    """Nobody has used it for so long that it is about to be ended. Its log says so."""

    sentence: ClassVar[str] = "nobody has used the task for {idle_s} s; it ends in {left_s} s unless somebody does"
    allocation_id: str
    idle_s: float
    left_s: float


@dataclass(frozen=True, slots=True)
class TaskPriorityChanged(TaskEvent):
    sentence: ClassVar[str] = "the task's priority became {priority}"
    priority: int


@dataclass(frozen=True, slots=True)
class TaskKillRequested(TaskEvent):
    sentence: ClassVar[str] = "the task is to be killed: {why}"
    why: str


@dataclass(frozen=True, slots=True)
class TaskEnded(TaskEvent):
    sentence: ClassVar[str] = "the task ended ({outcome}, exit code {exit_code}): {reason}"
    outcome: str
    """One of `AllocationOutcome`: how its allocation ended."""
    exit_code: int | None
    """None where the task did not run, or nobody saw it end."""
    reason: str


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateTask(TaskCommand):
    """The reply's data has the `task_id`. The same command, sent again, makes no second task."""

    kind: str
    name: str
    config: Object
    owner_id: int
    owner: str
    workspace_id: int
    pool: str
    slots: int
    priority: int | None
    weight: float
    context: str | None = None
    agent_user: AgentUser | None = None
    idle_timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class KillTask(TaskCommand):
    task_id: str
    why: str


@dataclass(frozen=True, slots=True)
class SetTaskPriority(TaskCommand):
    task_id: str
    priority: int


@dataclass(frozen=True, slots=True)
class MarkTaskReady(TaskCommand):
    """Of the task itself. One that comes twice, or that is about an allocation of before, has no effect."""

    task_id: str
    allocation_id: str
