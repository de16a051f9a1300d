"""aiohttp's client over connections that agents open: one pool of connections for each port of a task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.tracing import Trace

from resolute.api.proxy.dials import Dials, Door
from resolute.api.proxy.limits import ProxySettings
from resolute.proto.errors import ResoluteError

FORGET_S = 120.0
"""A pool that nothing has used for so long is closed."""


class NotHttp(ResoluteError):
    """The port is declared as one that does not speak HTTP."""

    code = "invalid"
    http_status = 400


class Dialled(aiohttp.BaseConnector):
    """Connections to one door."""

    def __init__(self, dials: Dials, door: Door, settings: ProxySettings) -> None:
        super().__init__(keepalive_timeout=settings.idle_s, limit=settings.connections_per_task)
        self._dials, self._door = dials, door

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        link = await self._dials.connect(self._door)
        if link.tcp:
            link.transport.abort()
            raise NotHttp("this port of the task is declared with proxy_tcp: it is reached over a WebSocket only")
        protocol: ResponseHandler = self._factory()
        link.hand_over(protocol)
        return protocol


class Clients:
    """The HTTP clients of this gateway, by door."""

    def __init__(self, dials: Dials, settings: ProxySettings) -> None:
        self.dials, self.settings = dials, settings
        self._sessions: dict[Door, aiohttp.ClientSession] = {}
        self._used: dict[Door, tuple[int, float]] = {}
        """How many requests use it now, and when the last one began."""

    @asynccontextmanager
    async def of(self, door: Door) -> AsyncIterator[aiohttp.ClientSession]:
        """The client for this door, which is kept for as long as the request needs it."""
        session = self._sessions.get(door)
        if session is None:
            await self._forget_old()
            session = self._sessions[door] = self._session(door)
        users, _ = self._used.get(door, (0, 0.0))
        self._used[door] = (users + 1, time.monotonic())
        try:
            yield session
        finally:
            users, since = self._used[door]
            self._used[door] = (users - 1, since)

    def _session(self, door: Door) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=Dialled(self.dials, door, self.settings),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=self.settings.head_bytes,
            max_field_size=self.settings.head_bytes,
            read_bufsize=2**18,
        )

    async def _forget_old(self) -> None:
        before = time.monotonic() - FORGET_S
        for door, (users, since) in list(self._used.items()):
            if users == 0 and since < before:
                del self._used[door]
                await self._sessions.pop(door).close()

    async def close(self) -> None:
        sessions = list(self._sessions.values())
        self._sessions.clear()
        self._used.clear()
        await asyncio.gather(*(session.close() for session in sessions))
