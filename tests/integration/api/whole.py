"""A whole cluster in one process, apart from its agents, which are a few lines each: real Postgres, real NATS."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from pydantic import SecretStr

import resolute.api.shell
import resolute.checkpoint.shell
import resolute.directory.shell
import resolute.relay.shell
import resolute.scheduler.shell
import resolute.searcher.shell
import resolute.tasks.shell
from resolute.api.settings import ApiSettings
from resolute.bus import subjects
from resolute.bus.nats import NatsBus
from resolute.config.webhooks import WebhookSettings
from resolute.directory.settings import DirectorySettings
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.pool import AgentHeartbeat, AgentHello, AgentOrders, Slot, StartTask, TaskReport
from resolute.service import Context
from tests.integration.api.running import PATIENCE_S, SECRET, Client
from tests.ports import free_port

POOL = "default"

NOWHERE = "http://127.0.0.1:9/"
"""An address for webhooks at which no server listens."""

DIRECTORY = DirectorySettings(webhooks=WebhookSettings(allowed_networks=("127.0.0.1",)))
"""Nothing is looked up in the names of the network."""

CONFIG = """
name: measured
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: %d}
max_restarts: 0
"""


@dataclass
class Agent:
    """Starts nothing, and says that it did."""

    name: str
    bus: NatsBus
    slots: int
    pool: str = POOL
    orders: asyncio.Queue[StartTask] = field(default_factory=asyncio.Queue)

    async def join(self) -> None:
        await self.bus.listen(subjects.agent(self.name, "orders"), AgentOrders, self._order)
        await self.hello()

    async def hello(self) -> None:
        """Says that it is there, and hears again what it should be doing."""
        slots = tuple(Slot(number, "cpu") for number in range(self.slots))
        hello = AgentHello(self.name, self.pool, slots, self.name, "0.38.1", ())
        await self._order(await self.bus.ask(subjects.agent(self.name, "hello"), hello, AgentOrders))

    async def _order(self, orders: AgentOrders) -> None:
        for start in orders.start:
            self.orders.put_nowait(start)

    async def given(self) -> StartTask:
        """The next share this agent is ordered to start."""
        return await asyncio.wait_for(self.orders.get(), PATIENCE_S)

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Inside, heartbeats renew the agent's lease."""
        beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self) -> None:
        while True:
            await self.bus.publish(subjects.agent(self.name, "heartbeat"), AgentHeartbeat(self.name, self.pool))
            await asyncio.sleep(0.1)

    async def report(self, order: StartTask, what: str, exit_code: int | None = None) -> None:
        report = TaskReport(
            self.name,
            self.pool,
            order.spec.allocation_id,
            order.placement.resources_id,
            what,
            address=f"{self.name}.example",
            exit_code=exit_code,
        )
        await self.bus.ask(subjects.agent(self.name, "report"), report, Reply)


@dataclass
class Whole:
    log: PostgresEventLog
    bus: NatsBus
    settings: ApiSettings
    context: Context
    nobody: Client
    agents: list[Agent] = field(default_factory=list)
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    user: Client = field(init=False)

    async def start(self, name: str, service: Coroutine[Any, Any, None]) -> None:
        self.ready.discard(name)
        task = self.running[name] = asyncio.create_task(service, name=name)
        await self.until(lambda: name in self.ready or task.done())
        if task.done():
            await task

    async def start_gateway(self) -> None:
        await self.start("api", resolute.api.shell.serve(self.context, self.settings))

    async def stop(self, name: str) -> None:
        task = self.running.pop(name)
        task.cancel()
        await asyncio.wait({task})

    async def until(self, holds: Callable[[], object]) -> None:
        """Until `holds()`, or what it promises, is true."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = holds()
                if await found if inspect.isawaitable(found) else found:
                    return
                await asyncio.sleep(0.002)

    async def ask(self, command: Command, cause: str) -> Reply:
        return await self.bus.request(command, Cause(cause))

    async def told(self, kind: type[Event]) -> list[Any]:
        """Every event of a kind that the log holds, in order."""
        return [r.event for r in await self.log.read_all(0, 10_000) if isinstance(r.event, kind)]

    async def until_told(self, kind: type[Event], count: int = 1) -> list[Any]:
        """The same, once there are `count` of them: for events that a service records when it hears of another one,
        a moment after the answer to the request that began it."""

        async def enough() -> bool:
            return len(await self.told(kind)) >= count

        await self.until(enough)
        return await self.told(kind)

    async def agent(self, slots: int = 1, pool: str = POOL) -> Agent:
        agent = Agent(f"agent-{len(self.agents)}", self.bus, slots, pool)
        self.agents.append(agent)
        await agent.join()
        return agent

    async def submit(self, slots: int = 1, config: str = CONFIG) -> int:
        body = {"config": config % slots if "%d" in config else config, "modelDefinition": [], "activate": True}
        body["modelDefinition"] = [{"path": "train.py", "type": 48, "content": "cHJpbnQoKQ==", "mode": 420}]
        return int((await self.user.post("/api/v1/experiments", body))["experiment"]["id"])

    async def task(self, agent: Agent) -> tuple[StartTask, Client]:
        """A trial's next run, started on `agent`, and the client that its own code would be."""
        order = await agent.given()
        await agent.report(order, "started")
        return order, self.known_as(order.token)

    def known_as(self, token: str) -> Client:
        return Client(self.nobody.base, self.nobody.http, token)


async def results(client: Client, path: str, **query: Any) -> list[Any]:
    """What a streaming route answers, line by line."""
    headers = {"Authorization": f"Bearer {client.token}"}
    async with client.http.get(client.base + path, params=query, headers=headers) as response:
        assert response.status == 200, await response.text()
        return [orjson.loads(line)["result"] async for line in response.content]


@asynccontextmanager
async def whole(dsn: str, nats_url: str, storage: Path, **settings: Any) -> AsyncIterator[Whole]:
    log, bus = await PostgresEventLog.open(dsn), await NatsBus.open(nats_url)
    port = free_port()
    known = ApiSettings(
        database_url=dsn,
        port=port,
        secret=SecretStr(SECRET),
        checkpoint_storage={"type": "shared_fs", "host_path": str(storage)},
        **settings,
    )
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        cluster = Whole(log, bus, known, Context(log, bus), Client(f"http://127.0.0.1:{port}", http))
        cluster.context = context = Context(log, bus, on_ready=cluster.ready.add, secret=SECRET.encode())
        try:
            await cluster.start("relay", resolute.relay.shell.serve(context))
            await cluster.start("directory", resolute.directory.shell.serve(context, DIRECTORY))
            await cluster.start("searcher", resolute.searcher.shell.serve(context))
            await cluster.start("tasks", resolute.tasks.shell.serve(context))
            await cluster.start("scheduler", resolute.scheduler.shell.serve(context))
            await cluster.start("checkpoint", resolute.checkpoint.shell.serve(context))
            await cluster.start_gateway()
            cluster.user = await cluster.nobody.login("determined")
            yield cluster
        finally:
            for name in reversed(list(cluster.running)):
                await cluster.stop(name)
            await bus.close()
            await log.close()
