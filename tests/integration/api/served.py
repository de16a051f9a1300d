"""A gateway, the services behind it, a real agent, and a task that serves HTTP: all in one process.

The agent's runtime is a pretence: the program of the task is a server that the test itself runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from resolute.agent.agent import Agent
from resolute.agent.ledger import Ledger
from resolute.agent.registry import OpenRuntime, Runtimes
from resolute.agent.settings import AgentSettings
from resolute.proto.pool import Slot
from tests.integration.api.running import PATIENCE_S, Client, Running, running
from tests.ports import free_port
from tests.unit.agent.test_agent import PRETENDED, Pretence, launch

CSP = "Content-Security-Policy"


@dataclass
class Program:
    """What a task serves: it shows what came, and answers with what a test wants."""

    port: int = field(default_factory=free_port)
    seen: list[web.Request] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client of a stream that has no end has left."""
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has all but the last of the events."""
    sent: int = 0
    """Bytes of that stream."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        app = web.Application(client_max_size=2**30)
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        try:
            yield
        finally:
            await runner.cleanup()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        match request.path.rpartition("/")[2]:
            case "echo":
                return web.Response(body=await request.read(), headers={"X-Method": request.method})
            case "events":
                return await self._events(request)
            case "endless":
                return await self._endless(request)
            case "broken":
                return await self._broken(request)
            case "file":
                return web.FileResponse(Path(__file__))
            case "socket":
                return await self._socket(request)
            case "answered":
                headers = [(name, value) for name, value in request.query.items() if name != "status"]
                return web.Response(status=int(request.query.get("status", 200)), headers=headers)
        return web.json_response({"path": request.raw_path, "headers": [[*pair] for pair in request.headers.items()]})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for number in range(3):
            if number == 2:
                await self.go_on.wait()
            await response.write(b"data: %d\n\n" % number)
        return response

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(bytes(65_536))
                self.sent += 65_536
        except (ConnectionError, asyncio.CancelledError):
            self.closed.set()
            raise

    async def _broken(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = 100
        await response.prepare(request)
        await response.write(b"a part")
        assert request.transport is not None
        request.transport.close()
        return response

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=("v1.kernel.example",), max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data)
        return socket


@dataclass
class Served:
    cluster: Running
    user: Client
    program: Program
    runtime: Pretence
    ledger: Ledger
    task_id: str = ""
    kind: str = "command"

    @property
    def ports(self) -> list[int]:
        """Those of the tasks that run; the one that the agent picked comes first."""
        return [port.number for entry in self.ledger.load() for port in entry.ports]

    @property
    def path(self) -> str:
        return f"/proxy/{self.task_id}/"

    async def start(self, *ports: dict[str, Any], running: bool = True, kind: str = "command") -> str:
        """Starts a task with these `proxy_ports`, and waits until the gateway shows that it runs."""
        self.kind = kind
        named = ports or ({"proxy_port": self.program.port, "default_service_id": True},)
        config = {"entrypoint": ["serve"], "resources": {"slots": 0}, "environment": {"proxy_ports": list(named)}}
        answer = await self.user.post(f"/api/v1/{kind}s", {"config": config})
        self.task_id = answer[kind]["id"]
        if running:
            await self.until_state("STATE_RUNNING")
        return self.task_id

    async def until_state(self, state: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            path = f"/api/v1/{self.kind}s/{self.task_id}"
            while (await self.user.get(path))[self.kind]["state"] != state:  # noqa: ASYNC110  (over HTTP)
                await asyncio.sleep(0.01)


@asynccontextmanager
async def served(dsn: str, folder: Path, **settings: Any) -> AsyncIterator[Served]:
    program, runtime = Program(), Pretence()
    async with running(dsn, services=True, **settings) as cluster, program.serving():
        agent_settings = AgentSettings(id="a1", hello_s=0.1, heartbeat_s=0.1, logs_wait_s=0.1, work_dir=folder)
        ledger = Ledger(folder / "ledger")
        runtimes = Runtimes(PRETENDED, OpenRuntime("pretence", frozenset(), runtime, launch))
        slots = (Slot(0, "cpu"), Slot(1, "cpu"))
        agent = Agent(cluster.bus, runtimes, ledger, agent_settings, slots, "127.0.0.1", "1")
        working = asyncio.create_task(agent.run())
        try:
            yield Served(cluster, await cluster.nobody.login("determined"), program, runtime, ledger)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
