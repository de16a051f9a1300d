"""Three pages for operators: whether the process is alive, whether it serves, and how much it has done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import structlog
from aiohttp import web

from resolute.proto.errors import InvalidConfig
from resolute.service import metrics_token
from resolute.service.addresses import host_of, is_loopback, is_unmistakable

log_ = structlog.get_logger()

Check = Callable[[], Awaitable[bool]]


IDLE_S = 15.0
"""A connection without a complete request for this long is closed: these pages are for a few callers."""


class HealthSite:
    """The pages `/health`, `/ready` and `/metrics`. `/health` answers while the event loop runs, `/ready` asks every
    check. When the site listens on loopback, `/metrics` answers every caller on this machine; otherwise a request needs
    the metrics token."""

    def __init__(
        self, checks: Mapping[str, Check], progress: Mapping[str, str] | None = None, *, token: str = ""
    ) -> None:
        """`progress`: by service that is not ready, a text that `/ready` shows. `token`: the metrics token; when it is
        empty, metrics are served on loopback only."""
        self._checks, self._progress = checks, progress if progress is not None else {}
        self._token, self._on_loopback = token, False
        self._runner: web.AppRunner | None = None

    async def open(self, host: str, port: int) -> int:
        """Serve until `close`; answers the port. Raises InvalidConfig when the port is taken."""
        self._on_loopback = is_loopback(host)
        app = web.Application()
        app.add_routes(
            [web.get("/health", self._health), web.get("/ready", self._ready), web.get("/metrics", self._metrics)]
        )
        self._runner = web.AppRunner(app, access_log=None, keepalive_timeout=IDLE_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self.close()
            raise InvalidConfig(f"health_port {port}: {error.strerror}; choose another port, or 0 for any") from error
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "up"})

    async def _ready(self, request: web.Request) -> web.Response:
        found = {name: await check() for name, check in self._checks.items()}
        status = 200 if all(found.values()) else 503
        return web.json_response(
            {**found, "progress": dict(self._progress)} if self._progress else found, status=status
        )

    async def _metrics(self, request: web.Request) -> web.Response:
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        self._check_reader(request)
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def _check_reader(self, request: web.Request) -> None:
        """Raises HTTPException for a request that may not read metrics."""
        if self._on_loopback:
            if request.host and not is_unmistakable(host_of(request.host)):
                raise web.HTTPMisdirectedRequest(text="metrics are served here to localhost and to addresses only\n")
        elif not self._token:
            raise web.HTTPForbidden(
                text="metrics are served on loopback only, unless metrics_token_file names the token that opens them\n"
            )
        elif not metrics_token.matches(metrics_token.shown_in(request.headers.get("Authorization", "")), self._token):
            raise web.HTTPUnauthorized(
                text="show the metrics token, as Authorization: Bearer\n", headers={"WWW-Authenticate": "Bearer"}
            )
