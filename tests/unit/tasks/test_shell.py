"""The shell of `tasks` over a log and a bus in memory: repeats, replicas, refusals of the scheduler, workspaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto import streams
from resolute.proto.errors import NotFound
from resolute.proto.interactive import KillTask, SetTaskPriority, TaskCreated, TaskEnded
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.owners import TASKS
from resolute.proto.pool import AllocationExited, ChangeJob, KillAllocation, RequestAllocation
from resolute.proto.spaces import WorkspaceDeletionRequested
from resolute.proto.tasks import DescribeTask, TaskDescription
from resolute.service import Context
from resolute.tasks.shell import serve
from tests.unit.tasks.test_task import ASKED


class House:
    """The service, or several replicas, with a scheduler that only notes what it is asked."""

    def __init__(self) -> None:
        self.log, self.bus = MemoryEventLog(), MemoryBus()
        self.asked: list[Command] = []
        self.answer: Callable[[Command], None] = lambda command: None
        self._causes: set[str] = set()

    async def note(self, command: Command, cause: Cause) -> Reply:
        if cause.id not in self._causes:
            self._causes.add(cause.id)
            self.asked.append(command)
        self.answer(command)
        return Reply()

    async def create(self, cause: str = "cmd-1", **changes: Any) -> str:
        reply = await self.bus.request(replace(ASKED, **changes), Cause(cause))
        return str(reply.data["task_id"])

    async def happened(self, stream: str, *events: Event) -> None:
        version = len(await self.log.read_stream(stream))
        await self.log.append(stream, events, expected_version=version, cause=Cause(f"{stream}/{version}"))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not holds():
                await self.log.wait_beyond(await self.log.head(), 0.01)

    def of(self, kind: type[Command]) -> list[Any]:
        return [command for command in self.asked if isinstance(command, kind)]

    def events(self, kind: type[Event]) -> list[Any]:
        return [recorded.event for recorded in self.log._all if isinstance(recorded.event, kind)]

    async def relay(self) -> None:
        position = 0
        while True:
            await self.log.wait_beyond(position, 60)
            for recorded in await self.log.read_all(position):
                await self.bus.publish_fact(recorded)
                position = recorded.position


@asynccontextmanager
async def a_house(replicas: int = 1) -> AsyncIterator[House]:
    house = House()
    await house.bus.serve("scheduler", house.note)
    ready: list[str] = []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(house.relay())]
        for _ in range(replicas):
            tasks.append(group.create_task(serve(Context(house.log, house.bus, on_ready=ready.append))))
        await house.until(lambda: len(ready) == replicas)
        yield house
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize("replicas", [1, 2])
async def test_a_request_that_arrives_twice_is_one_task_with_one_allocation(replicas: int) -> None:
    async with a_house(replicas) as house:
        assert await house.create() == await house.create()
        other = await house.create("cmd-2")
        await house.until(lambda: len(house.of(RequestAllocation)) == 2)
        assert len(house.events(TaskCreated)) == 2
        [second] = [one for one in house.of(RequestAllocation) if one.task_id == other]
        assert (second.allocation_id, second.job_id, second.slots) == (f"{other}.1", other, 0)
        assert second.task_owner == "tasks"
        assert not second.preemptible


async def test_the_scheduler_is_asked_to_kill_and_to_change_the_priority() -> None:
    async with a_house() as house:
        task_id = await house.create()
        await house.bus.request(SetTaskPriority(task_id, 7), Cause("p"))
        await house.bus.request(KillTask(task_id, "ann killed it"), Cause("k"))
        await house.until(lambda: bool(house.of(KillAllocation)))
        assert house.of(KillAllocation) == [KillAllocation("default", f"{task_id}.1", "ann killed it")]
        assert all(one == ChangeJob("default", task_id, {"priority": 7}) for one in house.of(ChangeJob))


async def test_a_task_whose_pool_is_not_there_ends_with_the_answer() -> None:
    async with a_house() as house:

        def refuse(command: Command) -> None:
            raise NotFound("pool: no pool 'moon'; there are default")

        house.answer = refuse
        await house.create(pool="moon")
        await house.until(lambda: bool(house.events(TaskEnded)))
        [ended] = house.events(TaskEnded)
        assert (ended.outcome, ended.reason) == ("refused", "pool: no pool 'moon'; there are default")


async def test_it_ends_with_the_exit_code_of_its_allocation() -> None:
    async with a_house() as house:
        task_id = await house.create()
        exited = AllocationExited(f"{task_id}.1", "exited", 3, "it ended", task_id, None, None)
        of_a_trial = replace(exited, allocation_id=f"7.{task_id}.1", task_id=f"7.{task_id}", trial_id=1)
        await house.happened(streams.POOL.stream("default"), of_a_trial, exited)
        await house.until(lambda: bool(house.events(TaskEnded)))
        assert house.events(TaskEnded) == [TaskEnded("exited", 3, "it ended")]


async def test_the_open_tasks_of_a_workspace_are_killed_when_it_is_deleted() -> None:
    async with a_house() as house:
        within = await house.create("a", workspace_id=5)
        await house.create("b", workspace_id=6)
        await house.happened(streams.WORKSPACE_DIRECTORY, WorkspaceDeletionRequested(5))
        await house.until(lambda: bool(house.of(KillAllocation)))
        assert [one.allocation_id for one in house.of(KillAllocation)] == [f"{within}.1"]


async def test_the_service_says_what_runs_in_an_allocation_or_why_nothing_does() -> None:
    async with a_house() as house:
        task_id = await house.create()
        question = DescribeTask(f"{task_id}.1", task_id)
        found = await house.bus.ask(TASKS.subject, question, TaskDescription)
        assert found.spec is not None
        assert found.spec.config["entrypoint"] == ["/bin/sh", "-c", "echo hello"]
        await house.bus.request(KillTask(task_id, "ann killed it"), Cause("k"))
        found = await house.bus.ask(TASKS.subject, question, TaskDescription)
        assert found.spec is None
        assert "STOPPING" in found.refusal
