"""The requests of `tasks` to the scheduler after its own events, and what runs in a task's allocation."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from resolute.proto import streams
from resolute.proto.errors import refuse
from resolute.proto.interactive import TaskCreated, TaskKillRequested, TaskKind, TaskPriorityChanged
from resolute.proto.message import Command, Event, Recorded
from resolute.proto.needs import needs_of, variables_of
from resolute.proto.owners import TASKS
from resolute.proto.pool import (
    AllocationExited,
    AllocationStarted,
    ChangeJob,
    JobMoved,
    KillAllocation,
    RequestAllocation,
)
from resolute.proto.queue import JobSetting
from resolute.proto.tasks import ServicePort, TaskSpec
from resolute.tasks.task import OPEN, State, Task

PREEMPTION_TIMEOUT_S = 0
"""No policy asks a task to give its slots back, so that there is nothing to wait for."""

SERVICES: Mapping[str, ServicePort] = {
    TaskKind.NOTEBOOK: ServicePort("NOTEBOOK_PORT", 2900, 3198),
    TaskKind.SHELL: ServicePort("SHELL_PORT", 3200, 3498, tcp=True),
}
"""Where kinds of tasks serve people, by kind."""

_ALLOCATION = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.\d+")


def task_of(allocation_id: str) -> str | None:
    """The id of the task; None for an allocation of a trial."""
    found = _ALLOCATION.fullmatch(allocation_id)
    return found[1] if found else None


def concerned(event: Event) -> str | None:
    """The id of the task that a fact of a pool is about; None where it is about a trial, or about no task."""
    match event:
        case AllocationStarted(allocation_id=allocation_id) | AllocationExited(allocation_id=allocation_id):
            return task_of(allocation_id)
        case JobMoved(job_id=job_id, experiment_id=None):
            return task_of(f"{job_id}.1")
    return None


def about(recorded: Recorded) -> Hashable | None:
    """Reactions about different tasks may run at once. None: after all before, and before all that follow."""
    if recorded.category == streams.TASK.name:
        return recorded.key
    if recorded.category == streams.POOL.name:
        return concerned(recorded.event) or recorded.id
    return None if recorded.category == streams.WORKSPACE.name else recorded.id


def request_for(event: Event, task: Task) -> Command | None:
    """`task` may have moved on since `event`."""
    match event:
        case TaskCreated():
            return _allocation(task)
        case TaskKillRequested(why=why):
            return KillAllocation(task.pool, task.allocation_id, why)
        case TaskPriorityChanged() if task.state in OPEN:
            # The present value: a request that is sent again must not undo a later one.
            return ChangeJob(task.pool, task.task_id, {JobSetting.PRIORITY.value: task.priority})
    return None


def _allocation(task: Task) -> RequestAllocation:
    return RequestAllocation(
        pool=task.pool,
        allocation_id=task.allocation_id,
        task_id=task.task_id,
        task_type=task.kind,
        job_id=task.task_id,
        name=task.name,
        owner=task.owner,
        slots=task.slots,
        priority=task.priority,
        weight=task.weight,
        max_slots=None,
        preemption_timeout_s=PREEMPTION_TIMEOUT_S,
        single_agent=True,
        preemptible=False,
        task_owner=TASKS.service.value,
    )


def describe(task: Task, allocation_id: str) -> TaskSpec:
    """What runs in the allocation. Raises Refused for a task that is to run no more."""
    if task.allocation_id != allocation_id or task.state not in OPEN:
        state = "not known" if task.state is State.ABSENT else task.state.name
        raise refuse(f"describe the task of allocation {allocation_id}", f"it is {state}", "start another task")
    return TaskSpec(
        task_id=task.task_id,
        task_type=task.kind,
        allocation_id=task.allocation_id,
        experiment_id=None,
        trial_id=None,
        run_id=1,
        owner=task.owner,
        config={**task.config, "entrypoint": entrypoint(task)},
        hparams={},
        seed=0,
        steps_completed=0,
        checkpoint=None,
        environment=variables_of(task.config),
        agent_user=task.agent_user,
        needs=needs_of(task.config),
        service=SERVICES.get(task.kind),
    )


def entrypoint(task: Task) -> list[str]:
    """The words of the program. A command of a single word is a line for the shell."""
    words = [str(word) for word in task.config.get("entrypoint") or ()]
    if task.kind == TaskKind.COMMAND and len(words) == 1:
        return ["/bin/sh", "-c", *words]
    return words
