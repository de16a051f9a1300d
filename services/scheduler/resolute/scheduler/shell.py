"""The shell of the scheduler: it handles commands and reports, appends events, and sends orders to agents."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar, cast
from uuid import uuid4

import structlog

from resolute import codec
from resolute.bus import subjects
from resolute.eventlog import Appended
from resolute.proto import streams
from resolute.proto.errors import Failed, NotFound, Refused, ResoluteError, Unavailable, Unserved
from resolute.proto.message import Cause, Command, Event, Object, Recorded, Reply
from resolute.proto.owners import TaskOwner, owner_named
from resolute.proto.pool import (
    AgentHeartbeat,
    AgentHello,
    AgentJoined,
    AgentLost,
    AgentOrders,
    AllocationRequested,
    CheckFit,
    KillAllocation,
    RequestAllocation,
    StartTask,
    TaskReport,
    reference_in,
)
from resolute.proto.tasks import DescribeTask, TaskDescription, TaskSpec
from resolute.scheduler import orders, reactions
from resolute.scheduler.leases import Leases
from resolute.scheduler.provisioner.shell import ProviderOf, Provisioner, provider_of
from resolute.scheduler.rules import Rules, configured_rules, rules_of
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling import configured, fit, pool
from resolute.scheduling.allocation import Allocation, Share
from resolute.scheduling.decisions import (
    ConfigurePools,
    EnforceDeadlines,
    ExpireLease,
    LeavePool,
    PoolCommand,
    PoolInput,
    decide,
)
from resolute.service import AgentMessages, Aggregates, Context, Follower, Reactions, Snapshots, serve_commands, tokens

log_ = structlog.get_logger()

T = TypeVar("T")

CONFIGURATION = "configuration"
"""The actor of events that a scheduler records because it was started with other settings."""

KEPT = 1000
"""For how many allocations the specification and the trace are kept in memory. A specification that was dropped is
asked for again; a trace that was dropped is left out of the order."""
DESCRIBE_TIMEOUT_S = 3.0


async def serve(
    context: Context, settings: SchedulerSettings | None = None, provider_of: ProviderOf = provider_of
) -> None:
    """`provider_of`: returns what starts and ends the instances of an elastic pool."""
    await Scheduler(context, settings or SchedulerSettings(), provider_of).run()


class Scheduler:
    """One scheduler. It owns the streams of the pools together with its replicas; the expected versions of their
    appends keep them in agreement. Leases and specifications of tasks are in memory only."""

    def __init__(self, context: Context, settings: SchedulerSettings, provider_of: ProviderOf = provider_of) -> None:
        self._context, self._settings = context, settings
        self._pools = Aggregates(
            context.log,
            pool.Pool,
            pool.evolve,
            snapshots=Snapshots(context.log, context.secret, "resolute.scheduling"),
        )
        pools = {name: settings.pool(name) for name in settings.pool_names}
        self._rules: dict[str, tuple[Object, Rules]] = {}
        """By pool, the recorded settings and the rules that follow from them. The pools are those of the settings and
        those of the log."""
        self._waits_s: dict[str, float] = {}
        self._leases = Leases(self._waits_s)
        self._provisioners = {
            name: Provisioner(
                pool, provider_of(pool), partial(self._pools.state, _stream(name)), partial(self._decide, name)
            )
            for name, pool in pools.items()
            if pool.provider is not None
        }
        self._specs: OrderedDict[str, TaskSpec] = OrderedDict()
        self._traces: OrderedDict[str, str] = OrderedDict()

    async def run(self) -> None:
        await self._compare_pools()
        await self._grant_leases()
        bus = self._context.bus
        messages = (
            AgentMessages("hello", AgentHello, self._hello, lambda hello: hello.agent_id, self._described),
            AgentMessages("report", TaskReport, self._report, lambda report: f"{report.resources_id}/{report.what}"),
        )
        reacting = Reactions(
            "scheduler-orders",
            self._context.log,
            self._react,
            reactions.partition_of,
            attempt_lock=self._context.attempt_lock,
        )
        async with AsyncExitStack() as stack:
            served = await serve_commands(self._context, "scheduler", self._command, messages)
            stack.push_async_callback(served.close)
            # Every replica receives every heartbeat: each keeps leases of its own.
            heard = await bus.listen(subjects.agent("*", "heartbeat"), AgentHeartbeat, self._heartbeat)
            stack.push_async_callback(heard.close)
            async with asyncio.TaskGroup() as group:
                group.create_task(Follower(reacting, self._context.log, bus).run())
                group.create_task(self._tick())
                for provisioner in self._provisioners.values():
                    group.create_task(provisioner.run())
                self._context.on_ready("scheduler")

    # ------------------------------------------------------------ which pools there are

    async def _compare_pools(self) -> None:
        """Records where the settings differ from the log: which pools there are, and the settings of each."""
        recorded = map(streams.key_of, await self._context.log.stream_names(streams.POOL.name))
        for pool_name in dict.fromkeys([*self._settings.pool_names, *recorded]):
            await self._configure(pool_name)

    async def _configure(self, pool_name: str) -> None:
        names = self._settings.pool_names
        is_named = pool_name in names
        state = await self._pools.state(_stream(pool_name))
        settings = configured.settings_of(self._settings.pool(pool_name)) if is_named else None
        differs = settings is not None and settings != state.settings
        if differs or (state.removed is not None) == is_named:
            request = ConfigurePools(pool_name, names, settings)
            log_.warning("the configuration changes a pool", pool=pool_name, named=is_named, settings_differ=differs)
            cause = Cause(f"configured/{uuid4()}", actor=CONFIGURATION)
            await self._pools.execute(_stream(pool_name), self._deciding(pool_name, request, cause), cause)
        self._rules_of(pool_name, await self._pools.state(_stream(pool_name)))

    def _rules_of(self, pool_name: str, state: pool.Pool) -> Rules:
        """The rules by the recorded settings: a scheduler with other settings may have started since this one."""
        recorded, rules = self._rules.get(pool_name, (None, None))
        if rules is None or recorded is not state.settings:
            rules = rules_of(pool_name, state.settings, self._settings)
            self._rules[pool_name] = state.settings, rules
            self._waits_s[pool_name] = rules.settings.agent_reconnect_wait
        return rules

    async def _check_pool(self, pool_name: str, request: PoolInput) -> None:
        """Raises NotFound when this scheduler does not look after the pool.

        A pool that the settings do not name is looked after while the log has it: an allocation that is requested there
        waits, and tasks there go on, end, and can be stopped. An agent is refused there unless it still runs a task.
        """
        if pool_name in self._settings.pool_names:
            return
        if not isinstance(request, RequestAllocation):
            state = await self._pools.state(_stream(pool_name))
            agent = state.agents.get(request.agent_id) if isinstance(request, AgentHello) else None
            if not state.is_known or (isinstance(request, AgentHello) and (agent is None or not agent.shares)):
                raise self._no_pool(pool_name)
        await self._configure(pool_name)

    def _no_pool(self, pool_name: str) -> NotFound:
        return NotFound(f"pool: no pool {pool_name!r}; there are {', '.join(self._settings.pool_names)}")

    # ------------------------------------------------------------ deciding

    async def _decide(self, pool_name: str, request: PoolInput, cause: Cause) -> Appended:
        await self._check_pool(pool_name, request)
        return await self._pools.execute(_stream(pool_name), self._deciding(pool_name, request, cause), cause)

    def _deciding(self, pool_name: str, request: PoolInput, cause: Cause) -> Callable[[pool.Pool], list[Event]]:
        def on(state: pool.Pool) -> list[Event]:
            if isinstance(request, ConfigurePools):  # the queue is ordered by the new rules at once
                rules = configured_rules(pool_name, self._settings)
            else:
                rules = self._rules_of(pool_name, state)
            return decide(request, state, self._context.now(), rules.policy, rules.default_priority, cause.actor)

        return on

    async def _command(self, command: Command, cause: Cause) -> Reply:
        if isinstance(command, CheckFit):
            return await self._check_fit(command)
        request = cast(PoolCommand, command)
        return Reply((await self._decide(request.pool, request, cause)).position)

    async def _check_fit(self, question: CheckFit) -> Reply:
        if question.pool not in self._settings.pool_names:
            raise self._no_pool(question.pool)
        state = await self._pools.state(_stream(question.pool))
        return Reply(0, codec.dump(fit.check(question, state, self._rules_of(question.pool, state).settings)))

    async def _report(self, report: TaskReport) -> Reply:
        self._leases.renew(report.pool, report.agent_id, _now_s())
        cause = Cause(f"report/{report.resources_id}/{report.what}", actor=f"agent:{report.agent_id}")
        return Reply((await self._decide(report.pool, report, cause)).position)

    async def _heartbeat(self, heartbeat: AgentHeartbeat) -> None:
        self._leases.renew(heartbeat.pool, heartbeat.agent_id, _now_s())

    # ------------------------------------------------------------ agents

    async def _hello(self, hello: AgentHello) -> tuple[str, orders.Plan]:
        """The agent's pool, and the orders of the pool for the agent."""
        await self._check_pool(hello.pool, hello)
        await self._leave_others(hello)
        await self._decide(hello.pool, hello, Cause(f"hello/{uuid4()}", actor=f"agent:{hello.agent_id}"))
        self._leases.renew(hello.pool, hello.agent_id, _now_s())
        state = await self._pools.state(_stream(hello.pool))
        return hello.pool, orders.plan(state, hello.agent_id, frozenset(hello.running))

    async def _described(self, found: tuple[str, orders.Plan]) -> AgentOrders:
        """The answer to a hello. The owner of each task to start is asked for its specification, which may take
        time."""
        pool_name, plan = found
        described = [await self._start(pool_name, allocation, share) for allocation, share in plan.start]
        start = [order for order in described if order is not None]
        start = start[: orders.that_fit([len(codec.to_bytes(order)) for order in start])]
        return AgentOrders(tuple(start), plan.stop, plan.keep, complete=True)

    async def _leave_others(self, hello: AgentHello) -> None:
        """An agent is in one pool at a time. When it has moved to `hello.pool`, its former pools count its tasks there
        as lost: the agent does not run them any more."""
        for other in self._leases.pools_of(hello.agent_id):
            if other != hello.pool:
                log_.warning("agent left its pool", agent_id=hello.agent_id, pool=other, now_in=hello.pool)
                await self._decide(other, LeavePool(hello.agent_id, hello.pool), Cause(f"left/{uuid4()}"))
                self._leases.forget(other, hello.agent_id)

    async def _start(self, pool_name: str, allocation: Allocation, share: Share) -> StartTask | None:
        """The order to start one share; None when the owner of its task does not answer, or answers that nothing is to
        run. In the second case the allocation is killed."""
        try:
            spec = await self._describe(allocation)
        except (Unavailable, Failed) as error:
            log_.warning("no task specification yet", allocation_id=allocation.id, why=error.message)
            return None
        except ResoluteError as error:
            kill = KillAllocation(pool_name, allocation.id, f"it cannot be started: {error.message}")
            await self._decide(pool_name, kill, Cause(f"undescribed/{allocation.id}"))
            return None
        return StartTask(
            placement=share.placement,
            spec=spec,
            token=tokens.mint(self._context.secret, spec.task_id, allocation.id),
            rank=share.rank,
            shares=len(allocation.shares),
            started=share.address is not None,
            traceparent=self._traces.get(allocation.id),
        )

    async def _describe(self, allocation: Allocation) -> TaskSpec:
        """What the allocation runs. That does not change during its life, so the owner is asked once.

        Raises Unavailable or Failed while the owner does not answer, and Refused with the owner's reason.
        """
        found = self._specs.get(allocation.id)
        if found is None:
            request = allocation.request
            owner = owner_named(request.task_owner)
            if owner is None:
                raise Unavailable(f"this release knows no owner of tasks that is named {request.task_owner!r}")
            answer = await self._ask(owner, DescribeTask(allocation.id, request.task_id, **reference_in(request)))
            if answer.spec is None:
                raise Refused(answer.refusal)
            found = answer.spec
            _keep(self._specs, allocation.id, found)
        return found

    async def _ask(self, owner: TaskOwner, question: DescribeTask) -> TaskDescription:
        """During an upgrade all processes of the owner may be of the last release: these are asked by the command that
        the last release serves."""
        bus = self._context.bus
        try:
            return await bus.ask(owner.subject, question, TaskDescription, DESCRIBE_TIMEOUT_S)
        except Unserved:
            if owner.former_question is None:
                raise
            asked = owner.former_question(question)
            # The same cause each time: an owner whose processes die of the question recognises it (`poison_guard`).
            reply = await bus.request(asked, Cause(f"describe/{question.allocation_id}"), DESCRIBE_TIMEOUT_S)
            return TaskDescription(codec.load(TaskSpec, reply.data))

    # ------------------------------------------------------------ reactions

    async def _react(self, recorded: Recorded) -> None:
        if isinstance(recorded.event, AllocationRequested) and recorded.cause.traceparent:
            _keep(self._traces, recorded.event.allocation_id, recorded.cause.traceparent)
        pool_name = recorded.key
        if pool_name in self._provisioners and recorded.category == streams.POOL.name:
            self._provisioners[pool_name].nudge()
        self._note_lease(pool_name, recorded.event)
        if not isinstance(recorded.event, reactions.ANSWERED):
            return
        state = await self._pools.state(recorded.stream, at_least=recorded.version)
        for allocation, share in reactions.to_start(recorded.event, state):
            order = await self._start(pool_name, allocation, share)
            if order is not None:
                await self._send(share.placement.agent_id, AgentOrders(start=(order,)))
        for agent_id, stop in reactions.to_stop(recorded.event, state):
            await self._send(agent_id, AgentOrders(stop=(stop,)))

    def _note_lease(self, pool_name: str, event: Event) -> None:
        """Renews and drops leases by events. A hello reaches one replica only, and each replica has its own leases."""
        match event:
            case AgentJoined(agent_id=agent_id):
                self._leases.renew(pool_name, agent_id, _now_s())
            case AgentLost(agent_id=agent_id):
                self._leases.forget(pool_name, agent_id)

    async def _send(self, agent_id: str, message: AgentOrders) -> None:
        await self._context.bus.publish(subjects.agent(agent_id, "orders"), message)

    # ------------------------------------------------------------ time

    async def _grant_leases(self) -> None:
        for pool_name in self._rules:
            state = await self._pools.state(_stream(pool_name))
            for agent in state.agents.values():
                if agent.present:
                    self._leases.renew(pool_name, agent.id, _now_s())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._settings.tick_s)
            self._leases.tick(_now_s(), self._settings.tick_s)
            try:
                await self._expire_leases()
                await self._enforce_deadlines()
            except Unavailable as error:
                log_.warning("leases and deadlines were not checked", why=error.message)

    async def _expire_leases(self) -> None:
        if self._leases.doubtful(_now_s()):
            try:
                await self._context.bus.last_fact()
            except Unavailable:
                # While the bus is away no message can arrive, so silence does not mean that an agent is lost.
                return self._leases.renew_all(_now_s())
        for pool_name, agent_id, silent_s in self._leases.expired(_now_s()):
            await self._decide(pool_name, ExpireLease(agent_id, silent_s), Cause(f"silence/{uuid4()}"))
            self._leases.forget(pool_name, agent_id)
            log_.warning("agent lost", agent_id=agent_id, pool=pool_name, silent_s=silent_s)

    async def _enforce_deadlines(self) -> None:
        for pool_name in list(self._rules):
            state = await self._pools.state(_stream(pool_name))
            first = next(iter(state.deadlines), None)
            if first is not None and first[0] <= self._context.now():
                await self._decide(pool_name, EnforceDeadlines(), Cause(f"deadline/{uuid4()}"))


def _keep(kept: OrderedDict[str, T], allocation_id: str, value: T) -> None:
    kept[allocation_id] = value
    if len(kept) > KEPT:
        kept.popitem(last=False)


def _stream(pool_name: str) -> str:
    return streams.POOL.stream(pool_name)


def _now_s() -> float:
    """The monotonic clock, for leases only: a change of the wall clock must not look like silence."""
    return asyncio.get_running_loop().time()
