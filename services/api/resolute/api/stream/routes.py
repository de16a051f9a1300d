"""`/stream`: a WebSocket on which a client subscribes to objects, and is sent what changes."""

from __future__ import annotations

import asyncio
import contextlib
import socket as socket_api
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from typing import Any

import structlog
from aiohttp import WSCloseCode, WSMsgType, web

from resolute.api.call import Call, failure_of
from resolute.api.freshness import FRESH_S, TRUSTED_S
from resolute.api.kernel.operations import download
from resolute.api.routing import SIGNED_IN
from resolute.api.stream.asking import read_sync
from resolute.api.stream.kinds import KINDS
from resolute.api.stream.limits import StreamLimits
from resolute.api.stream.listener import AGAIN_LATER, REFUSED, Closed, Listener
from resolute.api.stream.messages import StreamUpdates
from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable

log_ = structlog.get_logger()

AGAIN_AFTER_S = TRUSTED_S + FRESH_S

PROBE_EVERY_S, PROBES = 5, 3
"""Of a silent connection: the pause between two probes, and how many may stay without an answer."""

REASON_BYTES = 123
"""What a close frame has room for (RFC 6455, 5.5)."""


async def stream_updates(call: Call, request: StreamUpdates) -> web.StreamResponse:
    """Live updates over a WebSocket: subscribe to objects, and be sent what changes."""
    streams = call.gateway.streams
    socket = web.WebSocketResponse(
        max_msg_size=streams.limits.message_bytes,
        timeout=streams.limits.close_within_s,
        compress=False,
    )
    if not socket.can_prepare(call.request):
        raise InvalidConfig("Upgrade: expected websocket, since /stream answers over a WebSocket only")
    listener = Listener(streams, call.principal.user_id, call.scope_of, socket.send_str)
    streams.join(listener)
    try:
        call.forget_body()
        await socket.prepare(call.request)
        _probe(call.request, streams.limits.probe_after_s)
        closed = await _listened(call, socket, listener)
    finally:
        streams.leave(listener)
    if closed is not None:
        await _close(call.request, socket, closed, streams.limits)
    return socket


def _probe(request: web.Request, after_s: int) -> None:
    """Have TCP notice a host that is gone (RFC 9293, 3.8.4). Pings of WebSocket would show more, but Determined's
    client ends with an error at the first one."""
    connection = None if request.transport is None else request.transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket_api.SOL_SOCKET, socket_api.SO_KEEPALIVE, 1)
        connection.setsockopt(socket_api.IPPROTO_TCP, socket_api.TCP_KEEPIDLE, after_s)
        connection.setsockopt(socket_api.IPPROTO_TCP, socket_api.TCP_KEEPINTVL, PROBE_EVERY_S)
        connection.setsockopt(socket_api.IPPROTO_TCP, socket_api.TCP_KEEPCNT, PROBES)


async def _listened(call: Call, socket: web.WebSocketResponse, listener: Listener) -> Closed | None:
    """Why the listener is to be closed; None where its client has left."""
    limits = call.gateway.streams.limits
    parts = (_hear(socket, listener, limits), listener.serve(), _watch(call, listener, limits))
    async with _running(*parts) as tasks:
        waits_for: set[asyncio.Future[Any]] = {*tasks, listener.over}
        await asyncio.wait(waits_for, return_when=asyncio.FIRST_COMPLETED)
        if listener.over.done():
            return listener.over.result()
        return next((_why(task) for task in tasks if task.done()), None)


@contextlib.asynccontextmanager
async def _running(*parts: Coroutine[Any, Any, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _why(task: asyncio.Task[None]) -> Closed | None:
    match task.exception():
        case None | ConnectionError():
            return None
        case Closed() as closed:
            return closed
        case Unavailable() as error:
            return Closed(AGAIN_LATER, error.message)
        case ResoluteError() as error:
            return Closed(REFUSED, error.message)
        case error:
            assert isinstance(error, Exception)
            return Closed(WSCloseCode.INTERNAL_ERROR, failure_of(error)[1])


async def _hear(socket: web.WebSocketResponse, listener: Listener, limits: StreamLimits) -> None:
    """Read what the client says until it leaves. Raises Closed, and InvalidConfig for what cannot be understood."""
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            raise Closed(WSCloseCode.UNSUPPORTED_DATA, "expected a message of text; found one of bytes")
        await listener.ask(read_sync(message.data, limits))


async def _watch(call: Call, listener: Listener, limits: StreamLimits) -> None:
    """Raises Closed for a client that says nothing, that is signed out, or that has other rights than when it came."""
    started = asyncio.get_running_loop().time()
    look_after_s = min(limits.check_every_s, limits.subscribe_within_s)
    while True:
        changed = await _set_within(listener.rights_may_differ, look_after_s)
        # A session that another gateway ended is believed for a moment: look again soon after a change.
        look_after_s = min(AGAIN_AFTER_S if changed else limits.check_every_s, limits.subscribe_within_s)
        if not listener.has_asked and asyncio.get_running_loop().time() - started >= limits.subscribe_within_s:
            raise Closed(REFUSED, f"no message came within {limits.subscribe_within_s:g} s: say what to subscribe to")
        if not await call.has_same_rights():
            raise Closed(REFUSED, "your session or your permissions changed; connect again, with known and since")


async def _set_within(event: asyncio.Event, timeout_s: float) -> bool:
    """Whether the event was set before the time was over. It is not set afterwards."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


async def _close(request: web.Request, socket: web.WebSocketResponse, why: Closed, limits: StreamLimits) -> None:
    """A client that does not take the reason in time is cut off."""
    reason = why.reason.encode()[:REASON_BYTES].decode(errors="ignore").encode()
    try:
        async with asyncio.timeout(limits.close_within_s):
            await socket.close(code=why.code, message=reason)
    except (TimeoutError, ConnectionError):
        if request.transport is not None:
            request.transport.abort()


ACCESS = replace(
    SIGNED_IN.to("project.view").over_scope(), besides=frozenset(kind.permission for kind in KINDS.values())
)
"""Each kind of objects is seen as far as the caller holds the permission to see it."""

ROUTES = (
    download(
        "StreamUpdates",
        "GET",
        "/stream",
        stream_updates,
        ACCESS,
        request=StreamUpdates,
        produces="application/json",
        tag="Outside /api/v1",
    ),
)
