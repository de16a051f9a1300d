"""One call of one operation: what was asked, by whom, and what a handler needs to answer it."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import structlog
from aiohttp import web

from resolute.api import access, wire
from resolute.api.gateway import Gateway
from resolute.api.kernel.messages import Request
from resolute.api.request_body import RequestBody
from resolute.api.routing import Access, Owned, Principal, Verdict, decide
from resolute.api.scope import Outside, Scope
from resolute.eventlog.outages import classified
from resolute.proto.errors import Failed, ResoluteError, Unavailable
from resolute.proto.message import Cause, Command, Reply
from resolute.service import Patience

log_ = structlog.get_logger()

T = TypeVar("T")

TRACEPARENT = web.RequestKey("traceparent", str)
"""Under this key a request keeps the thread of its own span, which all that follows from it continues."""

SENT_AT_ONCE = 65_536
"""Bytes of a large answer that are handed to the connection before the caller has to take some."""

NOBODY = Principal(user_id=0, username="")


def given(request: web.Request) -> dict[str, list[str]]:
    """What the query string says, by parameter; keys may come in camelCase and in snake_case."""
    found: dict[str, list[str]] = {}
    for key, value in request.query.items():
        found.setdefault(wire.camel(key), []).append(value)
    return found


@dataclass(slots=False, eq=False)
class Call:
    gateway: Gateway
    request: web.Request
    path: dict[str, str]
    read: RequestBody = field(repr=False)
    """The body as it came."""
    granted: access.Granted
    principal: Principal = NOBODY
    message: Request | None = field(default=None, repr=False)
    """What the handler is given; None once the handler has let go of it."""
    sent: bool = False
    """Whether a command was sent on its way, or the body is gone: the handler cannot be called once more."""

    @property
    def scope(self) -> Scope:
        """The workspaces whose things the answer may show, count or change."""
        bounds = self.granted.bounds
        assert isinstance(bounds, Scope), "its route is about what lies outside of workspaces"
        return bounds

    @property
    def outside(self) -> Outside:
        """For what lies in no workspace, as the route says."""
        bounds = self.granted.bounds
        assert isinstance(bounds, Outside), "its route is about what lies in workspaces"
        return bounds

    def scope_of(self, permission: str) -> Scope:
        """Where the caller holds a permission that the route names besides its own, for parts of the answer."""
        return self.granted.rights.over(permission)

    def may(self, wanted: Access, thing: Owned) -> bool:
        """Whether the caller may do with `thing` what `wanted` is for."""
        return decide(wanted, self.principal, [thing], self.granted.rights) is Verdict.ALLOWED

    def check_each(self, found: Owned) -> None:
        """Raises ResoluteError unless the caller may do to `found`, one of many, what its route asks for each."""
        access.check_each(self.granted, self.principal, found)

    async def check_visible(self, kind: str, value: str) -> None:
        """For what a handler finds named beyond the subjects of its route, inside a configuration. Raises NotFound for
        what lies outside of the scope. Looks nothing up where the scope is everything."""
        if not self.scope.is_everything:
            await access.check_visible(self.gateway.places, self.scope, kind, value)

    @cached_property
    def cause(self) -> Cause:
        """Why what follows is written. The same request under the same Idempotency-Key is carried out once."""
        return self.cause_of(self.principal.actor)

    def cause_of(self, actor: str) -> Cause:
        key = self.request.headers.get("Idempotency-Key")
        request_id = f"req-{self._digest(actor, key)}" if key else f"req-{uuid.uuid4()}"
        return Cause(
            id=request_id,
            actor=actor or "anonymous",
            correlation_id=request_id,
            traceparent=self.request.get(TRACEPARENT),
        )

    def _digest(self, actor: str, key: str) -> str:
        """Of everything that makes it the same request: another one under the same key is another wish."""
        parts = (actor, key, self.request.method, self.request.path_qs)
        return hashlib.sha256(f"{parts!r}{self.read.digest}".encode()).hexdigest()[:32]

    async def check_still_believed(self) -> None:
        """For calls that wait: raises when the caller's run was given up, or its trial deleted, since it was let in."""
        access.check_believed(await self.gateway.who(self.request))

    async def check_still_allowed(self) -> None:
        """For calls of users that wait, and streams that go on: raises when the caller may not make this call now."""
        if self.principal.task is None:
            await access.check_again(self.gateway.places, self.gateway.grants, self.granted, self.principal)

    async def has_same_rights(self) -> bool:
        """For connections that stay open: whether the caller is signed in, and holds what it held when it came."""
        principal = await self.gateway.who(self.request)
        if principal is None or principal.user_id != self.principal.user_id:
            return False
        rights = await access.rights_of(self.gateway.grants, self.granted.route, principal)
        return access.are_same(rights, self.granted)

    async def send(self, command: Command, step: str = "", *, cause: Cause | None = None) -> Reply:
        """Ask the service that decides `command`, and wait until the answers of this gateway show the outcome.

        `cause`: why, where that is not the call's own cause; `step` tells apart the commands of one call.

        A service that is away for a moment is asked again under the same cause, which does nothing twice; the caller,
        who would ask under another, had better not need to.
        """
        cause = cause or self.cause
        cause = cause.then(step) if step else cause
        gateway = self.gateway
        persistence_s = gateway.settings.persistence_s
        self.sent = True
        reply = await persistently(lambda: gateway.context.bus.request(command, cause), persistence_s)
        await persistently(lambda: gateway.read.reached(reply.position), persistence_s)
        return reply

    def forget_body(self) -> None:
        """For a handler that has read the request and now waits, perhaps together with a thousand others: the body, as
        it came and as a message, is not kept meanwhile. The handler deletes its own name for the message too."""
        self.message, self.sent = None, True
        self.read.forget()

    async def send_bytes(self, body: bytes) -> web.StreamResponse:
        """Answer with JSON that is ready to be sent, and that many calls may share: no copy of it is made, however
        slowly the caller reads."""
        response = web.StreamResponse(headers={"Content-Type": "application/json; charset=utf-8"})
        response.content_length = len(body)
        await response.prepare(self.request)
        whole = memoryview(body)
        for start in range(0, len(body), SENT_AT_ONCE):
            await response.write(whole[start : start + SENT_AT_ONCE])
        await response.write_eof()
        return response

    async def stream(self, results: AsyncIterator[Any]) -> web.StreamResponse:
        """Answer with one `{"result": …}` line for each of `results`, as they come.

        A failure before the first is the answer's status; a later one is a line of its own.
        """
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            async for result in results:
                if not response.prepared:
                    await response.prepare(self.request)
                await response.write(wire.dumps({"result": result}) + b"\n")
        except ConnectionResetError:
            return response  # the reader has left
        except Exception as error:  # noqa: BLE001  (told and logged, as every failure of a handler is)
            code, message = failure_of(error)
            body = wire.stream_error_body(code, message)
            if not response.prepared:
                return wire.json_response(body, status=code.http)
            await response.write(wire.dumps(body) + b"\n")
        if not response.prepared:
            await response.prepare(self.request)
        await response.write_eof()
        return response


async def persistently(work: Callable[[], Awaitable[T]], for_s: float) -> T:
    """The outcome of `work`, tried again for so long; then Unavailable."""
    patience = Patience()
    deadline = asyncio.get_running_loop().time() + for_s
    while True:
        try:
            return await work()
        except Unavailable as error:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await patience.wait("a caller", error)


def failure_of(error: Exception) -> tuple[wire.Code, str]:
    """The code and the message by which a caller is answered after `error`. The message of a bug stays in the gateway's
    log."""
    if isinstance(error, Failed):
        # Not an answer: a trial that asks again may be heard by a service that has been mended meanwhile.
        log_.error("a service failed", error=error.message)
        return wire.UNAVAILABLE, "a service met an error of its own, and its log says more; asking again is safe"
    if isinstance(error, ResoluteError):
        return wire.code_of(error), error.message
    if (meant := classified(error)) is not None:
        log_.warning("an error of the database", error=str(error))
        return wire.code_of(meant), meant.message
    log_.error("a handler failed", exc_info=error)
    return wire.INTERNAL, "the gateway met an error of its own; its log says more"
