"""One agent: it sends heartbeats and hellos, carries out the scheduler's orders, and watches the tasks of its host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any

import structlog

from resolute.agent import ports
from resolute.agent.dialling import Dialler, Door
from resolute.agent.ledger import Entry, Ledger, entry_for
from resolute.agent.registry import Runtimes, needs_in
from resolute.agent.requests import ANSWER_S, Requests
from resolute.agent.runtime import CannotStart, Exit, Launch
from resolute.agent.settings import AgentSettings
from resolute.agent.task import CANNOT_START, Task, TaskContext
from resolute.agent.unsealing import opened
from resolute.bus import Bus, subjects
from resolute.proto.errors import NotFound, ResoluteError, Unavailable
from resolute.proto.pool import AgentHeartbeat, AgentHello, AgentOrders, Slot, StartTask, StopTask
from resolute.proto.proxy import DialTask
from resolute.service import Patience

log_ = structlog.get_logger()

TIDY_S = 60.0


class Agent:
    """One agent: owns the ledger and the tasks of its work directory. `run` raises nothing but a bug: outages of the
    bus are waited out, and an exception about one task ends that task only."""

    try_again_after_s: tuple[float, ...] = (0.5, 2.0, 10.0)
    """The pauses before the agent resumes watching a task, after an exception while it watched."""

    def __init__(
        self,
        bus: Bus,
        runtimes: Runtimes[Any],
        ledger: Ledger,
        settings: AgentSettings,
        slots: tuple[Slot, ...],
        host: str,
        version: str,
    ) -> None:
        """`host`: the address at which the tasks of other agents reach the tasks of this one."""
        self._bus, self._settings, self._slots, self._runtimes = bus, settings, slots, runtimes
        self._host, self._version = host, version
        self._context = TaskContext(runtimes.open.tasks, ledger, Requests(bus, settings.id), settings, host)
        self._dialler = Dialler(bus, settings, self)
        self._tasks: dict[str, Task] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()
        self._left_to_end: set[str] = set()
        """Resources ids of tasks whose gang has failed, and which have some time to end by themselves."""
        self._hello_soon = asyncio.Event()
        self._waits_for_slots = False
        """Whether an order to start a task waits for slots that are still taken."""
        self._closing = False

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Runs until cancelled; the tasks go on running after that."""
        orders = await self._bus.listen(subjects.agent(self._settings.id, "orders"), AgentOrders, self._pushed)
        dials = await self._bus.listen(subjects.agent(self._settings.id, "dial"), DialTask, self._dialler.dial)
        try:
            async with self._group:
                for entry in self._context.ledger.load():
                    self._watch(Task(entry, self._context), None)
                self._group.create_task(self._heartbeats())
                self._group.create_task(self._hellos(on_ready))
                self._group.create_task(self._tidying())
        finally:
            await orders.close()
            await dials.close()

    async def stop_tasks(self, reason: str) -> None:
        """Ask every task to end, and wait until they have, and all is reported and stored."""
        self._closing = True
        for task in list(self._tasks.values()):
            if not task.ended:
                await self._ask_to_end(task, reason)
        await asyncio.gather(*self._watching.values(), return_exceptions=True)

    # ------------------------------------------------------------ messages to the scheduler

    async def _heartbeats(self) -> None:
        subject = subjects.agent(self._settings.id, "heartbeat")
        while True:
            try:
                await self._bus.publish(subject, AgentHeartbeat(self._settings.id, self._settings.pool))
            except Unavailable as error:
                log_.debug("no heartbeat", why=error.message)
            await asyncio.sleep(self._settings.heartbeat_s)

    async def _hellos(self, on_ready: Callable[[], None]) -> None:
        patience = Patience()
        while True:
            running = self._running()
            try:
                orders = await self._hello(running)
            except Unavailable as error:
                await patience.wait("hello", error)
                continue
            except ResoluteError as error:
                log_.error("the scheduler refuses this agent", why=error.message)
            else:
                patience = Patience()
                on_ready()
                await self._obey(orders, running)
            await self._until_the_next_hello()

    async def _hello(self, running: Collection[str]) -> AgentOrders:
        self._hello_soon.clear()
        hello = AgentHello(
            agent_id=self._settings.id,
            pool=self._settings.pool,
            slots=self._slots,
            host=self._host,
            version=self._version,
            running=tuple(running),
        )
        return await self._bus.ask(subjects.agent(self._settings.id, "hello"), hello, AgentOrders, ANSWER_S)

    async def _until_the_next_hello(self) -> None:
        try:
            async with asyncio.timeout(self._settings.hello_s):
                await self._hello_soon.wait()
        except TimeoutError:
            self._forget_old_tasks()

    def _running(self) -> list[str]:
        """The tasks that run, or whose end is not in the log yet."""
        return [resources_id for resources_id, task in self._tasks.items() if not task.reported]

    # ------------------------------------------------------------ orders of the scheduler

    async def _pushed(self, orders: AgentOrders) -> None:
        await self._obey(orders, ())

    async def _obey(self, orders: AgentOrders, asked_about: Collection[str]) -> None:
        """`asked_about`: the tasks that were in the hello which these orders answer; the orders say nothing about tasks
        that started later."""
        for stop in orders.stop:
            await self._stop(stop)
        if orders.complete:
            self._report_again(orders, asked_about)
            wanted = {
                *orders.keep,
                *(s.placement.resources_id for s in orders.start),
                *(s.resources_id for s in orders.stop),
            }
            for resources_id in asked_about:
                if resources_id not in wanted and not self._tasks[resources_id].ended:
                    await self._ask_to_end(self._tasks[resources_id], "no allocation owns it any more")
        for start in orders.start:
            self._start(start)

    async def _stop(self, order: StopTask) -> None:
        task = self._tasks.get(order.resources_id)
        if task is None:
            entry = Entry(order.resources_id, order.allocation_id, "", 0, 0, (), self._settings.pool)
            self._report_missing(entry, Exit(None, order.reason))
        elif not order.peer_failed:
            await self._ask_to_end(task, order.reason)
        elif order.resources_id not in self._left_to_end:
            self._left_to_end.add(order.resources_id)
            self._group.create_task(self._leave_to_end(task, order.reason))

    async def _leave_to_end(self, task: Task, reason: str) -> None:
        """Ask a task to end when it has not ended by itself in time. Meanwhile the scheduler repeats the order."""
        try:
            if not await task.ends_within(self._settings.grace_s):
                await self._ask_to_end(task, reason)
        finally:
            self._left_to_end.discard(task.entry.resources_id)

    def _report_again(self, orders: AgentOrders, asked_about: Collection[str]) -> None:
        """Report the end of a task once more where the scheduler still gives orders about the task although its end was
        reported before the hello: the report did not reach the pool of the task, which would hold its slots for
        ever."""
        ordered = {*(one.placement.resources_id for one in orders.start), *(one.resources_id for one in orders.stop)}
        for resources_id in ordered.difference(asked_about):
            task = self._tasks.get(resources_id)
            if task is not None and task.reported and self._watching[resources_id].done():
                log_.warning("an end is reported again", resources_id=resources_id, pool=self._settings.pool)
                self._attend(task, task.report_again, task.report_again)

    async def _ask_to_end(self, task: Task, reason: str) -> None:
        """Asks one task to end. An exception is only logged: other tasks have to be asked too, and the scheduler
        repeats the order."""
        try:
            await task.stop(reason)
        except Exception:
            log_.exception("a task cannot be asked to end", resources_id=task.entry.resources_id)

    def _start(self, order: StartTask) -> None:
        entry = entry_for(order, self._settings.pool)
        if self._closing or entry.resources_id in self._tasks:
            return
        if order.started:
            self._report_missing(entry, Exit(None, f"agent {self._settings.id} no longer has it"))
        elif self._slots_taken(entry):
            self._waits_for_slots = True
        else:
            self._launch(entry, order)

    def _launch(self, entry: Entry, order: StartTask) -> None:
        log_.info("starting", resources_id=entry.resources_id, allocation_id=entry.allocation_id)
        try:
            order = ports.with_port(order, self._ports_taken())
            entry = replace(entry, ports=ports.proxied(order.spec))
            self._context.ledger.write(entry)
        except CannotStart as error:
            return self._report_missing(entry, Exit(CANNOT_START, error.message))
        except OSError as error:
            # An agent that is started next would not know of a task that is not in the ledger.
            return self._report_missing(entry, Exit(CANNOT_START, f"the work directory of the agent: {error}"))
        task = Task(entry, self._context)
        self._watch(task, lambda: self._launch_with_secrets(order, task))

    async def _launch_with_secrets(self, order: StartTask, task: Task) -> Launch:
        """Raises CannotStart."""
        runtime = self._runtimes.find(needs_in(order))
        return runtime.launch(await opened(order, self._context.requests, task.must_be_wanted))

    def _slots_taken(self, entry: Entry) -> bool:
        """Whether a task that has not ended yet holds the slots: one that counts as lost and is being stopped. The
        scheduler repeats the order."""
        taken = {slot for task in self._tasks.values() if not task.ended for slot in task.entry.slot_ids}
        return not taken.isdisjoint(entry.slot_ids)

    def _ports_taken(self) -> set[int]:
        """The ports of tasks that have not ended; they may not have been opened yet."""
        return {port.number for task in self._tasks.values() if not task.ended for port in task.entry.ports}

    async def door(self, resources_id: str, number: int | None) -> Door:
        """Where a port of a task is reached from here. Raises NotFound and Refused."""
        task = self._tasks.get(resources_id)
        if task is None or task.ended:
            raise NotFound(f"agent {self._settings.id} does not run the task (any more)")
        port = ports.asked_for(task.entry.ports, number)
        address = await self._context.runtime.address(resources_id)
        if not address:
            before = list(self._tasks.values())[: list(self._tasks).index(resources_id)]
            ports.check_own(port, [one.entry for one in before if not one.ended])
        return Door(address or ports.LOOPBACK, port)

    async def _tidying(self) -> None:
        """Ends what no known task owns: left behind by an agent that lost its ledger, or that died as a task began."""
        while True:
            try:
                await self._context.runtime.tidy(self._tasks.keys())
            except Exception:
                log_.exception("not tidied")  # known tasks are not affected
            await asyncio.sleep(TIDY_S)

    def _report_missing(self, entry: Entry, found: Exit) -> None:
        task = Task(entry, self._context)
        self._attend(task, lambda: task.report_missing(found), lambda: task.report_missing(found))

    def _watch(self, task: Task, launch: Callable[[], Awaitable[Launch]] | None) -> None:
        self._attend(task, lambda: task.run(launch), lambda: task.run(None))

    def _attend(self, task: Task, work: Callable[[], Awaitable[None]], again: Callable[[], Awaitable[None]]) -> None:
        """`again`: what to do after `work` has failed, which is what the next agent would do with the task."""

        async def attend() -> None:
            await self._run_with_retries(task, work, again)
            if self._waits_for_slots:  # the slots of the ended task may be the ones that an order waits for
                self._waits_for_slots = False
                self._hello_soon.set()

        resources_id = task.entry.resources_id
        self._tasks[resources_id] = task
        self._watching[resources_id] = self._group.create_task(attend(), name=resources_id)

    async def _run_with_retries(
        self, task: Task, work: Callable[[], Awaitable[None]], again: Callable[[], Awaitable[None]]
    ) -> None:
        """Does `work`, and after an exception `again`, several times; then gives the task up. So a bug that one task
        causes does not end the agent, which has other tasks."""
        for pause_s in self.try_again_after_s:
            try:
                return await work()
            except Exception:
                log_.exception("watching a task failed", resources_id=task.entry.resources_id)
                await asyncio.sleep(pause_s)
                work = again
        try:
            await task.give_up("the agent could not look after it; the agent's log says why")
        except Exception:
            log_.exception("a task cannot be given up", resources_id=task.entry.resources_id)

    def _forget_old_tasks(self) -> None:
        before_s = time.time() - self._settings.remember_s
        for resources_id, task in list(self._tasks.items()):
            reported_at_s = task.entry.reported_at_s
            if reported_at_s is not None and reported_at_s < before_s and self._watching[resources_id].done():
                del self._tasks[resources_id], self._watching[resources_id]
                self._context.ledger.remove(resources_id)
