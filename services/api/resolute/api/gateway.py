"""The gateway: from an HTTP request to a handler and back. Everything it knows lives in Postgres and the log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import asyncpg
from aiohttp import web
from prometheus_client import Counter

from resolute.api import access, wire
from resolute.api.blobs import Blobs
from resolute.api.body_kinds import FROM_STRANGERS
from resolute.api.call import NOBODY, TRACEPARENT, Call, given, told
from resolute.api.earlier_rows import EarlierRows
from resolute.api.edge import headers, origins, welcome
from resolute.api.edge.callers import recognise
from resolute.api.freshness import Freshness
from resolute.api.kernel.feed import NotShown
from resolute.api.kernel.messages import Message
from resolute.api.kernel.ports import Ports
from resolute.api.kernel.reading import read_names, read_request
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.lifecycle import LifecycleLines
from resolute.api.log_policies import LogPolicies
from resolute.api.log_removal import LogRemoval
from resolute.api.logins import Logins
from resolute.api.measures.accelerators import AcceleratorStore
from resolute.api.measures.gathering import Gathering
from resolute.api.measures.logs import LogStore
from resolute.api.measures.metrics import MetricStore
from resolute.api.measures.removals import Removals
from resolute.api.password_work import PasswordWork
from resolute.api.places import Places
from resolute.api.reactions import ForgetDeleted
from resolute.api.request_body import RequestBody, read_body
from resolute.api.routing import Principal, Route, Verdict, decide
from resolute.api.scope import AllEverywhere, Grants, Rights
from resolute.api.searches.events import SearchEvents
from resolute.api.sessions import Sessions
from resolute.api.settings import ApiSettings
from resolute.api.signals import Signals
from resolute.api.slices import read_model
from resolute.api.task_tokens import TaskTokens
from resolute.api.tasks.token_queries import TOKENS
from resolute.api.trials.lookup import KnownTrial
from resolute.api.uploads import Uploads
from resolute.api.vault import Vault
from resolute.api.wrapping import Keyring
from resolute.proto.errors import NotFound, Unavailable
from resolute.proto.pool import LogLine
from resolute.service import Context, metrics_token
from resolute.service.tracing import span

ANSWERS = Counter("resolute_api_answers", "Answers to requests, by operation and status", ["operation", "status"])

CSRF_TOKEN = web.RequestKey("csrf_token", str)
"""Under this key a request that a cookie signs keeps what its page must repeat."""

T = TypeVar("T")

MONITORING = Principal(user_id=0, username="metrics", monitor=True)

ALWAYS = frozenset({"Health", "Welcome"})
"""Operations that need no users: a gateway that does not know any yet answers them."""


class UsersUnknown(NotShown):
    """The gateway has just started, and cannot tell anybody from a stranger."""


class Gateway:
    """What every handler reaches for: the log and the bus, the read model, who is signed in, the measurements."""

    grants: Grants = AllEverywhere()
    """Where users hold permissions."""
    knows_users = True
    """Whether the first users are there. Until they are, nobody can be told from a stranger: everything is answered
    with 503."""

    def __init__(
        self,
        context: Context,
        settings: ApiSettings,
        pool: asyncpg.Pool,
        read: ReadModel | None = None,
    ) -> None:
        self.context, self.settings, self.pool = context, settings, pool
        self.read = read or read_model(pool, context.log)
        self.ports = Ports(self.read)
        self.places = Places(self.read, self.ports)
        self.password_work = PasswordWork()
        self.sessions = Sessions(pool, settings, context.now, self.read, self.password_work)
        self.logins = Logins(pool, self.read, settings, context.now, self.password_work)
        self.metrics_token = metrics_token.read(settings.metrics_token_file)
        self.signals = Signals()
        self.freshness = Freshness(self.read)
        self.task_tokens = TaskTokens(
            settings.secret.get_secret_value().encode(),
            self.read,
            self.ports.of(TOKENS),
            context.now,
            settings.task_token_grace_s,
            self.signals,
            self.freshness,
        )
        self.vault = Vault(pool, Keyring(settings.sealing_keys, settings.secret.get_secret_value().encode()))
        self.measured = MetricStore(pool)
        self.logs = LogStore(pool)
        self.log_policies = LogPolicies(self.read, context.bus)
        self.lifecycle = LifecycleLines(context.log, self.read, self.logs.add)
        self.gathering = Gathering(pool)
        self.accelerators = AcceleratorStore(pool)
        self.blobs = Blobs(pool)
        self.uploads = Uploads()
        removals = Removals(pool, self.measured)
        policy = settings.retention_policy
        self.log_removal = LogRemoval(removals, self.logs, self.read, context.bus, policy, context.now)
        self.forget_deleted = ForgetDeleted(context.log, self.log_removal, self.vault)
        self.search_events = SearchEvents(context.log)
        self.earlier_rows = EarlierRows(pool, self.read, context.bus)
        self.trials: dict[int, KnownTrial] = {}

    async def who(self, request: web.Request) -> Principal | None:
        """Who asks: by session, or by a task's token; None when no token, or an unknown one, came along.

        Raises WireError for a browser's request that a page of another origin may have caused.
        """
        token = _bearer_token(request) or self._cookie(request)
        if not token:
            return None
        if metrics_token.matches(token, self.metrics_token):
            return MONITORING
        if self.task_tokens.looks_like(token):
            return await self.task_tokens.principal(token)
        return await self.sessions.principal(token)

    def _cookie(self, request: web.Request) -> str | None:
        """The session's token in the cookie, where the cookie may sign the request. Such an answer tells the page that
        asked what it must repeat when it wants to change something."""
        found, urls = origins.asked(request, self.settings.trusted_proxies), self.settings.public_urls
        if self.settings.loopback:
            origins.check_host(found, urls)
        origins.check_page(found, urls)
        if (cookie := request.cookies.get("auth")) is None:
            return None
        expected = self.csrf_token(cookie)
        if not origins.cookie_counts(found, urls, request.headers.get(origins.TOKEN_HEADER, ""), expected):
            return None
        request[CSRF_TOKEN] = expected
        return cookie

    def csrf_token(self, token: str) -> str:
        """What pages must repeat that act with a session's token in their cookie."""
        return origins.csrf_token(self.settings.secret.get_secret_value().encode(), token)

    async def store_lines(self, lines: Sequence[LogLine]) -> None:
        """Durable, and held against the policies of their experiments, when it returns."""
        await self.logs.add(lines)
        await self.log_policies.watch(lines)

    async def answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        """Authenticate, read, decide, handle; whatever fails becomes an answer."""
        with span(route.operation, request.headers.get("traceparent"), method=route.method) as inside:
            if inside is not None:
                request[TRACEPARENT] = inside
            answer = await self._told(route, request)
            _answers(route.operation, answer.status).inc()
            return answer

    async def _told(self, route: Route, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(route, request)
        except web.HTTPException:
            raise
        except Exception as error:
            if request.writer.output_size > 0:
                raise _broken_off(request, told(error)[1]) from error
            answer = self._failed(route, request, error)
            answer.headers.update(wire.retry_after(error))
            return answer

    def _failed(self, route: Route, request: web.Request, error: Exception) -> web.Response:
        code, message = told(error)
        if route.streams:
            return wire.json_response(wire.stream_error_body(code, message), status=code.http)
        return self.failure(request, code, message)

    async def _answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        if not self.knows_users and route.operation not in ALWAYS:
            raise UsersUnknown(f"this gateway does not know the users yet: its tables show {self.read.growth}")
        principal = await self.who(request)
        rights = await access.rights_of(self.grants, route, principal)
        _check_door(route, principal, rights)
        if principal is not None:
            recognise(request, principal)
        read = await read_body(request, route.body if principal else FROM_STRANGERS, self.uploads)
        try:
            if read.awaited and principal is not None and principal.task is not None:
                # A body may take long to arrive, and the task's run may have been given up meanwhile.
                principal = await self.who(request)
            answer = await self._handled(route, request, principal, rights, read)
        finally:
            await read.close()
        if isinstance(answer, web.StreamResponse):
            return answer
        return wire.json_response(answer, pretty="pretty" in request.query)

    async def _handled(
        self, route: Route, request: web.Request, principal: Principal | None, rights: Rights, read: RequestBody
    ) -> Message | web.StreamResponse:
        query = given(request)
        asked = await read_request(route.declared.request, request.match_info, query, read)
        path, body = await read_names(asked, read)
        named = access.Named(path, query, body)
        granted = await self._looked_twice(partial(access.check, self.places, route, principal, rights, named))
        call = Call(self, request, path, read, granted, principal or NOBODY, message=asked)
        # The call alone keeps the message, so that a handler that waits can let go of it. A password may be in what the
        # body names, and a traceback may show that.
        del asked, body, named
        return await self._looked_twice(lambda: route.declared.handle(call, call.message), lambda: not call.sent)

    async def _looked_twice(self, look: Callable[[], Awaitable[T]], may_repeat: Callable[[], bool] = lambda: True) -> T:
        """What `look` answers. What it did not find may have come through another gateway a moment ago: then it looks
        again in tables that show everything; unless a command was sent meanwhile, whose answer counts."""
        shown = self.read.shown
        try:
            return await look()
        except NotFound:
            if not may_repeat() or not await self._caught_up_from(shown):
                raise
        return await look()

    async def _caught_up_from(self, position: int) -> bool:
        """Whether the tables show more than they did at `position`, once they show everything.

        Raises Unavailable when they cannot be brought there in time: nobody knows then what there is.
        """
        try:
            async with asyncio.timeout(self.settings.persistence_s):
                await self.read.catch_up()
        except TimeoutError:
            raise Unavailable("this gateway's tables are behind the log: try again later") from None
        return self.read.shown > position

    def failure(self, request: web.Request, code: wire.Code, message: str) -> web.Response:
        return wire.json_response(wire.error_body(request.path, code, message), status=code.http)


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
    final = verdict in (Verdict.UNKNOWN, Verdict.GIVEN_UP, Verdict.DELETED) or not route.access.goes_by_what_is_named
    if final and verdict is not Verdict.ALLOWED:
        raise access.refusal(verdict, route.operation, route.access, principal)


def _bearer_token(request: web.Request) -> str | None:
    for header in ("Authorization", "Grpc-Metadata-x-allocation-token", "Grpc-Metadata-x-user-token"):
        scheme, _, token = request.headers.get(header, "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
    return None


Dispatch = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(gateway: Gateway, routes: tuple[Route, ...]) -> web.Application:
    app = web.Application(middlewares=[_strangers(gateway)])
    for route in routes:
        app.router.add_route(route.method, route.pattern, partial(gateway.answer, route))
    app.on_response_prepare.append(_protection(gateway.settings.insists_on_tls_s))
    return app


def _protection(strict_transport_s: int) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Headers that every answer has."""

    async def protected(request: web.Request, response: web.StreamResponse) -> None:
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
