"""The shell of `tasks`: it handles commands and facts, appends decisions, and sends requests to the scheduler."""

from __future__ import annotations

import asyncio
from uuid import NAMESPACE_URL, uuid5

import orjson

from resolute.eventlog import Appended, Sought
from resolute.proto import streams
from resolute.proto.errors import Failed, NotFound, Refused, ResoluteError, Unavailable
from resolute.proto.interactive import (
    CreateTask,
    KillTask,
    MarkTaskReady,
    SetTaskPriority,
    TaskCreated,
    TaskEnded,
    TaskEvent,
    TaskKillRequested,
)
from resolute.proto.message import Cause, Command, Event, Recorded, Reply
from resolute.proto.owners import TASKS
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.spaces import WorkspaceDeletionRequested
from resolute.proto.states import AllocationOutcome
from resolute.proto.tasks import DescribeTask, TaskDescription
from resolute.service import Aggregates, Context, Follower, Question, Reactions, serve_commands
from resolute.tasks.reactions import about, concerned, describe, request_for
from resolute.tasks.task import Input, Task, decide, evolve

NAME = "tasks"
PAGE = 5_000


async def serve(context: Context) -> None:
    """Serve until cancelled. Replicas may run beside this one: the log's expected versions keep them in agreement."""
    tasks = Tasks(context)
    described = Question(TASKS.subject, DescribeTask, tasks.describe, lambda question: question.allocation_id)
    subscription = await serve_commands(context, NAME, tasks.handle, questions=(described,))
    reactions = Reactions(NAME, context.log, tasks.react, about, attempt_lock=context.attempt_lock)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(Follower(reactions, context.log, context.bus).run())
            context.on_ready(NAME)
    finally:
        await subscription.close()


class Tasks:
    def __init__(self, context: Context) -> None:
        self._log, self._bus = context.log, context.bus
        self._tasks = Aggregates(context.log, Task, evolve)

    async def handle(self, command: Command, cause: Cause) -> Reply:
        match command:
            case CreateTask():
                task_id = task_id_for(cause)
                outcome = await self._execute(task_id, command, cause)
                return Reply(outcome.position, {"task_id": task_id})
            case KillTask(task_id=task_id) | SetTaskPriority(task_id=task_id) | MarkTaskReady(task_id=task_id):
                return Reply((await self._execute(task_id, command, cause)).position)
        raise NotFound(f"the service {NAME} does not decide {type(command).__name__}")

    async def describe(self, question: DescribeTask) -> TaskDescription:
        """What to run in an allocation of a task, or why nothing is to run there."""
        task = await self._tasks.state(_stream(question.task_id))
        try:
            return TaskDescription(describe(task, question.allocation_id))
        except Refused as error:
            return TaskDescription(refusal=error.message)

    async def react(self, recorded: Recorded) -> None:
        """Handles one event: an own one that the scheduler needs to know, or a fact about a task's allocation or job,
        or the deletion of a workspace."""
        event, cause = recorded.event, recorded.cause_of_reactions
        if isinstance(event, TaskEvent):
            await self._ask_scheduler(recorded, cause)
        elif isinstance(event, WorkspaceDeletionRequested):
            await self._end_tasks_in(event.workspace_id, cause)
        elif isinstance(event, AllocationStarted | AllocationExited | JobMoved) and (task_id := concerned(event)):
            await self._execute(task_id, event, cause.then("note"))

    async def _ask_scheduler(self, recorded: Recorded, cause: Cause) -> None:
        task = await self._tasks.state(recorded.stream, at_least=recorded.version)
        request = request_for(recorded.event, task)
        if request is None:
            return
        try:
            await self._bus.request(request, cause.then("request"))
        except (Unavailable, Failed):
            raise
        except ResoluteError as error:  # a refusal, which another request would get as well
            outcome = _without_an_allocation(recorded.event, error)
            if outcome is not None:
                exited = AllocationExited(task.allocation_id, outcome, None, error.message, task.task_id, None, None)
                await self._execute(task.task_id, exited, cause.then(outcome))
            elif not isinstance(error, NotFound):
                raise

    async def _end_tasks_in(self, workspace_id: int, cause: Cause) -> None:
        why = f"workspace {workspace_id} is being deleted"
        for task_id in sorted(await self._open_in(workspace_id)):
            await self._execute(task_id, KillTask(task_id, why), cause.then(f"kill/{task_id}"))

    async def _open_in(self, workspace_id: int) -> set[str]:
        """The tasks of the workspace that have not ended. The whole log is walked, which is rare enough."""
        types = (TaskCreated.__name__, TaskEnded.__name__)
        found: set[str] = set()
        position = 0
        while rows := await self._log.find(Sought(after=position, types=types), PAGE):
            for row in rows:
                task_id = streams.key_of(row.stream)
                if row.type == TaskEnded.__name__:
                    found.discard(task_id)
                elif orjson.loads(row.data).get("workspace_id") == workspace_id:
                    found.add(task_id)
            position = rows[-1].position
        return found

    async def _execute(self, task_id: str, wish: Input, cause: Cause) -> Appended:
        return await self._tasks.execute(_stream(task_id), lambda task: decide(wish, task, task_id), cause)


def task_id_for(cause: Cause) -> str:
    """The same for a command that is sent again."""
    return str(uuid5(NAMESPACE_URL, f"task/{cause.id}"))


def _without_an_allocation(event: Event, error: ResoluteError) -> AllocationOutcome | None:
    """How the task ends, where the scheduler's answer means that its allocation will never report an end."""
    match event:
        case TaskCreated():
            return AllocationOutcome.REFUSED
        case TaskKillRequested() if isinstance(error, NotFound):
            return AllocationOutcome.KILLED
    return None


def _stream(task_id: str) -> str:
    return streams.TASK.stream(task_id)
