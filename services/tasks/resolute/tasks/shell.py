"""The shell of `tasks`: it handles commands and facts, appends decisions, and sends requests to the scheduler."""

from __future__ import annotations

import asyncio
from uuid import NAMESPACE_URL, uuid4, uuid5

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
    TaskReady,
)
from resolute.proto.message import Cause, Command, Event, Recorded, Reply
from resolute.proto.owners import TASKS
from resolute.proto.pool import AllocationExited, AllocationStarted, JobMoved
from resolute.proto.proxy import TASK_USED, TaskUsed
from resolute.proto.spaces import WorkspaceDeletionRequested
from resolute.proto.states import AllocationOutcome
from resolute.proto.tasks import DescribeTask, TaskDescription
from resolute.service import Aggregates, Context, Follower, Patience, Question, Reactions, serve_commands
from resolute.tasks.idle import IdleWatch, Notice, Over, span
from resolute.tasks.reactions import about, concerned, describe, request_for
from resolute.tasks.task import Input, NoticeIdle, Task, allocation_of, decide, evolve

NAME = "tasks"
PAGE = 5_000
LOOK_EVERY_S = 5.0
"""How often tasks that may be idle for a limited time are looked at."""


async def serve(context: Context) -> None:
    """Serve until cancelled. Replicas may run beside this one: the log's expected versions keep them in agreement."""
    tasks = Tasks(context)
    described = Question(TASKS.subject, DescribeTask, tasks.describe, lambda question: question.allocation_id)
    watch = IdleWatch()
    heard = await context.bus.listen(TASK_USED, TaskUsed, lambda used: _note_use(watch, used))
    subscription = await serve_commands(context, NAME, tasks.handle, questions=(described,))
    reactions = Reactions(NAME, context.log, tasks.react, about, attempt_lock=context.attempt_lock)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(tasks.end_idle(watch))
            group.create_task(Follower(reactions, context.log, context.bus).run())
            context.on_ready(NAME)
    finally:
        await heard.close()
        await subscription.close()


def _now() -> float:
    """Seconds on the clock of the event loop, which never goes back."""
    return asyncio.get_running_loop().time()


async def _note_use(watch: IdleWatch, used: TaskUsed) -> None:
    watch.used(used.task_id, _now())


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

    # ---------------------------------------------------------------- tasks that nobody uses

    async def end_idle(self, watch: IdleWatch) -> None:
        """Until cancelled. Every replica does so: an end that two of them ask for happens once."""
        limits: dict[str, float] = {}
        """For how long tasks that have not said that they are ready may be idle afterwards."""
        position, patience = 0, Patience()
        while True:
            try:
                position = await self._look_for_ready(watch, limits, position)
                for due in watch.due(_now()):
                    await self._settle(due)
            except ResoluteError as error:
                await patience.wait(f"{NAME}: the end of what nobody uses", error)
            else:
                patience = Patience()
                await asyncio.sleep(LOOK_EVERY_S)

    async def _look_for_ready(self, watch: IdleWatch, limits: dict[str, float], position: int) -> int:
        """Takes in what happened after `position`. Answers up to where the log was read."""
        head = await self._log.head()
        while rows := await self._log.find(Sought(after=position, types=_OF_IDLENESS), PAGE):
            for row in rows:
                task_id, data = streams.key_of(row.stream), orjson.loads(row.data)
                if row.type == TaskCreated.__name__ and data.get("idle_timeout_s") is not None:
                    limits[task_id] = data["idle_timeout_s"]
                elif row.type == TaskReady.__name__ and task_id in limits:
                    watch.begin(task_id, allocation_of(task_id), limits[task_id], _now())
                elif row.type == TaskEnded.__name__:
                    limits.pop(task_id, None)
                    watch.end(task_id)
            position = rows[-1].position
        return max(position, head)

    async def _settle(self, due: Notice | Over) -> None:
        match due:
            case Notice(task_id, allocation_id, idle_s, left_s):
                wish: Input = NoticeIdle(allocation_id, round(idle_s), round(left_s))
            case Over(task_id, timeout_s):
                wish = KillTask(task_id, f"idle for more than {span(timeout_s)}: service is inactive")
        await self._execute(due.task_id, wish, Cause(f"idle-{uuid4()}", NAME))

    async def _execute(self, task_id: str, wish: Input, cause: Cause) -> Appended:
        return await self._tasks.execute(_stream(task_id), lambda task: decide(wish, task, task_id), cause)


_OF_IDLENESS = (TaskCreated.__name__, TaskReady.__name__, TaskEnded.__name__)


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
