"""The scheduler in one process with a log and a bus in memory, and agents that are a few lines of test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from resolute import codec
from resolute.bus import MemoryBus, subjects
from resolute.config.pools import ResourcePool
from resolute.config.pools import Scheduler as Policies
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Failed, InvalidConfig, NotFound
from resolute.proto.experiment import DescribeRun
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.owners import OWNERS, SEARCHER, TaskOwner
from resolute.proto.pool import (
    AgentHeartbeat,
    AgentHello,
    AgentJoined,
    AgentLost,
    AgentOrders,
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    AllocationWaits,
    ChangeJob,
    JobChanged,
    KillAllocation,
    MoveJob,
    PoolConfigured,
    PoolRemoved,
    PoolRestored,
    PreemptAllocation,
    PreemptionRequested,
    SlotsAssigned,
    StartTask,
    TaskReport,
)
from resolute.proto.queue import PolicyName
from resolute.proto.streams import Service
from resolute.proto.tasks import DescribeTask, TaskDescription, TaskSpec
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduler.shell import serve
from resolute.service import Context, tokens
from tests.unit.scheduler.stories import asks, hello

PATIENT = 600.0
"""An agent that says nothing for a whole test is not lost."""

SETTINGS = SchedulerSettings(agent_reconnect_wait_s=PATIENT, tick_s=0.02)
SOON_LOST = SchedulerSettings(agent_reconnect_wait_s=0.4, tick_s=0.02)
"""For tests of what becomes of an agent that falls silent."""


def with_pools(*names: str) -> SchedulerSettings:
    return SchedulerSettings(pools=tuple(map(pool, names)), agent_reconnect_wait_s=PATIENT, tick_s=0.02)


def pool(name: str) -> ResourcePool:
    return ResourcePool(pool_name=name)


@dataclass
class Stage:
    """A log that a relay feeds to the bus, an owner that describes every task, and as many schedulers as wanted."""

    log: MemoryEventLog = field(default_factory=MemoryEventLog)
    bus: MemoryBus = field(default_factory=MemoryBus)
    orders: list[AgentOrders] = field(default_factory=list)
    running: list[asyncio.Task[None]] = field(default_factory=list)
    asked: list[DescribeTask] = field(default_factory=list)
    describe: Callable[[DescribeTask], TaskDescription] = field(
        default=lambda question: TaskDescription(spec(question.allocation_id))
    )

    async def restart(self, settings: SchedulerSettings) -> None:
        self.running[-1].cancel()
        await asyncio.gather(self.running[-1], return_exceptions=True)
        await self.scheduler(settings)

    async def scheduler(self, settings: SchedulerSettings = SETTINGS) -> asyncio.Task[None]:
        ready = asyncio.Event()
        context = Context(self.log, self.bus, on_ready=lambda name: ready.set(), secret=b"secret")
        task = asyncio.create_task(serve(context, settings))
        self.running.append(task)
        await asyncio.wait_for(ready.wait(), 60)
        return task

    async def relay(self) -> None:
        position = 0
        while True:
            for recorded in await self.log.read_all(position):
                await self.bus.publish_fact(recorded)
                position = recorded.position
            await self.log.wait_beyond(position, 1)

    async def owner(self, question: DescribeTask) -> TaskDescription:
        self.asked.append(question)
        return self.describe(question)

    async def request(self, command: Command) -> Reply:
        return await self.bus.request(command, Cause(f"test/{len(self.log._all)}/{type(command).__name__}"))

    async def hello(self, message: AgentHello) -> AgentOrders:
        return await self.bus.ask(subjects.agent(message.agent_id, "hello"), message, AgentOrders)

    async def report(
        self, allocation: str, resources_id: str, what: str, code: int | None = None, pool: str = "default"
    ) -> Reply:
        report = TaskReport("a1", pool, allocation, resources_id, what, "10.0.0.1", code)
        return await self.bus.ask(subjects.agent("a1", "report"), report, Reply)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():  # noqa: ASYNC110  (the condition may be about anything)
                await asyncio.sleep(0.005)

    def happened(self, *kinds: type[Event]) -> list[tuple[str, type[Event]]]:
        return [(r.stream, type(r.event)) for r in self.log._all if isinstance(r.event, kinds)]

    def started(self) -> list[StartTask]:
        return [start for order in self.orders for start in order.start]

    def exits(self) -> list[AllocationExited]:
        return [r.event for r in self.log._all if isinstance(r.event, AllocationExited)]


def spec(allocation_id: str) -> TaskSpec:
    return TaskSpec("task", "TRIAL", allocation_id, 1, 1, 1, "ada", {}, {}, 7, 0, None)


@asynccontextmanager
async def staged(settings: SchedulerSettings = SETTINGS, described: bool = True) -> AsyncIterator[Stage]:
    """`described`: whether an owner of tasks is there from the beginning."""
    stage = Stage()
    if described:
        await stage.bus.listen(SEARCHER.subject, DescribeTask, stage.owner, queue="searcher")

    async def order(message: AgentOrders) -> None:
        stage.orders.append(message)

    await stage.bus.listen(subjects.agent("a1", "orders"), AgentOrders, order)
    stage.running.append(asyncio.create_task(stage.relay()))
    await stage.scheduler(settings)
    try:
        yield stage
    finally:
        for task in stage.running:
            task.cancel()
        await asyncio.gather(*stage.running, return_exceptions=True)


async def test_an_assignment_is_pushed_to_its_agent_with_a_token_for_that_task_alone() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.until(lambda: len(stage.orders) == 1)
        (start,) = stage.orders[0].start
        assert not stage.orders[0].complete
        assert start.spec == spec("one")
        assert tokens.verify(b"secret", start.token) == tokens.TaskClaims("task", "one")


async def test_a_task_continues_the_trace_of_who_asked_for_its_allocation() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.bus.request(asks("one"), Cause("c1", traceparent="00-abc-def-01"))
        await stage.until(lambda: len(stage.orders) == 1)
        assert stage.orders[0].start[0].traceparent == "00-abc-def-01"


async def test_an_order_lost_on_the_way_is_given_again_at_the_next_hello() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        answer = await stage.hello(hello())
        assert answer.complete
        assert [order.spec.allocation_id for order in answer.start] == ["one"]
        resources_id = answer.start[0].placement.resources_id
        assert (await stage.hello(hello(running=[resources_id]))).keep == (resources_id,)


async def test_a_task_reported_as_started_is_never_ordered_as_new() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        (start,) = (await stage.hello(hello())).start
        await stage.report("one", start.placement.resources_id, "started")
        (again,) = (await stage.hello(hello())).start
        assert (start.started, again.started) == (False, True)


async def test_a_kill_reaches_the_agent_at_once() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.request(KillAllocation("default", "one", "ada killed it"))
        await stage.until(lambda: any(order.stop for order in stage.orders))


async def test_what_the_owner_will_not_describe_is_ended_not_left_holding_slots() -> None:
    async with staged() as stage:
        stage.describe = lambda question: TaskDescription(refusal="no trial 1")
        await stage.hello(hello())
        await stage.request(asks("one"))
        await stage.until(lambda: any(order.stop for order in stage.orders))
        killed = next(r.event for r in stage.log._all if isinstance(r.event, AllocationKillRequested))
        assert killed.reason == "it cannot be started: no trial 1"


async def test_the_owner_that_an_allocation_names_is_asked_with_its_own_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def notebooks(question: DescribeTask) -> TaskDescription:
        asked.append(question)
        return TaskDescription(replace(spec(question.allocation_id), task_type="NOTEBOOK"))

    asked: list[DescribeTask] = []
    other = TaskOwner(Service.CHECKPOINT)
    monkeypatch.setitem(cast(dict[str, TaskOwner], OWNERS), other.service, other)
    async with staged(with_pools("default")) as stage:
        await stage.bus.listen(other.subject, DescribeTask, notebooks)
        await stage.hello(hello())
        await stage.request(replace(asks("one"), task_owner=other.service.value))
        await stage.request(replace(asks("two"), experiment_id=7, trial_id=9))
        await stage.until(lambda: len(stage.started()) == 2)
        assert asked == [DescribeTask("one", "task-of-one", 1, 1)]
        assert stage.asked == [DescribeTask("two", "task-of-two", 7, 9)]
        assert {order.spec.allocation_id: order.spec.task_type for order in stage.started()} == {
            "one": "NOTEBOOK",
            "two": "TRIAL",
        }


async def test_an_owner_that_no_table_lists_is_refused_by_name_and_waited_for_where_it_is_recorded() -> None:
    async with staged(with_pools("default")) as stage:
        with pytest.raises(InvalidConfig, match="task_owner: found 'pods'; one of searcher, tasks would do"):
            await stage.request(replace(asks("one"), task_owner="pods"))
        recorded = AllocationRequested(
            "one", "task-of-one", "POD", "job", "a pod", "ada", 1, 42, 1.0, None, 60, task_owner="pods"
        )
        version = sum(found.stream == "pool-default" for found in stage.log._all)
        await stage.log.append("pool-default", [recorded], expected_version=version, cause=Cause("a later release"))
        await stage.hello(hello())
        await stage.until(lambda: bool(stage.happened(SlotsAssigned)))
        answer = await stage.hello(hello())
        assert (answer.start, answer.stop) == ((), ())
        assert stage.asked == []


async def test_an_owner_of_the_last_release_is_asked_in_its_own_words() -> None:
    async def last_release(command: Command, cause: Cause) -> Reply:
        assert isinstance(command, DescribeRun)
        commands.append(command)
        return Reply(data={k: v for k, v in codec.dump(spec(command.allocation_id)).items() if k != "needs"})

    commands: list[DescribeRun] = []
    async with staged(with_pools("default"), described=False) as stage:
        await stage.bus.serve("searcher", last_release)
        await stage.hello(hello())
        await stage.request(replace(asks("one"), experiment_id=7, trial_id=9))
        await stage.until(lambda: len(stage.started()) == 1)
        assert commands == [DescribeRun(7, 9, "one")]
        assert (stage.started()[0].spec.allocation_id, stage.started()[0].spec.needs) == ("one", None)


async def test_while_no_process_of_the_owner_is_there_the_allocation_waits_for_it() -> None:
    async with staged(with_pools("default"), described=False) as stage:
        await stage.hello(hello())
        await stage.request(replace(asks("one"), experiment_id=7, trial_id=9))
        await stage.until(lambda: bool(stage.happened(SlotsAssigned)))
        answer = await stage.hello(hello())
        assert (answer.start, answer.stop) == ((), ())
        await stage.bus.listen(SEARCHER.subject, DescribeTask, stage.owner)
        answer = await stage.hello(hello())
        assert [order.spec.allocation_id for order in answer.start] == ["one"]


async def test_an_owner_that_fails_to_describe_a_task_is_asked_again() -> None:
    async with staged() as stage:

        def broken(question: DescribeTask) -> TaskDescription:
            raise Failed("a bug")

        stage.describe = broken
        await stage.hello(hello())
        await stage.request(asks("one"))
        assert (await stage.hello(hello())).start == ()
        stage.describe = lambda question: TaskDescription(spec(question.allocation_id))
        answer = await stage.hello(hello())
        assert ([order.spec.allocation_id for order in answer.start], answer.stop) == (["one"], ())


async def test_an_agent_that_falls_silent_is_lost_and_one_that_beats_is_not() -> None:
    async with staged(SOON_LOST) as stage:
        await stage.hello(hello())
        await stage.request(asks("one"))
        for _ in range(30):
            await stage.bus.publish(subjects.agent("a1", "heartbeat"), AgentHeartbeat("a1", "default"))
            await asyncio.sleep(0.02)
        assert stage.exits() == []
        await stage.until(lambda: [e.outcome for e in stage.exits()] == ["lost"])


async def test_a_deadline_outlives_the_scheduler_that_heard_of_it() -> None:
    async with staged() as stage:
        await stage.hello(hello())
        await stage.request(asks("one", preemption_timeout_s=0))
        stage.running[-1].cancel()
        await asyncio.gather(stage.running[-1], return_exceptions=True)
        await stage.scheduler()
        await stage.request(PreemptAllocation("default", "one", "the experiment was paused"))
        await stage.until(lambda: any(order.stop for order in stage.orders))


async def test_two_schedulers_at_once_never_give_a_slot_twice() -> None:
    async with staged() as stage:
        await stage.scheduler()
        await stage.hello(hello(slots=2))
        schedulers = [s for s in stage.bus.listeners if s.subject == "resolute.cmd.scheduler.*"]
        commands = [(asks(f"t{n}"), Cause(f"c{n}")) for n in range(20)]
        await asyncio.gather(*(schedulers[n % 2].handle(command) for n, command in enumerate(commands)))
        answer = await stage.hello(hello(slots=2))
        assert sorted(order.placement.slot_ids for order in answer.start) == [(0,), (1,)]


async def test_an_agent_that_only_another_scheduler_has_heard_is_lost_though_that_one_is_gone() -> None:
    async with staged(SOON_LOST) as stage:
        await stage.scheduler(SOON_LOST)
        await stage.hello(hello())
        await stage.request(asks("one"))
        first = stage.running[1]
        first.cancel()
        await stage.until(lambda: [one.outcome for one in stage.exits()] == ["lost"])


async def test_a_pool_that_is_not_there_is_named_with_those_that_are() -> None:
    async with staged() as stage:
        with pytest.raises(NotFound, match="pool: no pool 'gpus'; there are default"):
            await stage.request(KillAllocation("gpus", "one", ""))


def in_pool(message: Any, name: str) -> Any:
    return replace(message, pool=name)


async def running_in_main(stage: Stage) -> str:
    """One allocation that runs in pool main; its resources id."""
    await stage.hello(in_pool(hello(), "main"))
    await stage.request(in_pool(asks("one"), "main"))
    (start,) = (await stage.hello(in_pool(hello(), "main"))).start
    await stage.report("one", start.placement.resources_id, "started", pool="main")
    return start.placement.resources_id


async def test_an_agent_that_comes_back_in_another_pool_leaves_the_first_with_what_it_ran_there() -> None:
    async with staged(with_pools("main", "other")) as stage:
        resources_id = await running_in_main(stage)
        answer = await stage.hello(in_pool(hello(running=[resources_id]), "other"))
        assert (answer.complete, answer.keep, answer.start) == (True, (), ())
        assert [(one.outcome, one.reason) for one in stage.exits()] == [("lost", "agent a1 came back in pool 'other'")]
        moved = [("pool-main", AgentJoined), ("pool-main", AgentLost), ("pool-other", AgentJoined)]
        assert stage.happened(AgentJoined, AgentLost) == moved
        await stage.hello(in_pool(hello(), "main"))
        assert stage.happened(AgentJoined, AgentLost)[3:] == [("pool-other", AgentLost), ("pool-main", AgentJoined)]


def by(policy: PolicyName, *names: str) -> SchedulerSettings:
    """Pools that go by this policy, with an agent that is not lost."""
    return SchedulerSettings(
        pools=tuple(map(pool, names)),
        scheduler=Policies(type=policy, preemption=policy is PolicyName.PRIORITY),
        agent_reconnect_wait_s=25.0,
        tick_s=0.02,
    )


async def test_the_settings_of_pools_are_recorded_once_they_differ_from_what_is_recorded() -> None:
    async with staged(by(PolicyName.FIFO, "main", "other")) as stage:
        recorded = [r for r in stage.log._all if isinstance(r.event, PoolConfigured)]
        assert [r.event for r in recorded] == [
            PoolConfigured("main", {"scheduler.type": "fifo"}),
            PoolConfigured("other", {"scheduler.type": "fifo"}),
        ]
        assert {r.cause.actor for r in recorded} == {"configuration"}
        await stage.restart(by(PolicyName.FIFO, "main", "other"))
        await stage.restart(by(PolicyName.PRIORITY, "main", "other"))
        changes = {"scheduler.preemption": True, "scheduler.type": "priority"}
        assert [r.event for r in stage.log._all if isinstance(r.event, PoolConfigured)][2:] == [
            PoolConfigured("main", changes),
            PoolConfigured("other", changes),
        ]


async def test_a_pool_as_this_release_sets_it_records_nothing() -> None:
    async with staged(SchedulerSettings()) as stage:
        assert stage.log._all == []


async def test_a_pool_that_was_away_has_its_rules_its_priorities_and_its_places_again() -> None:
    async with staged(by(PolicyName.FIFO, "main", "other")) as stage:
        resources_id = await running_in_main(stage)
        for name in ("two", "three", "four"):
            await stage.request(in_pool(asks(name, slots=2), "main"))
        await stage.request(ChangeJob("main", "job-of-three", {"priority": 7}))
        await stage.request(MoveJob("main", "job-of-four", ahead_of="job-of-two"))
        await stage.restart(by(PolicyName.PRIORITY, "other"))
        with pytest.raises(NotFound, match="job-of-nobody"):
            await stage.request(ChangeJob("main", "job-of-nobody", {"priority": 7}))
        await stage.restart(by(PolicyName.FIFO, "main", "other"))
        configured = [r.event for r in stage.log._all if isinstance(r.event, PoolConfigured) and r.event.pool == "main"]
        assert configured == [PoolConfigured("main", {"scheduler.type": "fifo"})], "it comes back as it was"
        await stage.report("one", resources_id, "exited", 0, pool="main")
        given = [r.event.allocation_id for r in stage.log._all if isinstance(r.event, SlotsAssigned)]
        assert given == ["one", "four"], "by the place that it was moved to before, not by the priority"
        assert {r.event.job_id: r.event.changes for r in stage.log._all if isinstance(r.event, JobChanged)} == {
            "job-of-three": {"priority": 7}
        }


async def test_a_queue_is_served_by_new_rules_as_soon_as_they_are_recorded() -> None:
    async with staged(by(PolicyName.FIFO, "main")) as stage:
        await running_in_main(stage)
        await stage.request(in_pool(asks("two", slots=2, priority=1), "main"))
        await stage.restart(by(PolicyName.PRIORITY, "main"))
        [asked] = [(r.event, r.cause) for r in stage.log._all if isinstance(r.event, PreemptionRequested)]
        assert isinstance(asked[0], PreemptionRequested)
        assert (asked[0].allocation_id, asked[1].actor) == ("one", "configuration")


async def test_of_two_schedulers_with_other_settings_both_go_by_those_of_the_one_that_started_last() -> None:
    async with staged(by(PolicyName.FIFO, "main")) as stage:
        first = stage.running[-1]
        second = await stage.scheduler(by(PolicyName.PRIORITY, "main"))
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await running_in_main(stage)
        await stage.request(in_pool(asks("two", slots=2, priority=1), "main"))
        assert not first.done()
        assert stage.happened(PreemptionRequested) == [("pool-main", PreemptionRequested)]


async def test_slots_are_not_held_for_ever_by_what_ran_in_a_pool_that_was_away() -> None:
    """Restarted without the pool, and with it again: its agent was in another pool meanwhile."""
    async with staged(with_pools("main", "other")) as stage:
        resources_id = await running_in_main(stage)
        await stage.restart(with_pools("other"))
        await stage.report("one", resources_id, "exited", 0, pool="main")
        assert [one.outcome for one in stage.exits()] == ["exited"]
        await stage.hello(in_pool(hello(), "other"))
        await stage.request(in_pool(asks("two", slots=2), "main"))
        waits = [r.event for r in stage.log._all if isinstance(r.event, AllocationWaits)]
        assert [(one.rule, "without pool 'main' (there are other)" in one.reason) for one in waits] == [
            ("no_pool", True)
        ]
        await stage.restart(with_pools("main", "other"))
        (start,) = (await stage.hello(in_pool(hello(), "main"))).start
        assert start.spec.allocation_id == "two"
        assert stage.happened(PoolRemoved, PoolRestored) == [("pool-main", PoolRemoved), ("pool-main", PoolRestored)]


async def test_what_runs_in_a_pool_that_is_away_runs_on_and_can_be_killed() -> None:
    async with staged(with_pools("main", "other")) as stage:
        resources_id = await running_in_main(stage)
        await stage.restart(with_pools("other"))
        answer = await stage.hello(in_pool(hello(running=[resources_id]), "main"))
        assert answer.keep == (resources_id,)
        await stage.request(KillAllocation("main", "one", "ada killed it"))
        (stop,) = (await stage.hello(in_pool(hello(running=[resources_id]), "main"))).stop
        assert stop.resources_id == resources_id
        await stage.report("one", resources_id, "exited", 137, pool="main")
        assert [one.outcome for one in stage.exits()] == ["killed"]
        with pytest.raises(NotFound, match="no pool 'main'; there are other"):
            await stage.hello(in_pool(hello(), "main"))


async def test_work_for_a_pool_that_never_was_waits_and_can_be_withdrawn() -> None:
    async with staged() as stage:
        await stage.request(in_pool(asks("one"), "attic"))
        await stage.request(PreemptAllocation("attic", "one", "the experiment was paused"))
        assert [one.outcome for one in stage.exits()] == ["yielded"]


async def test_an_agent_lost_in_a_pool_that_is_away_is_lost() -> None:
    """After the time that was recorded of its own pool."""
    async with staged(with_pools("main", "other")) as stage:
        await running_in_main(stage)
        await stage.restart(with_pools("other"))
        version = len(await stage.log.read_stream("pool-main"))
        soon = [PoolConfigured("main", {"agent_reconnect_wait": 0.4})]
        await stage.log.append("pool-main", soon, expected_version=version, cause=Cause("configured/x"))
        await stage.restart(with_pools("other"))
        await stage.until(lambda: [one.outcome for one in stage.exits()] == ["lost"])
