"""The gateway: what every handler reaches for. Everything that a gateway knows lives in Postgres and in the log."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
from aiohttp import web

from resolute.api import wire
from resolute.api.access_tokens.queries import QUERIES as ACCESS_TOKENS
from resolute.api.blobs import Blobs
from resolute.api.earlier_rows import EarlierRows
from resolute.api.edge import origins
from resolute.api.freshness import Freshness
from resolute.api.identity.account_queries import ACCOUNTS
from resolute.api.kernel.ports import Ports
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.kernel.whereabouts import PostgresPlaces
from resolute.api.lifecycle import LifecycleLines
from resolute.api.log_policies import LogPolicies
from resolute.api.log_removal import LogRemoval
from resolute.api.logins import Logins
from resolute.api.logs.lifecycle_queries import LIFECYCLE
from resolute.api.logs.queries import QUERIES as LOGS
from resolute.api.logs.shipping_queries import SHIPPING
from resolute.api.master.own_log import OwnLogFollower
from resolute.api.measures.accelerators import AcceleratorStore
from resolute.api.measures.gathering import Gathering
from resolute.api.measures.heartbeats import Heartbeats
from resolute.api.measures.logs import LogStore
from resolute.api.measures.metrics import MetricStore
from resolute.api.measures.removals import Removals
from resolute.api.password_work import PasswordWork
from resolute.api.places import Places
from resolute.api.proxy.proxied import Proxied
from resolute.api.rbac.queries import QUERIES as RBAC
from resolute.api.reactions import ForgetDeleted
from resolute.api.role_grants import RoleGrants
from resolute.api.routing import Principal
from resolute.api.scope import AllEverywhere, Grants
from resolute.api.searches.events import SearchEvents
from resolute.api.sessions import Sessions
from resolute.api.settings import ApiSettings
from resolute.api.signals import Signals
from resolute.api.stream.fanout import Fanout
from resolute.api.stream.queries import QUERIES as STREAMED
from resolute.api.task_tokens import TaskTokens
from resolute.api.tasks.token_queries import TOKENS
from resolute.api.trials.known import KnownTrial
from resolute.api.trials.lookup_queries import LOOKUPS
from resolute.api.uploads import Uploads
from resolute.api.vault import Vault
from resolute.api.webhooks.log_lines import LogTriggers
from resolute.api.webhooks.queries import QUERIES as WEBHOOKS
from resolute.api.wrapping import Keyring
from resolute.proto.pool import LogLine
from resolute.service import Context, metrics_token

CSRF_TOKEN = web.RequestKey("csrf_token", str)
"""Under this key a request that a cookie signs keeps what its page must repeat."""

PASSED_ON = web.RequestKey("passed_on", bool)
"""Under this key a request is marked whose answer comes from a task."""

MONITORING = Principal(user_id=0, username="metrics", monitor=True)


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
        read: ReadModel,
    ) -> None:
        self.context, self.settings, self.pool = context, settings, pool
        self.read = read
        self.ports = Ports(self.read)
        self.places = Places(self.read, self.ports, PostgresPlaces(self.read, self.read.things))
        self.password_work = PasswordWork()
        accounts = self.ports.of(ACCOUNTS)
        if settings.authz.enforces_roles:
            strict = settings.authz.strict_job_queue_control
            self.grants = RoleGrants(self.ports.of(RBAC).rights_of, strict_queue=strict)
        tokens = self.ports.of(ACCESS_TOKENS)
        self.sessions = Sessions(pool, settings, context.now, self.read, accounts, tokens, self.password_work)
        self.logins = Logins(pool, accounts, settings, context.now, self.password_work)
        self.metrics_token = metrics_token.read(settings.metrics_token_file)
        self.signals = Signals()
        self.own_log = OwnLogFollower(context.log, self.signals)
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
        self.heartbeats = Heartbeats(pool)
        self.logs = LogStore(pool)
        self.log_policies = LogPolicies(self.read, self.ports.of(SHIPPING), context.bus)
        self.log_triggers = LogTriggers(self.read, self.ports.of(WEBHOOKS), context.bus)
        self.lifecycle = LifecycleLines(context.log, self.read, self.ports.of(LIFECYCLE), self.logs.add)
        self.gathering = Gathering(pool)
        self.accelerators = AcceleratorStore(pool)
        self.blobs = Blobs(pool)
        self.uploads = Uploads()
        removals = Removals(pool, self.measured)
        policy = settings.retention_policy
        queries = self.ports.of(LOGS)
        self.log_removal = LogRemoval(removals, self.logs, queries, context.bus, policy, context.now)
        self.forget_deleted = ForgetDeleted(context.log, self.log_removal, self.vault)
        self.search_events = SearchEvents(context.log)
        self.earlier_rows = EarlierRows(pool, self.read, self.ports.of(LOOKUPS), context.bus)
        self.streams = Fanout(self.read, context.log, self.ports.of(STREAMED), settings.streams)
        self.trials: dict[int, KnownTrial] = {}
        self.proxied = Proxied(settings, context.bus, self.places, self.ports)

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

    async def who_enters(self, request: web.Request) -> Principal | None:
        """Who wants to enter what a task serves: a user, by session. Pages of tasks know nothing of `csrf_token`, so
        that a cookie signs whatever the gateway's own origin asks; from elsewhere a person may only follow a link.

        Raises WireError for a browser's request that a page of another origin may have caused.
        """
        token = _bearer_token(request) or self._entering_cookie(request)
        if not token or metrics_token.matches(token, self.metrics_token) or self.task_tokens.looks_like(token):
            return None
        return await self.sessions.principal(token)

    def _entering_cookie(self, request: web.Request) -> str | None:
        found, urls = origins.asked(request, self.settings.trusted_proxies), self.settings.public_urls
        if self.settings.loopback:
            origins.check_host(found, urls)
        origins.check_page(found, urls)
        cookie = request.cookies.get("auth")
        return cookie if cookie is not None and origins.may_enter(found, urls) else None

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
        """Durable, and held against the policies of their experiments and the triggers of webhooks, when it returns."""
        await self.logs.add(lines)
        await self.log_policies.watch(lines)
        await self.log_triggers.watch(lines)

    def failure(self, request: web.Request, code: wire.Code, message: str) -> web.Response:
        return wire.json_response(wire.error_body(request.path, code, message), status=code.http)


def _bearer_token(request: web.Request) -> str | None:
    for header in ("Authorization", "Grpc-Metadata-x-allocation-token", "Grpc-Metadata-x-user-token"):
        scheme, _, token = request.headers.get(header, "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
    return None
