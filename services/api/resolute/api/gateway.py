"""The gateway: from an HTTP request to a handler and back. Everything it knows lives in Postgres and the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import asyncpg
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from resolute.api import bodies, schemas, wire
from resolute.api.blobs import Blobs
from resolute.api.call import NOBODY, TRACEPARENT, Call, Query, given, told
from resolute.api.directory import Directory
from resolute.api.log_policies import LogPolicies
from resolute.api.logins import Logins
from resolute.api.lookup import TrialRef
from resolute.api.measures.logs import LogStore
from resolute.api.measures.metrics import MetricStore
from resolute.api.password_work import PasswordWork
from resolute.api.reactions import ForgetDeleted
from resolute.api.readmodel import ReadModel
from resolute.api.routing import Owned, Principal, Route, Verdict, decide
from resolute.api.search_events import SearchEvents
from resolute.api.sessions import Sessions
from resolute.api.settings import ApiSettings
from resolute.api.signals import Signals
from resolute.api.task_tokens import TaskTokens
from resolute.api.views.checkpoints import checkpoint_workloads
from resolute.api.views.trials import trial_of
from resolute.api.wire import WireError
from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import LogLine
from resolute.service import Context
from resolute.service.tracing import span


class Gateway:
    """What every handler reaches for: the log and the bus, the read model, who is signed in, the measurements."""

    def __init__(
        self,
        context: Context,
        settings: ApiSettings,
        pool: asyncpg.Pool,
        read: ReadModel | None = None,
    ) -> None:
        self.context, self.settings, self.pool = context, settings, pool
        self.read = read or ReadModel(pool, context.log)
        self.password_work = PasswordWork()
        self.sessions = Sessions(pool, settings, context.now, self.read, self.password_work)
        self.logins = Logins(pool, self.read, settings, context.now, self.password_work)
        self.task_tokens = TaskTokens(
            settings.secret.get_secret_value().encode(), self.read, context.now, settings.task_token_grace_s
        )
        self.directory = Directory(context.log)
        self.measured = MetricStore(pool)
        self.logs = LogStore(pool)
        self.log_policies = LogPolicies(self.read, context.bus)
        self.blobs = Blobs(pool)
        self.forget_deleted = ForgetDeleted(context.log, self.measured, self.logs)
        self.signals = Signals()
        self.search_events = SearchEvents(context.log)
        self.trials: dict[int, TrialRef] = {}

    async def who(self, request: web.Request) -> Principal | None:
        """Who asks: by session, or by a task's token; None when no token, or an unknown one, came along."""
        token = _token(request)
        if not token:
            return None
        if self.task_tokens.looks_like(token):
            return await self.task_tokens.principal(token)
        return await self.sessions.principal(token)

    async def store_lines(self, lines: Sequence[LogLine]) -> None:
        """Durable, and held against the policies of their experiments, when it returns."""
        await self.logs.add(lines)
        await self.log_policies.watch(lines)

    async def trial_view(self, trial_id: int) -> dict[str, Any]:
        """The trial as the wire shows it. Raises NotFound."""
        return await trial_of(self.read, self.measured, trial_id)

    async def checkpoint_workloads(self, trial_id: int) -> list[dict[str, Any]]:
        """The trial's checkpoints in order of steps, in the short form that workloads are listed in."""
        return await checkpoint_workloads(self.read, trial_id)

    async def answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        """Authenticate, read, decide, handle; whatever fails becomes an answer."""
        with span(route.operation, request.headers.get("traceparent"), method=route.method) as inside:
            if inside is not None:
                request[TRACEPARENT] = inside
            return await self._told(route, request)

    async def _told(self, route: Route, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(route, request)
        except web.HTTPException:
            raise
        except Exception as error:  # noqa: BLE001  (told and logged)
            code, message = told(error)
            if schemas.is_stream(route.operation):
                answer = wire.json_response(wire.stream_error_body(code, message), status=code.http)
            else:
                answer = self.failure(request, code, message)
            answer.headers.update(wire.retry_after(error))
            return answer

    async def _answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        principal = await self.who(request)
        # Before the body is read: a stranger's upload costs nothing.
        if principal is None and decide(route.access, None, ()) is Verdict.UNKNOWN:
            raise WireError(wire.UNAUTHENTICATED, "no valid credentials came with the request: log in")
        raw = await _read(request, wire.MAX_BODY_BYTES if principal else wire.MAX_STRANGERS_BODY_BYTES)
        path = bodies.read_path(route.operation, request.match_info)
        query = Query(bodies.read_query(route.operation, given(request)))
        body = {} if route.raw_body else bodies.read(route.operation, parsed(raw))
        named = await self._named(route, path, body)
        if decide(route.access, principal, named) is not Verdict.ALLOWED:
            raise WireError(wire.PERMISSION_DENIED, _denial(route, principal))
        answer = await route.handler(Call(self, request, path, body, raw, principal or NOBODY, query))
        if isinstance(answer, web.StreamResponse):
            return answer
        return wire.json_response(answer, pretty="pretty" in request.query)

    async def _named(self, route: Route, path: dict[str, str], body: Any) -> list[Owned]:
        named: list[Owned] = []
        for subject in route.access.subjects:
            for value in subject.values(path, body):
                named.append(await self._owned(subject.kind, value))
        return named

    async def _owned(self, kind: str, value: str) -> Owned:
        if not kind.endswith("checkpoint"):
            return Owned(kind, value)
        experiment_id = await self.read.experiment_of(value)
        if kind == "checkpoint":
            return Owned(kind, value, experiment_id)
        return Owned(kind, value, experiment_id, await self.read.begun_from(value))

    def failure(self, request: web.Request, code: wire.Code, message: str) -> web.Response:
        return wire.json_response(wire.error_body(request.path, code, message), status=code.http)


async def _read(request: web.Request, limit_bytes: int) -> bytes:
    """The body, up to its limit; one that says it is longer is not read at all."""
    too_large = WireError(wire.TOO_LARGE, f"the body is larger than {limit_bytes} bytes")
    if (request.content_length or 0) > limit_bytes:
        raise too_large
    parts, size = [], 0
    try:
        async for part in request.content.iter_any():
            size += len(part)
            if size > limit_bytes:
                raise too_large
            parts.append(part)
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise InvalidConfig(f"the body cannot be read: {error}") from error
    return b"".join(parts)


def parsed(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`, whatever its content type said, with keys in camelCase; {} for an empty body."""
    if not raw.strip():
        return {}
    document = wire.loads(raw)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InvalidConfig(f"the body must be a JSON object; found {type(document).__name__}")
    normalised: dict[str, Any] = wire.normalised(document)
    return normalised


def _token(request: web.Request) -> str | None:
    for header in ("Authorization", "Grpc-Metadata-x-allocation-token", "Grpc-Metadata-x-user-token"):
        scheme, _, token = request.headers.get(header, "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
    return request.cookies.get("auth") if _asked_by_our_own_page(request) else None


def _asked_by_our_own_page(request: web.Request) -> bool:
    """Whether the cookie may speak. Browsers send it along with what any page of the same host asks for, whatever its
    port, such as a page that a trial serves; but they say so (Fetch Metadata, W3C). Looking needs no such care."""
    asked_by = request.headers.get("Sec-Fetch-Site", "none")
    return request.method in ("GET", "HEAD") or asked_by in ("same-origin", "none")


def _denial(route: Route, principal: Principal | None) -> str:
    who = "a task's token" if principal and principal.task else "this user"
    may = ", ".join(sorted(caller.value for caller in route.access.callers))
    return f"{who} may not call {route.operation}: it is for {may}"


Dispatch = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(gateway: Gateway, routes: tuple[Route, ...]) -> web.Application:
    app = web.Application(middlewares=[_strangers(gateway)])
    for route in routes:
        app.router.add_route(route.method, route.pattern, partial(gateway.answer, route))
    return app


def _strangers(gateway: Gateway) -> Any:
    """Whatever no route knows gets an answer in the wire's own form."""

    @web.middleware
    async def middleware(request: web.Request, handler: Dispatch) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPNotFound:
            return gateway.failure(request, wire.NOT_FOUND, f"api not found: {request.method} {request.path}")
        except web.HTTPMethodNotAllowed as error:
            message = f"{request.path} does not take {request.method}; use {', '.join(sorted(error.allowed_methods))}"
            response = gateway.failure(request, wire.METHOD_NOT_ALLOWED, message)
            response.headers["Allow"] = ", ".join(sorted(error.allowed_methods))
            return response

    return middleware
