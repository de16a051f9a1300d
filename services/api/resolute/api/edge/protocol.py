"""One connection: aiohttp's own protocol, which also notes what it waits for, and answers errors in the wire's form.

Nothing here runs on a timer of its own. `look` is called about once a second, compares what has happened since, and
ends a connection whose client is too slow. What is noted for each chunk of bytes is a counter and a comparison.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from http import HTTPStatus
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http_exceptions import BadStatusLine, HttpProcessingError, LineTooLong
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_server import Server

from resolute.api import wire
from resolute.api.edge.admission import Kind
from resolute.api.edge.headers import protect
from resolute.api.edge.limits import ConnectionLimits

LINGER_S = 2.0
"""How long the rest of a request that could not be read is taken and thrown away: a client that is still sending would
otherwise find the connection broken before it finds the answer."""


class Wait(Enum):
    """Whose move it is, and which."""

    IDLE = "the client's next request"
    HEAD = "the rest of a request's head"
    BODY = "more of a request's body"
    READING = "the client to take its answer"
    HANDLER = "the gateway's own answer"
    CLOSED = "the end of the connection"


class BodyTooSlow(TimeoutError):
    """The client sent its request's body more slowly than the limits allow."""


class Watcher(Protocol):
    """What happens around one connection, for `Listener`."""

    @property
    def limits(self) -> ConnectionLimits: ...

    @property
    def strict_transport_s(self) -> int: ...

    def lost(self) -> None:
        """The connection has ended."""

    def known(self) -> bool:
        """Whether a request on it has shown a valid token."""

    def recognise(self, kind: Kind, caller: str) -> str | None:
        """Count the connection for `caller` from now on; else the limit that stands against it."""

    def timed_out(self, reason: str) -> None:
        """It is being ended for being slow."""


class EdgeProtocol(RequestHandler):
    __slots__ = ("_carrier", "_head_since", "_lingers", "_marked", "_received", "_told", "watcher")

    def __init__(self, manager: Server, watcher: Watcher, **options: Any) -> None:
        super().__init__(manager, **options)
        self.watcher = watcher
        self._carrier: asyncio.Transport | None = None
        """The transport, which aiohttp forgets when it begins to close it; there may be much to send still."""
        self._received = 0
        self._head_since = self._loop.time()
        """Since when a part of a request's head waits for the rest; 0 where none does."""
        self._marked = (Wait.HEAD, 0, 0.0, 0)
        """What the connection waited for when it was last looked at: the wait, which request, since when, and the
        count of bytes then."""
        self._told = False
        self._lingers = False

    # ---------------------------------------------------------------- what happens

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._carrier = self.transport
        self._head_since = self._loop.time()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._carrier = None
        self.watcher.lost()

    def data_received(self, data: bytes) -> None:
        before = self._request_count
        self._received += len(data)
        super().data_received(data)
        if self._request_count != before:
            self._head_since = 0.0
        elif not self._head_since and self._awaits_request():
            self._head_since = self._loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._marked = (Wait.READING, self._request_count, self._loop.time(), self._unsent())

    # ---------------------------------------------------------------- what it waits for

    def waits_for(self) -> Wait:
        if self._carrier is None or self._carrier.is_closing() or self._lingers:
            return Wait.CLOSED
        if self._paused:
            return Wait.READING
        if self._awaits_request():
            return Wait.HEAD if self._head_since else Wait.IDLE
        return Wait.BODY if self._awaits_body() else Wait.HANDLER

    def _awaits_request(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _awaits_body(self) -> bool:
        """Where reading is paused, the client has sent what there was room for, and the handler is slow to take it."""
        request = self._current_request
        return request is not None and not request.content.is_eof() and not self._reading_paused

    def _unsent(self) -> int:
        return self._carrier.get_write_buffer_size() if self._carrier is not None else 0

    # ---------------------------------------------------------------- looking at it

    def look(self, now: float) -> None:
        """End the connection if its client has been too slow for too long."""
        wait = self.waits_for()
        kind, request, since, count = self._marked
        if (wait, self._request_count) != (kind, request):
            self._mark(wait, now)
            return
        match wait:
            case Wait.HEAD:
                if now - self._head_since >= self.watcher.limits.header_timeout_s:
                    self._end_head()
            case Wait.IDLE:
                if now - since >= self._idle_timeout_s():
                    self._abort("idle")
            case Wait.BODY:
                self._look_at_body(now, since, count)
            case Wait.READING | Wait.CLOSED:
                self._look_at_answer(wait, now, since, count)

    def _mark(self, wait: Wait, now: float) -> None:
        counted = self._received if wait is Wait.BODY else self._unsent()
        self._marked = (wait, self._request_count, now, counted)

    def _idle_timeout_s(self) -> float:
        limits = self.watcher.limits
        return limits.idle_timeout_s if self.watcher.known() else limits.stranger_idle_timeout_s

    def _look_at_body(self, now: float, since: float, received: int) -> None:
        limits = self.watcher.limits
        if not self.watcher.known():
            if now - since >= limits.stranger_body_timeout_s:
                self._end_body()
        elif now - since >= limits.rate_window_s:
            if self._received - received < limits.rate_min * (now - since):
                self._end_body()
            else:
                self._mark(Wait.BODY, now)

    def _look_at_answer(self, wait: Wait, now: float, since: float, unsent: int) -> None:
        """The same for the other direction; a connection that is closed once all is sent must get there."""
        limits = self.watcher.limits
        if now - since < limits.rate_window_s:
            return
        if unsent - self._unsent() < limits.rate_min * (now - since):
            self._abort("slow reader")
        else:
            self._mark(wait, now)

    # ---------------------------------------------------------------- ending it

    def _end_head(self) -> None:
        """Say why where something of a request came; a connection without a byte is only closed."""
        self.watcher.timed_out("slow head")
        if self._carrier is None:
            return
        if self._received:
            limit_s = self.watcher.limits.header_timeout_s
            self._carrier.write(refusal(wire.TIMED_OUT, f"the head of the request was not whole within {limit_s:g} s"))
        self._carrier.close()

    def _end_body(self) -> None:
        """The handler that reads the body answers; the connection is closed after that answer."""
        request = self._current_request
        if self._told or request is None:
            self._abort("slow body")
            return
        self._told = True
        self.watcher.timed_out("slow body")
        self._mark(Wait.BODY, self._loop.time())
        request.content.set_exception(BodyTooSlow("the body of the request came too slowly, or not to its end"))

    def _abort(self, reason: str) -> None:
        self.watcher.timed_out(reason)
        self.abort()

    def abort(self) -> None:
        """Close at once; what is not sent yet is thrown away."""
        if self._carrier is not None:
            self._carrier.abort()

    # ---------------------------------------------------------------- errors

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """aiohttp's own answers are text or HTML: what is no HTTP, and what a handler let escape, is answered here."""
        if not isinstance(exc, HttpProcessingError):
            self.log_exception("a handler failed", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer was sent already, so no error can be answered any more")
        code, told = error_of(status, exc)
        response = wire.json_response(error_body(code, told), status=code.http)
        protect(response.headers, self.watcher.strict_transport_s)
        response.force_close()
        self._lingers = isinstance(exc, HttpProcessingError)
        return response

    async def finish_response(
        self, request: BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """aiohttp's exceptions are answers in plain text: those that no middleware saw are put into the wire's form."""
        if isinstance(resp, web.HTTPException) and not resp.prepared:
            code = code_of_http(resp.status)
            answer = wire.json_response(error_body(code, resp.text or resp.reason), status=resp.status)
            answer.force_close()
            resp = answer
        sent = await super().finish_response(request, resp, start_time)
        if self._lingers:
            await self._linger()
        return sent

    async def _linger(self) -> None:
        """Until the client has closed its side too, which cancels this, or for as long as it is given."""
        self._close = True  # what comes now is thrown away
        if self._carrier is not None and self._carrier.can_write_eof():
            self._carrier.write_eof()
        await asyncio.sleep(LINGER_S)


def error_of(status: int, error: BaseException | None) -> tuple[wire.Code, str]:
    """How the wire says that a request could not be read, or that a handler failed."""
    match error:
        case LineTooLong():
            return _too_long(error)
        case BadStatusLine():
            return wire.INVALID_ARGUMENT, "the request's first line is no HTTP/1.1: expected METHOD PATH HTTP/1.1"
        case HttpProcessingError():
            return wire.INVALID_ARGUMENT, f"the request is no valid HTTP/1.1: {_first_line(error.message)}"
    if status == HTTPStatus.GATEWAY_TIMEOUT:
        return wire.UNAVAILABLE, "the gateway did not finish its answer in time; asking again is safe"
    return wire.INTERNAL, "the gateway met an error of its own; its log says more"


def _too_long(error: LineTooLong) -> tuple[wire.Code, str]:
    begin, limit = error.args[:2]
    if bytes(begin).startswith(b"/"):
        return wire.URI_TOO_LONG, f"the path with its query is longer than {limit} bytes: ask for less at a time"
    return wire.HEADERS_TOO_LARGE, f"a header of the request is longer than {limit} bytes"


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:200].rstrip(": ")


def code_of_http(status: int) -> wire.Code:
    return wire.INTERNAL if status >= HTTPStatus.INTERNAL_SERVER_ERROR else wire.INVALID_ARGUMENT


def error_body(code: wire.Code, message: str) -> dict[str, Any]:
    """For a request whose path is not known: the form under /api/v1 and the plain form at once."""
    return {**wire.error_body("/api/v1/", code, message), "message": message}


def refusal(code: wire.Code, message: str) -> bytes:
    """A whole answer as bytes, for a connection that is closed before a request was read."""
    headers = {"Content-Type": "application/json; charset=utf-8", "Connection": "close", "Retry-After": "1"}
    protect(headers)
    body = wire.dumps(error_body(code, message))
    headers["Content-Length"] = str(len(body))
    lines = [f"HTTP/1.1 {code.http} {HTTPStatus(code.http).phrase}", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body
