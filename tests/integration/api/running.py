"""A gateway over a real Postgres, with the log and the bus in memory, and a client that speaks to it over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import yarl
from pydantic import SecretStr

import resolute.checkpoint.shell as checkpoint
import resolute.directory.shell as directory
import resolute.relay.shell as relay
import resolute.scheduler.shell as scheduler
import resolute.searcher.shell as searcher
import resolute.tasks.shell as tasks
from resolute.api.gateway import Gateway
from resolute.api.settings import ApiSettings
from resolute.api.shell import connect, listening, prepare
from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.message import Cause, Event
from resolute.service import Context, Follower

Serve = Callable[[Context], Coroutine[Any, Any, None]]

SERVICES: tuple[Serve, ...] = (searcher.serve, tasks.serve, scheduler.serve, checkpoint.serve, relay.serve)

SECRET = "a secret for tests"

PATIENCE_S = 60.0
"""How long a test waits for what other tasks bring about. It takes milliseconds, and longer on a busy machine."""


LOOKING_EVERY_S = 0.02
"""How often the gateway looks for events in the log that no bus announced: tests write into the log themselves."""


@dataclass
class Answer:
    status: int
    body: Any
    headers: Any

    @property
    def error(self) -> str:
        return str(self.body["error"]["error"])


@dataclass
class Client:
    """Someone at the gateway: `token` says who."""

    base: str
    http: aiohttp.ClientSession
    token: str | None = None

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= options.pop("headers", {})
        if "data" not in options:
            options["json"] = body
        # The path as it is: tests choose their own escapes.
        url = yarl.URL(self.base + path, encoded="%" in path)
        async with self.http.request(method, url, headers=headers, **options) as response:
            raw = await response.read()
            is_json = response.content_type == "application/json" and raw.count(b"\n{") == 0
            return Answer(response.status, orjson.loads(raw) if is_json and raw else raw, response.headers)

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.call("GET", path, params=query)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.body

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self.call("POST", path, body)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.body

    async def login(self, username: str, password: str = "") -> Client:
        answer = await self.call(
            "POST", "/api/v1/auth/login", {"username": username, "password": password, "isHashed": False}
        )
        assert answer.status == 200, answer.body
        return Client(self.base, self.http, answer.body["token"])


@dataclass
class Running:
    gateway: Gateway
    log: MemoryEventLog
    bus: MemoryBus
    nobody: Client

    async def tell(self, stream: str, *events: Event) -> None:
        """Write `events` into the log, as the service that owns the stream would, and let the gateway see them."""
        version = len(await self.log.read_stream(stream))
        cause = Cause(f"{stream}@{version}", actor="a test")
        appended = await self.log.append(stream, events, expected_version=version, cause=cause)
        await self.gateway.read.reached(appended.position)

    async def until(self, look: Callable[[], Awaitable[Any]], wanted: Any) -> None:
        """Wait until the gateway answers `wanted`."""
        async with asyncio.timeout(PATIENCE_S):
            while (found := await look()) != wanted:
                assert found is not None
                await self.log.wait_beyond(await self.log.head(), 0.05)


async def refused_within(bound_s: float, refused: Callable[[], Awaitable[bool]]) -> None:
    """Ask until the caller is refused. Only requests that were sent within `bound_s` from now may still be believed;
    how long their answers take on a busy machine does not count."""
    began = time.monotonic()
    while True:
        sent_after_s = time.monotonic() - began
        if await refused():
            return
        assert sent_after_s < bound_s, f"a request that was sent {sent_after_s:.2f} s later was still believed"


def _chosen(services: bool | Sequence[Serve]) -> Sequence[Serve]:
    if isinstance(services, bool):
        services = SERVICES if services else ()
    return (directory.serve, *services)


@asynccontextmanager
async def running(
    dsn: str, log: MemoryEventLog | None = None, *, services: bool | Sequence[Serve] = False, **settings: Any
) -> AsyncIterator[Running]:
    """The directory runs beside the gateway. With `services` the searcher, the scheduler, the checkpoint store and the
    relay run as well, or those that are named: a test that writes the events of a service itself leaves that service
    out."""
    log, bus = log or MemoryEventLog(), MemoryBus()
    told = {"persistence_s": 0.1, **settings}
    known = ApiSettings(database_url=dsn, port=0, secret=SecretStr(SECRET), pool_connections_max=4, **told)
    ready = asyncio.Semaphore(0)
    context = Context(log, bus, on_ready=lambda name: ready.release())
    pool = await connect(known)
    others = [asyncio.create_task(serve(context)) for serve in _chosen(services)]
    try:
        for _ in list(others):
            await asyncio.wait_for(ready.acquire(), PATIENCE_S)
        gateway = await prepare(context, known, pool)
        for consumer in (gateway.read, gateway.streams):
            follower = Follower(consumer, log, bus, check_every_s=LOOKING_EVERY_S)
            others.append(asyncio.create_task(follower.run()))
        async with listening(gateway) as address, aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield Running(gateway, log, bus, Client(f"http://{address[0]}:{address[1]}", http))
    finally:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(pool.close(), 30)
