"""From an HTTP request to a handler and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any, TypeVar

from aiohttp import web
from prometheus_client import Counter

from resolute.api import access, wire
from resolute.api.body_kinds import FROM_STRANGERS
from resolute.api.call import NOBODY, TRACEPARENT, Call, failure_of, given
from resolute.api.edge import headers, origins, welcome
from resolute.api.edge.callers import recognise
from resolute.api.gateway import CSRF_TOKEN, PASSED_ON, Gateway
from resolute.api.kernel.feed import NotShown
from resolute.api.kernel.messages import Message
from resolute.api.kernel.reading import read_names, read_request
from resolute.api.request_body import RequestBody, read_body
from resolute.api.routing import Principal, Route, Verdict, decide
from resolute.api.scope import Rights
from resolute.api.subjects import Reach
from resolute.proto.errors import NotFound, Unavailable
from resolute.service.tracing import span

ANSWERS = Counter("resolute_api_answers", "Answers to requests, by operation and status", ["operation", "status"])

T = TypeVar("T")

ALWAYS = frozenset({"Health", "WebRoot", "WebBase", "WebHome", "WebPage", "WebAsset"})
"""Operations that need no users: a gateway that does not know any yet answers them."""


class UsersUnknown(NotShown):
    """The gateway has just started, and cannot tell anybody from a stranger."""


async def answer(gateway: Gateway, route: Route, request: web.Request) -> web.StreamResponse:
    """Authenticate, read, decide, handle; whatever fails becomes an answer."""
    with span(route.operation, request.headers.get("traceparent"), method=route.method) as inside:
        if inside is not None:
            request[TRACEPARENT] = inside
        answer = await _answer_or_failure(gateway, route, request)
        _answers(route.operation, answer.status).inc()
        return answer


async def _answer_or_failure(gateway: Gateway, route: Route, request: web.Request) -> web.StreamResponse:
    try:
        return await _answer(gateway, route, request)
    except web.HTTPException:
        raise
    except Exception as error:
        if request.writer.output_size > 0:
            raise _broken_off(request, failure_of(error)[1]) from error
        answer = _failed(gateway, route, request, error)
        answer.headers.update(wire.retry_after(error))
        return answer


def _failed(gateway: Gateway, route: Route, request: web.Request, error: Exception) -> web.Response:
    if route.failure is not None:
        return route.failure(request, error)
    code, message = failure_of(error)
    if route.streams:
        return wire.json_response(wire.stream_error_body(code, message), status=code.http)
    return gateway.failure(request, code, message)


async def _answer(gateway: Gateway, route: Route, request: web.Request) -> web.StreamResponse:
    if not gateway.knows_users and route.operation not in ALWAYS:
        raise UsersUnknown(f"this gateway does not know the users yet: its tables show {gateway.read.growth}")
    principal = await (gateway.who_enters(request) if route.passes_on else gateway.who(request))
    rights = await access.rights_of(gateway.grants, route, principal)
    _check_door(route, principal, rights)
    if principal is not None:
        recognise(request, principal)
    read = await read_body(request, route.body if principal else FROM_STRANGERS, gateway.uploads)
    try:
        if read.awaited and principal is not None and principal.task is not None:
            # A body may take long to arrive, and the task's run may have been given up meanwhile.
            principal = await gateway.who(request)
        answer = await _handled(gateway, route, request, principal, rights, read)
    finally:
        await read.close()
    if isinstance(answer, web.StreamResponse):
        return answer
    return wire.json_response(answer, pretty="pretty" in request.query)


async def _handled(
    gateway: Gateway, route: Route, request: web.Request, principal: Principal | None, rights: Rights, read: RequestBody
) -> Message | web.StreamResponse:
    query = given(request)
    asked = await read_request(route.declared.request, request.match_info, query, read)
    path, body = await read_names(asked, read)
    named = access.Named(path, query, body)
    granted = await _looked_twice(gateway, partial(access.check, gateway.places, route, principal, rights, named))
    call = Call(gateway, request, path, read, granted, principal or NOBODY, message=asked)
    # The call alone keeps the message, so that a handler that waits can let go of it. A password may be in what the
    # body names, and a traceback may show that.
    del asked, body, named
    return await _looked_twice(gateway, lambda: route.declared.handle(call, call.message), lambda: not call.sent)


async def _looked_twice(
    gateway: Gateway, look: Callable[[], Awaitable[T]], may_repeat: Callable[[], bool] = lambda: True
) -> T:
    """What `look` answers. What it did not find may have come through another gateway a moment ago: then it looks
    again in tables that show everything; unless a command was sent meanwhile, whose answer counts."""
    shown = gateway.read.shown
    try:
        return await look()
    except NotFound:
        if not may_repeat() or not await _caught_up_from(gateway, shown):
            raise
    return await look()


async def _caught_up_from(gateway: Gateway, position: int) -> bool:
    """Whether the tables show more than they did at `position`, once they show everything.

    Raises Unavailable when they cannot be brought there in time: nobody knows then what there is.
    """
    try:
        async with asyncio.timeout(gateway.settings.persistence_s):
            await gateway.read.catch_up()
    except TimeoutError:
        raise Unavailable("this gateway's tables are behind the log: try again later") from None
    return gateway.read.shown > position


@cache
def _answers(operation: str, status: int) -> Counter:
    return ANSWERS.labels(operation, str(status))


def _broken_off(request: web.Request, message: str) -> ConnectionError:
    """A part of the answer is sent: the connection is broken, so that what came does not look whole."""
    if request.transport is not None:
        request.transport.abort()
    return ConnectionResetError(f"the answer was broken off: {message}")


def _check_door(route: Route, principal: Principal | None, rights: Rights) -> None:
    """What can be refused before the body is read: a stranger's upload, or a given-up run's, or that of a caller whom
    nothing in it could let in, costs nothing."""
    verdict = decide(route.access, principal, (), rights)
    by_name = route.access.goes_by_what_is_named or (
        verdict is Verdict.NOT_GRANTED and route.access.reach is Reach.NAMED  # on what is named it may be granted
    )
    final = verdict in (Verdict.UNKNOWN, Verdict.GIVEN_UP, Verdict.DELETED) or not by_name
    if final and verdict is not Verdict.ALLOWED:
        raise access.refusal(verdict, route.operation, route.access, principal)


Dispatch = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(gateway: Gateway, routes: tuple[Route, ...]) -> web.Application:
    app = web.Application(middlewares=[_strangers(gateway)])
    for route in routes:
        method = "*" if route.passes_on else route.method
        app.router.add_route(method, route.pattern, partial(answer, gateway, route))
    app.on_response_prepare.append(_protection(gateway.settings.insists_on_tls_s))
    return app


def _protection(strict_transport_s: int) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Headers that every answer has."""

    async def protected(request: web.Request, response: web.StreamResponse) -> None:
        if request.get(PASSED_ON) is not None:
            return  # what a task answers has headers of its own
        headers.protect(response.headers, strict_transport_s)
        if (token := request.get(CSRF_TOKEN)) is not None:
            response.headers[origins.TOKEN_HEADER] = token

    return protected


def _strangers(gateway: Gateway) -> Any:
    """Whatever no route knows gets an answer in the wire's own form."""

    @web.middleware
    async def middleware(request: web.Request, handler: Dispatch) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPNotFound:
            if welcome.is_for_a_browser(request):
                return welcome.page(request, gateway.settings, status=wire.NOT_FOUND.http)
            return gateway.failure(request, wire.NOT_FOUND, f"api not found: {request.method} {request.path}")
        except web.HTTPMethodNotAllowed as error:
            message = f"{request.path} does not take {request.method}; use {', '.join(sorted(error.allowed_methods))}"
            response = gateway.failure(request, wire.METHOD_NOT_ALLOWED, message)
            response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
            return response

    return middleware
