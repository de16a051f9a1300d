"""Hosts and their agents: a host runs tasks, whether or not its agent lives; the agent speaks for it on the bus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from resolute.bus import subjects
from resolute.proto.errors import ResoluteError, Unavailable
from resolute.proto.message import Reply
from resolute.proto.pool import AgentHeartbeat, AgentHello, AgentOrders, Slot, StartTask, TaskReport
from resolute.service import Context
from tests.simulation.training import Diary, Training

HELLO_EVERY_S = 3.0
HEARTBEAT_EVERY_S = 2.0
REPORT_EVERY_S = 0.5
STOPPING_S = 0.2


@dataclass(eq=False)
class Task:
    """A process on a host."""

    order: StartTask
    work: asyncio.Task[tuple[int, str]]
    exit: tuple[int | None, str] | None = None
    told_started: bool = False

    @property
    def alive(self) -> bool:
        return self.exit is None


@dataclass(eq=False)
class Host:
    """What survives its agent: the tasks, and the notes of their exits."""

    agent_id: str
    pool: str
    slots: int
    train: Callable[[StartTask], Training]
    diary: Diary
    on_bug: Callable[[str, BaseException], None]
    tasks: dict[str, Task] = field(default_factory=dict)
    """By resources_id, until their exit has been reported."""
    known: dict[str, str] = field(default_factory=dict)
    """All that it ever ran since it was switched on, allocations by resources_id: an order that comes late starts
    nothing twice."""
    _stopping: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.full = self.slots
        """How many slots it has when nothing is wrong with it."""

    def start(self, order: StartTask) -> None:
        taken = {slot for task in self.tasks.values() if task.alive for slot in task.order.placement.slot_ids}
        assert not taken & set(order.placement.slot_ids), f"{self.agent_id}: two tasks on one slot"
        resources_id = order.placement.resources_id
        self.diary.started.append(resources_id)
        self.known[resources_id] = order.spec.allocation_id
        task = Task(order, asyncio.create_task(self.train(order).run()))
        task.work.add_done_callback(lambda work: self._exited(task, work))
        self.tasks[resources_id] = task

    def _exited(self, task: Task, work: asyncio.Task[tuple[int, str]]) -> None:
        if work.cancelled():
            task.exit = task.exit or (137, "killed")
        elif (error := work.exception()) is not None:
            self.on_bug(task.order.spec.allocation_id, error)
            task.exit = (70, repr(error))
        else:
            task.exit = work.result()

    def stop(self, resources_id: str) -> None:
        """SIGTERM, and what follows if that is not heard."""
        task = self.tasks.get(resources_id)
        if task is not None and task.alive:
            soon = asyncio.create_task(_kill(task))
            self._stopping.add(soon)
            soon.add_done_callback(self._stopping.discard)

    def lose_power(self) -> list[str]:
        """Every task is gone, and all notes of those that ever ran here. Answers whose: an order that comes late may
        start one of them once more, even if its end was reported before."""
        victims = list(self.known.values())
        for task in self.tasks.values():
            task.work.cancel()
        self.tasks, self.known = {}, {}
        return victims


async def _kill(task: Task) -> None:
    await asyncio.sleep(STOPPING_S)
    task.work.cancel()


class Agent:
    def __init__(self, host: Host, context: Context) -> None:
        self._host, self._bus = host, context.bus
        self._gone: dict[str, str] = {}
        """Tasks the cluster asks after and the host does not have: allocations by resources_id, to be reported."""

    async def run(self) -> None:
        """Serve until killed; the tasks do not notice."""
        subject = subjects.agent(self._host.agent_id, "orders")
        while True:
            try:
                await self._bus.listen(subject, AgentOrders, self._obey)
                break
            except Unavailable:
                await asyncio.sleep(0.5)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._greet())
            group.create_task(self._beat())
            group.create_task(self._report())

    async def _greet(self) -> None:
        while True:
            slots = tuple(Slot(n, "artificial") for n in range(self._host.slots))
            asked_about = tuple(self._host.tasks)
            hello = AgentHello(self._host.agent_id, self._host.pool, slots, self._host.agent_id, "1", asked_about)
            try:
                orders = await self._bus.ask(self._subject("hello"), hello, AgentOrders, 5.0)
            except ResoluteError:
                await asyncio.sleep(0.5)
                continue
            await self._obey(orders, asked_about)
            await asyncio.sleep(HELLO_EVERY_S)

    async def _beat(self) -> None:
        while True:
            with suppress(Unavailable):  # the next one will be heard
                beat = AgentHeartbeat(self._host.agent_id, self._host.pool)
                await self._bus.publish(self._subject("heartbeat"), beat)
            await asyncio.sleep(HEARTBEAT_EVERY_S)

    async def _obey(self, orders: AgentOrders, asked_about: tuple[str, ...] = ()) -> None:
        listed = {*orders.keep, *(order.placement.resources_id for order in orders.start)}
        if orders.complete:
            for resources_id in asked_about:
                if resources_id not in listed:
                    self._host.stop(resources_id)
        for stop in orders.stop:
            if stop.resources_id in self._host.tasks:
                self._host.stop(stop.resources_id)
            else:
                self._gone[stop.resources_id] = stop.allocation_id
        for order in orders.start:
            self._start(order)

    def _start(self, order: StartTask) -> None:
        """An order may come twice, and late; a slot that is still in use waits for the next hello."""
        host, resources_id = self._host, order.placement.resources_id
        busy = {slot for task in host.tasks.values() if task.alive for slot in task.order.placement.slot_ids}
        if resources_id in host.known:
            return
        if order.started:
            self._gone[resources_id] = order.spec.allocation_id
        elif not busy & set(order.placement.slot_ids):
            host.start(order)

    async def _report(self) -> None:
        while True:
            for resources_id, task in list(self._host.tasks.items()):
                with suppress(ResoluteError):  # told again on the next round
                    await self._report_on(resources_id, task)
            for resources_id, allocation_id in list(self._gone.items()):
                with suppress(ResoluteError):
                    await self._send(resources_id, allocation_id, "exited", None, "the host no longer has it")
                    del self._gone[resources_id]
            await asyncio.sleep(REPORT_EVERY_S)

    async def _report_on(self, resources_id: str, task: Task) -> None:
        allocation_id = task.order.spec.allocation_id
        if not task.told_started:
            await self._send(resources_id, allocation_id, "started", None, "")
            task.told_started = True
        if task.exit is not None:
            await self._send(resources_id, allocation_id, "exited", *task.exit)
            self._host.tasks.pop(resources_id, None)

    async def _send(self, resources_id: str, allocation_id: str, what: str, code: int | None, reason: str) -> None:
        host = self._host
        report = TaskReport(
            host.agent_id, host.pool, allocation_id, resources_id, what, host.agent_id, exit_code=code, reason=reason
        )
        await self._bus.ask(self._subject("report"), report, Reply, 5.0)

    def _subject(self, what: str) -> str:
        return subjects.agent(self._host.agent_id, what)
