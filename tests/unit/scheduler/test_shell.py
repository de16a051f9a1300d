"""The scheduler in one process with a log and a bus in memory, and agents that are a few lines of test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from resolute import codec
from resolute.bus import MemoryBus, subjects
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Failed, NotFound
from resolute.proto.experiment import DescribeRun, TaskSpec
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.pool import (
    AgentHeartbeat,
    AgentHello,
    AgentOrders,
    AllocationExited,
    KillAllocation,
    PreemptAllocation,
    TaskReport,
)
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduler.shell import serve
from resolute.service import Context, tokens
from tests.unit.scheduler.stories import asks, hello

SETTINGS = SchedulerSettings(agent_reconnect_wait_s=0.4, tick_s=0.02)


@dataclass
class Stage:
    """A log that a relay feeds to the bus, a searcher that describes every run, and as many schedulers as wanted."""

    log: MemoryEventLog = field(default_factory=MemoryEventLog)
    bus: MemoryBus = field(default_factory=MemoryBus)
    orders: list[AgentOrders] = field(default_factory=list)
    running: list[asyncio.Task[None]] = field(default_factory=list)
    describe: Callable[[DescribeRun], TaskSpec] = field(default=lambda command: spec(command.allocation_id))

    async def scheduler(self) -> asyncio.Task[None]:
        ready = asyncio.Event()
        context = Context(self.log, self.bus, on_ready=lambda name: ready.set(), secret=b"secret")
        task = asyncio.create_task(serve(context, SETTINGS))
        self.running.append(task)
        await asyncio.wait_for(ready.wait(), 5)
        return task

    async def relay(self) -> None:
        position = 0
        while True:
            for recorded in await self.log.read_all(position):
                await self.bus.publish_fact(recorded)
                position = recorded.position
            await self.log.wait_beyond(position, 1)

    async def searcher(self, command: Command, cause: Cause) -> Reply:
        assert isinstance(command, DescribeRun)
        return Reply(data=codec.dump(self.describe(command)))

    async def request(self, command: Command) -> Reply:
        return await self.bus.request(command, Cause(f"test/{len(self.log._all)}/{type(command).__name__}"))

    async def hello(self, message: AgentHello) -> AgentOrders:
        return await self.bus.ask(subjects.agent(message.agent_id, "hello"), message, AgentOrders)

    async def report(self, allocation: str, resources_id: str, what: str, code: int | None = None) -> Reply:
        report = TaskReport("a1", "default", allocation, resources_id, what, "10.0.0.1", code)
        return await self.bus.ask(subjects.agent("a1", "report"), report, Reply)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not condition():  # noqa: ASYNC110  (the condition may be about anything)
                await asyncio.sleep(0.005)

    def exits(self) -> list[AllocationExited]:
        return [r.event for r in self.log._all if isinstance(r.event, AllocationExited)]


def spec(allocation_id: str) -> TaskSpec:
    return TaskSpec("task", "TRIAL", allocation_id, 1, 1, 1, "ada", {}, {}, 7, 0, None)


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    await stage.bus.serve("searcher", stage.searcher)

    async def order(message: AgentOrders) -> None:
        stage.orders.append(message)

    await stage.bus.listen(subjects.agent("a1", "orders"), AgentOrders, order)
    stage.running.append(asyncio.create_task(stage.relay()))
    await stage.scheduler()
    try:
        yield stage
    finally:
        for task in stage.running:
            task.cancel()
        await asyncio.gather(*stage.running, return_exceptions=True)


async def test_an_assignment_is_pushed_to_its_agent_with_a_token_for_that_task_alone():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.until(lambda: len(stage.orders) == 1)
        (start,) = stage.orders[0].start
        assert not stage.orders[0].complete
        assert start.spec == spec("one")
        assert tokens.verify(b"secret", start.token) == tokens.TaskClaims("task", "one")


async def test_a_task_continues_the_trace_of_who_asked_for_its_allocation():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.bus.request(asks("one"), Cause("c1", traceparent="00-abc-def-01"))
        await stage.until(lambda: len(stage.orders) == 1)
        assert stage.orders[0].start[0].traceparent == "00-abc-def-01"


async def test_an_order_lost_on_the_way_is_given_again_at_the_next_hello():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        answer = await stage.hello(hello())
        assert answer.complete
        assert [order.spec.allocation_id for order in answer.start] == ["one"]
        resources_id = answer.start[0].placement.resources_id
        assert (await stage.hello(hello(running=[resources_id]))).keep == (resources_id,)


async def test_a_task_reported_as_started_is_never_ordered_as_new():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        (start,) = (await stage.hello(hello())).start
        await stage.report("one", start.placement.resources_id, "started")
        (again,) = (await stage.hello(hello())).start
        assert (start.started, again.started) == (False, True)


async def test_a_kill_reaches_the_agent_at_once():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.request(KillAllocation("default", "one", "ada killed it"))
        await stage.until(lambda: any(order.stop for order in stage.orders))


async def test_what_the_searcher_will_not_describe_is_ended_not_left_holding_slots():
    async with staged() as stage:

        def gone(command: DescribeRun) -> TaskSpec:
            raise NotFound("no trial 1")

        stage.describe = gone
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.until(lambda: any(order.stop for order in stage.orders))


async def test_a_searcher_that_fails_to_describe_a_run_is_asked_again():
    async with staged() as stage:

        def broken(command: DescribeRun) -> TaskSpec:
            raise Failed("a bug")

        stage.describe = broken
        await stage.hello(hello())
        await stage.request(asks("one"))
        assert (await stage.hello(hello())).start == ()
        stage.describe = lambda command: spec(command.allocation_id)
        answer = await stage.hello(hello())
        assert ([order.spec.allocation_id for order in answer.start], answer.stop) == (["one"], ())


async def test_an_agent_that_falls_silent_is_lost_and_one_that_beats_is_not():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        for _ in range(30):
            await stage.bus.publish(subjects.agent("a1", "heartbeat"), AgentHeartbeat("a1", "default"))
            await asyncio.sleep(0.02)
        assert stage.exits() == []
        await stage.until(lambda: [e.outcome for e in stage.exits()] == ["lost"])


async def test_a_deadline_outlives_the_scheduler_that_heard_of_it():
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one", preemption_timeout_s=0))
        stage.running[-1].cancel()
        await asyncio.gather(stage.running[-1], return_exceptions=True)
        await stage.scheduler()
        await stage.request(PreemptAllocation("default", "one", "the experiment was paused"))
        await stage.until(lambda: any(order.stop for order in stage.orders))


async def test_two_schedulers_at_once_never_give_a_slot_twice():
    async with staged() as stage:
        await stage.scheduler()
        await stage.hello(hello(slots=2))
        schedulers = [s for s in stage.bus.listeners if s.subject == "resolute.cmd.scheduler.*"]
        commands = [(asks(f"t{n}"), Cause(f"c{n}")) for n in range(20)]
        await asyncio.gather(*(schedulers[n % 2].handle(command) for n, command in enumerate(commands)))
        answer = await stage.hello(hello(slots=2))
        assert sorted(order.placement.slot_ids for order in answer.start) == [(0,), (1,)]


async def test_an_agent_that_only_another_scheduler_has_heard_is_lost_though_that_one_is_gone():
    async with staged() as stage:
        await stage.scheduler()
        await stage.hello(hello())
        await stage.request(asks("one"))
        first = stage.running[1]
        first.cancel()
        await stage.until(lambda: [one.outcome for one in stage.exits()] == ["lost"])


async def test_a_pool_that_is_not_there_is_named_with_those_that_are():
    async with staged() as stage:
        with pytest.raises(NotFound, match="pool: no pool 'gpus'; there are default"):
            await stage.request(KillAllocation("gpus", "one", ""))
