"""Connections to tasks: each is asked for on the bus, opened by the task's agent, and recognised by its ticket."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

import structlog
from prometheus_client import Counter

from resolute import codec
from resolute.api.proxy.limits import ProxySettings
from resolute.bus import Bus, subjects
from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable
from resolute.proto.proxy import GREETING_BYTES_MAX, DialFailed, DialTask, Greeting, Hop

log_ = structlog.get_logger()

_DIALS = Counter("resolute_api_proxy_dials", "Connections to tasks that agents were asked for", ["outcome"])

UNSENT_BYTES = 512 * 1024
"""When this much waits to be sent to a task, the gateway stops reading from the client."""


class Unreachable(ResoluteError):
    """A port of a task cannot be reached now. `hop`: the part of the way that failed."""

    code = "unavailable"
    http_status = 503

    def __init__(self, hop: Hop, message: str) -> None:
        super().__init__(message)
        self.hop = hop


@dataclass(frozen=True, slots=True)
class Door:
    """A port of a task that runs: where a connection goes. Connections to one door are alike."""

    agent_id: str
    resources_id: str
    port: int | None
    """None for the port at which the task serves people."""


@dataclass(slots=True)
class Link:
    """A connection to a task. Nothing is read from it until it is handed over."""

    transport: asyncio.Transport
    tcp: bool
    """Whether the port is declared as one that does not speak HTTP."""
    first: bytes
    """What the task has sent already."""

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """`protocol` takes the connection from now on."""
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if self.first:
            protocol.data_received(self.first)
        if not self.transport.is_closing():
            self.transport.resume_reading()


class Dials:
    """The listener for agents of this gateway, and the connections that it waits for."""

    def __init__(self, bus: Bus, settings: ProxySettings, secure: ssl.SSLContext | None) -> None:
        """`secure`: the gateway's certificate. Raises InvalidConfig for a listener that others could overhear."""
        self._bus, self._settings = bus, settings
        self._secure = None if settings.for_this_machine_only else secure
        if not settings.for_this_machine_only and secure is None:
            raise InvalidConfig(
                f"api.proxy.host is {settings.host}: other machines reach the listener for agents, and what people "
                "send to their tasks must not be readable on the way. Set api.tls_cert and api.tls_key, or "
                "api.proxy.host to 127.0.0.1"
            )
        self._waiting: dict[str, tuple[Door, asyncio.Future[Link]]] = {}
        """By the digest of the ticket."""
        self._strangers = 0
        """Connections that have not shown a ticket yet."""
        self._port = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Takes connections of agents until left. Raises InvalidConfig where the address cannot be used."""
        settings = self._settings
        loop = asyncio.get_running_loop()
        try:
            listening = socket.create_server(
                (settings.host, settings.port), family=_family(settings.host), backlog=1024
            )
        except OSError as error:
            raise InvalidConfig(
                f"api.proxy: cannot listen on {settings.host}:{settings.port}: {error.strerror}; choose another host "
                "or port"
            ) from error
        self._port = listening.getsockname()[1]
        timeout_s = settings.dial_s if self._secure is not None else None
        server = await loop.create_server(
            lambda: _Arriving(self), sock=listening, ssl=self._secure, ssl_handshake_timeout=timeout_s
        )
        subscription = await self._bus.listen(subjects.agent("*", "dial_failed"), DialFailed, self._failed)
        try:
            yield
        finally:
            server.close()
            await subscription.close()

    async def connect(self, door: Door) -> Link:
        """A connection to the door, of its own. Raises Unreachable."""
        if not self._port:
            raise Unreachable(Hop.GATEWAY, "this gateway has just started: try again in a moment")
        if len(self._waiting) >= self._settings.dials_max:
            raise Unreachable(Hop.AGENT, "too many connections to tasks are being opened: try again in a moment")
        ticket = secrets.token_hex(32)
        digest = _digest(ticket)
        arrives: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        self._waiting[digest] = (door, arrives)
        try:
            async with asyncio.timeout(self._settings.dial_s):
                await self._ask(door, ticket)
                link = await arrives
        except TimeoutError:
            _abandon(arrives)
            _DIALS.labels("no answer").inc()
            raise Unreachable(
                Hop.AGENT, f"agent {door.agent_id} did not connect the task within {self._settings.dial_s:g} s"
            ) from None
        except Unreachable:
            _DIALS.labels("failed").inc()
            raise
        except asyncio.CancelledError:
            _abandon(arrives)
            raise
        finally:
            self._waiting.pop(digest, None)
        _DIALS.labels("connected").inc()
        return link

    async def _ask(self, door: Door, ticket: str) -> None:
        settings = self._settings
        wish = DialTask(
            resources_id=door.resources_id,
            port=door.port,
            host=settings.reached_at,
            listener_port=self._port,
            secure=self._secure is not None,
            ticket=ticket,
        )
        try:
            await self._bus.publish(subjects.agent(door.agent_id, "dial"), wish)
        except Unavailable as error:
            raise Unreachable(Hop.AGENT, f"the bus to agent {door.agent_id}: {error.message}") from error

    async def _failed(self, failed: DialFailed) -> None:
        door, arrives = self._waiting.get(failed.ticket_digest, (None, None))
        if door is not None and arrives is not None and door.agent_id == failed.agent_id and not arrives.done():
            why = failed.why[:300]
            arrives.set_exception(
                Unreachable(
                    Hop.GATEWAY, f"agent {door.agent_id} cannot reach this gateway's listener for agents: {why}"
                )
            )

    # ---------------------------------------------------------------- connections of agents

    def enter(self) -> bool:
        """Whether there is room for a further connection that has shown no ticket."""
        if self._strangers >= self._settings.dials_max:
            return False
        self._strangers += 1
        return True

    def leave(self) -> None:
        self._strangers -= 1

    @property
    def greeting_s(self) -> float:
        return self._settings.dial_s

    def arrived(self, greeting: Greeting, transport: asyncio.Transport, first: bytes) -> bool:
        """Whether somebody waits for this connection."""
        _, arrives = self._waiting.pop(_digest(greeting.ticket), (None, None))
        if arrives is None or arrives.done():
            return False
        if greeting.problem:
            arrives.set_exception(Unreachable(Hop.TASK, greeting.problem[:1000]))
            return False
        arrives.set_result(Link(transport, greeting.tcp, first))
        return True


class _Arriving(asyncio.Protocol):
    """A connection until its first line has come."""

    def __init__(self, dials: Dials) -> None:
        self._dials = dials
        self._read = b""
        self._entered = False
        self._transport: asyncio.Transport
        self._timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are of no class of asyncio
        self._entered = self._dials.enter()
        if not self._entered:
            transport.abort()
            return
        self._timeout = asyncio.get_running_loop().call_later(self._dials.greeting_s, transport.abort)

    def data_received(self, data: bytes) -> None:
        self._read += data
        line, end, first = self._read.partition(b"\n")
        if not end:
            if len(self._read) > GREETING_BYTES_MAX:
                self._transport.abort()
            return
        self._transport.pause_reading()
        self._leave()
        try:
            greeting = codec.from_bytes(Greeting, line)
        except codec.Undecodable:
            self._transport.abort()
            return
        if not self._dials.arrived(greeting, self._transport, first):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        if self._entered:
            self._entered = False
            self._dials.leave()


def _abandon(arrives: asyncio.Future[Link]) -> None:
    """Close a connection that came just when nobody waited for it any more."""
    if arrives.done() and not arrives.cancelled() and arrives.exception() is None:
        arrives.result().transport.abort()


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
