"""Routes with messages: what a request brings, what the answer says, and the function between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web

from resolute.api.body_kinds import ORDINARY, BodyKind
from resolute.api.call import Call
from resolute.api.kernel.messages import Message, Request
from resolute.api.routing import Access, Declaration, Route

Asked = TypeVar("Asked", bound=Request)
Answered = TypeVar("Answered", bound=Message)


def operation(
    name: str,
    method: str,
    path: str,
    handler: Callable[[Call, Asked], Awaitable[Answered | web.StreamResponse]],
    access: Access,
    *,
    request: type[Asked],
    response: type[Answered],
    tag: str,
    body: BodyKind = ORDINARY,
) -> Route:
    """A route whose handler is given `request` and answers `response`. A handler that must set a cookie or a status
    answers `wire.json_response(message)`. `tag` is the chapter of the reference that describes it."""
    return _route(name, method, path, handler, access, body, Declaration(request, response, tag, handler))


def stream(
    name: str,
    method: str,
    path: str,
    handler: Callable[[Call, Asked], Awaitable[AsyncIterator[Answered]]],
    access: Access,
    *,
    request: type[Asked],
    response: type[Answered],
    tag: str,
    body: BodyKind = ORDINARY,
) -> Route:
    """A route that answers with one line for each message that its handler's iterator gives, as they come. What the
    request names is looked up by the handler before it answers the iterator: if it is not found, the gateway brings its
    tables up to date and calls the handler again, as for any other route."""

    async def handle(call: Call, asked: Asked) -> web.StreamResponse:
        return await call.stream(await handler(call, asked))

    declaration = Declaration(request, response, tag, handle, stream=True)
    return _route(name, method, path, handler, access, body, declaration)


def download(
    name: str,
    method: str,
    path: str,
    handler: Callable[[Call, Asked], Awaitable[web.StreamResponse]],
    access: Access,
    *,
    request: type[Asked],
    produces: str,
    tag: str,
) -> Route:
    """A route that answers with a file of the media type `produces`."""
    declaration = Declaration(request, None, tag, handler, produces=produces)
    return _route(name, method, path, handler, access, ORDINARY, declaration)


def _route(
    name: str,
    method: str,
    path: str,
    handler: Callable[..., Any],
    access: Access,
    body: BodyKind,
    declaration: Declaration,
) -> Route:
    return Route(name, method, path, handler, access, declaration, body)
