"""Connections between the tasks of this host and the gateways: the agent opens both ends, and copies bytes."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import urlsplit

import structlog

from resolute import codec
from resolute.agent.settings import AgentSettings
from resolute.bus import Bus, subjects
from resolute.proto.errors import NotFound, Refused, ResoluteError, Unavailable
from resolute.proto.proxy import DialFailed, DialTask, Greeting
from resolute.proto.tasks import ProxiedPort

log_ = structlog.get_logger()

LINKS_MAX = 4096
"""Connections that an agent carries at once; each uses two files."""
CONNECT_S = 5.0
"""How long each of the two ends may take to connect."""
UNSENT_BYTES = 512 * 1024
"""When this much waits to be sent to one end, the agent stops reading from the other until it has been sent."""


@dataclass(frozen=True, slots=True)
class Door:
    """A port of a task, and where the agent reaches it."""

    host: str
    port: ProxiedPort


class Doors(Protocol):
    async def door(self, resources_id: str, number: int | None) -> Door:
        """`number`: None for the default port. Raises NotFound and Refused, which say why."""
        ...


class Dialler:
    """Carries out the requests of gateways. `secure`: makes the TLS context for a gateway's listener."""

    def __init__(
        self, bus: Bus, settings: AgentSettings, doors: Doors, secure: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self._bus, self._settings, self._doors = bus, settings, doors
        self._secure = secure or (lambda: _tls(settings))
        self._links = 0

    async def dial(self, wish: DialTask) -> None:
        """Connects the two ends, or says why not. Returns when they are connected."""
        if self._links >= LINKS_MAX:
            return await self._answer(wish, Greeting(wish.ticket, problem=_full(self._settings.id)), None)
        self._links += 1
        task = await self._task(wish)
        if isinstance(task, Greeting):
            self._links -= 1
            return await self._answer(wish, task, None)
        end, port = task
        end.when_closed(self._closed)
        await self._answer(wish, Greeting(wish.ticket, port.tcp), end)

    def _closed(self) -> None:
        self._links -= 1

    async def _task(self, wish: DialTask) -> tuple[End, ProxiedPort] | Greeting:
        """The end at the task; a greeting with the problem where it cannot be reached."""
        try:
            door = await self._doors.door(wish.resources_id, wish.port)
        except (NotFound, Refused) as error:
            return Greeting(wish.ticket, problem=error.message)
        try:
            return await _connected(door.host, door.port.number), door.port
        except (OSError, TimeoutError) as error:
            why = _words(error)
            return Greeting(wish.ticket, problem=f"nothing answers at port {door.port.number} of the task: {why}")

    async def _answer(self, wish: DialTask, greeting: Greeting, task: End | None) -> None:
        try:
            context = self._secure() if wish.secure else None
            name = self._server_name() if wish.secure else None
            gateway = await _connected(wish.host, wish.listener_port, context, name)
        except (OSError, TimeoutError, ValueError) as error:
            if task is not None:
                task.transport.abort()
            await self._say_failed(wish, f"{wish.host}:{wish.listener_port}: {_words(error)}")
            return
        gateway.transport.write(codec.to_bytes(greeting) + b"\n")
        if task is None:
            gateway.transport.close()
        else:
            join(task, gateway)

    async def _say_failed(self, wish: DialTask, why: str) -> None:
        log_.warning("a gateway cannot be reached for a connection to a task", why=why, task=wish.resources_id)
        digest = hashlib.sha256(wish.ticket.encode()).hexdigest()
        agent_id = self._settings.id
        try:
            await self._bus.publish(subjects.agent(agent_id, "dial_failed"), DialFailed(agent_id, digest, why))
        except Unavailable as error:
            log_.debug("the gateway is not informed", why=error.message)

    def _server_name(self) -> str:
        """The name in the gateway's certificate: the one under which tasks know it, whatever the listener's address."""
        return self._settings.master_cert_name or urlsplit(self._settings.master_url).hostname or ""


class End(asyncio.Protocol):
    """One of the two ends. It reads nothing until it is joined with the other one."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.other: End | None = None
        self._lost = False
        self._then: Callable[[], None] = lambda: None

    def when_closed(self, then: Callable[[], None]) -> None:
        """`then` is called once, when this end is closed."""
        self._then = then
        if self._lost:
            then()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport = cast(asyncio.Transport, transport)  # uvloop's are of no class of asyncio
        transport.set_write_buffer_limits(high=UNSENT_BYTES)
        transport.pause_reading()
        _keep_alive(transport)

    def data_received(self, data: bytes) -> None:
        assert self.other is not None, "an end reads only when it is joined"
        self.other.transport.write(data)

    def eof_received(self) -> bool:
        """Passes on that nothing more will be sent. True keeps the other direction open."""
        if self.other is None or not self.other.transport.can_write_eof():
            return False
        self.other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self.other is not None:
            self.other.transport.close()
        self._then()

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.transport.resume_reading()

    @property
    def lost(self) -> bool:
        return self._lost


def join(one: End, other: End) -> None:
    """From now on what comes from one is sent to the other, until either is closed."""
    one.other, other.other = other, one
    for end in (one, other):
        assert end.other is not None
        if end.lost:
            end.other.transport.close()
        else:
            end.transport.resume_reading()


async def _connected(host: str, port: int, context: ssl.SSLContext | None = None, name: str | None = None) -> End:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(CONNECT_S):
        _, end = await loop.create_connection(End, host, port, ssl=context, server_hostname=name)
    return end


def _keep_alive(transport: asyncio.Transport) -> None:
    """Have TCP notice a host that is gone (RFC 9293, 3.8.4)."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _tls(settings: AgentSettings) -> ssl.SSLContext:
    """Raises OSError for a certificate that cannot be read."""
    cert = settings.master_cert_file
    return ssl.create_default_context(cafile=None if cert is None else str(cert))


def _full(agent_id: str) -> str:
    return f"agent {agent_id} carries {LINKS_MAX:,} connections already: close some, and try again"


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {CONNECT_S:g} s"
    if isinstance(error, ResoluteError):
        return error.message
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
