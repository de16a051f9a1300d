"""Connections that stay: WebSockets that a task serves, byte for byte, and TCP ports of a task inside a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from resolute.api.gateway import PASSED_ON
from resolute.api.proxy import headers as rules
from resolute.api.proxy.dials import Link, Unreachable
from resolute.api.proxy.targets import Service
from resolute.api.proxy.usage import ClientFrames
from resolute.api.settings import ApiSettings
from resolute.proto.errors import InvalidConfig
from resolute.proto.proxy import Hop

READ_BYTES = 2**18
FRAME_BYTES = 2**16
"""What a frame of a TCP port carries at most, from the task to the client."""
MESSAGE_BYTES_MAX = 2**22
"""The longest message from the client of a TCP port."""
UNSENT_BYTES = 512 * 1024
HEAD_S = 30.0
"""How long a task may take to answer the opening of a WebSocket."""
CLOSE_S = 10.0
PING_S = 60.0
"""A client of a TCP port that has not answered a ping for half as long is gone."""

Used = Callable[[], Awaitable[None]]


def is_upgrade(request: web.Request) -> bool:
    tokens = {token.strip().lower() for value in request.headers.getall("Connection", []) for token in value.split(",")}
    return "upgrade" in tokens and request.headers.get("Upgrade", "").lower() == "websocket"


@dataclass(frozen=True, slots=True)
class Streams:
    """A connection to a task, to be read and written."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def streams(link: Link, limit: int) -> Streams:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    link.hand_over(protocol)
    return Streams(reader, asyncio.StreamWriter(link.transport, protocol, reader, loop))


# ---------------------------------------------------------------- WebSockets that a task serves


class Switched(web.StreamResponse):
    """The answer 101; what follows it is no HTTP."""

    async def write_eof(self, data: bytes = b"") -> None:
        self._eof_sent = True


class FromClient:
    """Takes the bytes of a client in the place of aiohttp's reader of WebSockets, and hands them to the task."""

    def __init__(self, task: asyncio.StreamWriter, client: asyncio.Transport) -> None:
        self._task, self._client = task, client
        self._frames = ClientFrames()
        self._paused: asyncio.Task[None] | None = None
        self.used = asyncio.Event()
        """Set when the client sends data."""
        self.ended = asyncio.Event()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        if self._frames.has_data(data):
            self.used.set()
        self._task.write(data)
        transport = self._task.transport
        if self._paused is None and transport.get_write_buffer_size() > UNSENT_BYTES:
            self._client.pause_reading()
            self._paused = asyncio.get_running_loop().create_task(self._resume())
        return False, b""

    def feed_eof(self) -> None:
        self.ended.set()

    def set_exception(self, *error: Any) -> None:
        self.ended.set()

    async def _resume(self) -> None:
        try:
            await self._task.drain()
        except ConnectionError:
            self.ended.set()
        finally:
            self._paused = None
            if not self._client.is_closing():
                self._client.resume_reading()


async def websocket(
    request: web.Request, link: Link, service: Service, settings: ApiSettings, used: Used
) -> web.StreamResponse:
    """Passes a WebSocket on, whatever its subprotocol and its extensions. Raises Unreachable before it is open."""
    task = streams(link, settings.proxy.head_bytes)
    try:
        task.writer.write(_opening(request, settings))
        head = await _answer_head(task.reader)
        if head.status != 101:
            return await _refused(request, head, task.reader, service, settings)
        return await _switched(request, head, task, used)
    finally:
        task.writer.transport.abort()


def _opening(request: web.Request, settings: ApiSettings) -> bytes:
    headers = rules.for_task(request, settings)
    headers["Connection"] = "Upgrade"
    headers["Upgrade"] = "websocket"
    lines = [f"GET {request.raw_path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]


async def _answer_head(reader: asyncio.StreamReader) -> Head:
    try:
        async with asyncio.timeout(HEAD_S):
            raw = await reader.readuntil(b"\r\n\r\n")
        first, *lines = raw.decode("utf-8", "surrogateescape").rstrip("\r\n").split("\r\n")
        version, status, *reason = first.split(" ", 2)
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        pairs = [line.partition(":") for line in lines]
        found = tuple((name.strip(), value.strip()) for name, colon, value in pairs if colon)
        return Head(int(status), "".join(reason), found)
    except TimeoutError:
        raise Unreachable(Hop.TASK, f"the task did not answer the WebSocket within {HEAD_S:g} s") from None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, ConnectionError) as error:
        raise Unreachable(Hop.TASK, "the task did not answer the WebSocket with HTTP") from error


async def _refused(
    request: web.Request, head: Head, reader: asyncio.StreamReader, service: Service, settings: ApiSettings
) -> web.StreamResponse:
    """The task answered the opening with an error, which is passed on with the beginning of its text."""
    headers = rules.for_client(head.headers, request, service.name, settings)
    headers.popall("Content-Length", None)
    length = next((int(value) for name, value in head.headers if name.lower() == "content-length"), 0)
    body = b""
    if 0 < length <= READ_BYTES:
        try:
            async with asyncio.timeout(CLOSE_S):
                body = await reader.readexactly(length)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            body = b""
    request[PASSED_ON] = True
    status = head.status if 200 <= head.status <= 599 else 502
    return web.Response(status=status, reason=head.reason, headers=headers, body=body)


_OF_AN_UPGRADE = frozenset({"sec-websocket-accept", "sec-websocket-protocol", "sec-websocket-extensions"})


async def _switched(request: web.Request, head: Head, task: Streams, used: Used) -> web.StreamResponse:
    response = Switched(status=101)
    for name, value in head.headers:
        if name.lower() in _OF_AN_UPGRADE:
            response.headers.add(name, value)
    response.headers.update({"Upgrade": "websocket", "Connection": "Upgrade"})
    request[PASSED_ON] = True
    await response.prepare(request)
    client = request.transport
    if client is None:
        return response
    taken = FromClient(task.writer, client)
    request.protocol.set_parser(taken)  # type: ignore[arg-type]  # it is asked for no more than FromClient has
    request.protocol.keep_alive(False)
    await _first_ended(_to_client(request, task.reader), _note_use(taken, used), taken.ended.wait())
    return response


async def _to_client(request: web.Request, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(READ_BYTES):
        if request.transport is None:
            return
        request.transport.write(data)
        await request.protocol._drain_helper()


async def _note_use(taken: FromClient, used: Used) -> None:
    while True:
        await taken.used.wait()
        taken.used.clear()
        await used()


async def _first_ended(*parts: Awaitable[Any]) -> None:
    """Runs the parts until one of them ends. The end of a connection is no error."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in tasks:
            one.cancel()
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(found, Exception) and not isinstance(found, ConnectionError):
                raise found


# ---------------------------------------------------------------- TCP inside a WebSocket


async def tcp(request: web.Request, link: Link, used: Used) -> web.StreamResponse:
    """Messages of bytes are what is sent to the port, and what comes from it. Messages of text have no effect."""
    socket = web.WebSocketResponse(
        max_msg_size=MESSAGE_BYTES_MAX, timeout=CLOSE_S, compress=False, heartbeat=PING_S, autoping=True
    )
    if not socket.can_prepare(request):
        link.transport.abort()
        raise InvalidConfig("Sec-WebSocket-Version, Sec-WebSocket-Key: this is no WebSocket that can be opened")
    task = streams(link, READ_BYTES)
    try:
        await socket.prepare(request)
        await _first_ended(_to_port(socket, task.writer, used), _from_port(socket, task.reader))
        await socket.close(code=WSCloseCode.OK)
    finally:
        task.writer.transport.abort()
    return socket


async def _to_port(socket: web.WebSocketResponse, writer: asyncio.StreamWriter, used: Used) -> None:
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            writer.write(message.data)
            await used()
            await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _from_port(socket: web.WebSocketResponse, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(FRAME_BYTES):
        await socket.send_bytes(data)
