"""Runs services as a process: opens the log and the bus, and serves until SIGTERM or SIGINT.

Exit codes: 0 after SIGTERM or SIGINT, 1 after a bug, 2 for settings that cannot be used. Starting a process again after
a bug is safe: an append to the log is complete or absent.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import structlog
import uvloop

from resolute.bus.link import Credentials
from resolute.bus.nats import NatsBus
from resolute.eventlog import EventLog
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import InvalidConfig, Refused, ResoluteError, Unavailable
from resolute.service import logs, metrics_token, settings, tracing
from resolute.service.context import Context
from resolute.service.follower import Patience
from resolute.service.loop_limit import loop_limit
from resolute.service.loop_watchdog import LoopWatch
from resolute.service.observed import ObservedBus
from resolute.service.settings import Settings

log_ = structlog.get_logger()

Serve = Callable[[Context], Awaitable[None]]
Opened = TypeVar("Opened")


def run(serve: Serve, name: str) -> None:
    """Runs one service; the body of `python -m resolute.<name>`. Exits the process."""
    run_all({name: serve}, name)


def run_all(services: Mapping[str, Serve], name: str) -> None:
    """Runs several services in one process. Exits the process."""
    try:
        known = settings.load()
    except ResoluteError as error:
        sys.exit(_unusable(name, error))
    logs.configure(name, known.log_level, known.log_format)
    try:
        uvloop.run(_main(services, known, name))
    except (InvalidConfig, Refused) as error:
        sys.exit(_unusable(name, error))
    except Exception:
        log_.exception("stopped by a bug")
        sys.exit(1)


def _unusable(name: str, error: ResoluteError) -> int:
    print(f"resolute.{name}: {error.message}", file=sys.stderr)
    return 2


@dataclass
class Readiness:
    """Which of the services of this process are ready."""

    wanted: frozenset[str]
    ready: set[str] = field(default_factory=set)
    progress: dict[str, str] = field(default_factory=dict)
    """By the name of a service that is not ready: how far it has come."""
    was_ready: bool = False
    """Whether all of them have been ready at some time."""

    def on_progress(self, name: str, text: str) -> None:
        if name in self.ready:
            self.ready.remove(name)
            log_.warning("not ready any more", what=name, why=text)
        self.progress[name] = text

    def on_ready(self, name: str) -> None:
        self.progress.pop(name, None)
        if name not in self.ready:
            self.ready.add(name)
            log_.info("ready", what=name)
            if self.ready >= self.wanted and not self.was_ready:
                self.was_ready = True
                gc.freeze()  # modules and settings are never freed: the collector need not look at them each time

    async def check(self) -> bool:
        return self.ready >= self.wanted


async def _main(services: Mapping[str, Serve], known: Settings, name: str) -> None:
    stopping = _stop_on_signals()
    tracing.configure(name, known.otlp_endpoint)
    with LoopWatch(), loop_limit(known.loop_held_max_s):
        await _serve_all(services, known, name, stopping)
    log_.info("stopped")


async def _serve_all(services: Mapping[str, Serve], known: Settings, name: str, stopping: asyncio.Event) -> None:
    readiness = Readiness(frozenset(services))
    async with _opened(known, name, stopping) as (log, nats):
        bus = ObservedBus(nats)
        secret = known.cluster_secret.get_secret_value().encode()
        context = Context(
            log,
            bus,
            on_ready=readiness.on_ready,
            on_progress=readiness.on_progress,
            cluster_id=known.cluster_id,
            secret=secret,
        )
        async with _health(known, log, nats, readiness):
            await _serve_until(stopping, services, context)


def _stop_on_signals() -> asyncio.Event:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    return stopping


async def _serve_until(stopping: asyncio.Event, services: Mapping[str, Serve], context: Context) -> None:
    """Serves until `stopping` is set, or until one of the services fails; then all of them are cancelled."""
    tasks = {asyncio.create_task(_named(name, serve, context), name=name) for name, serve in services.items()}
    asked = asyncio.create_task(stopping.wait())
    done, _ = await asyncio.wait({*tasks, asked}, return_when=asyncio.FIRST_COMPLETED)
    for task in (*tasks, asked):
        task.cancel()
    await asyncio.gather(*tasks, asked, return_exceptions=True)
    for task in done - {asked}:
        await task
        raise RuntimeError(f"{task.get_name()} stopped serving without having been asked to")


async def _named(name: str, serve: Serve, context: Context) -> None:
    structlog.contextvars.bind_contextvars(service=name)
    await serve_patiently(name, serve, context.of(name))


async def serve_patiently(name: str, serve: Serve, context: Context) -> None:
    """Serves. When the service fails because the log or the bus is away, it is begun again after a pause."""
    patience = Patience()
    while True:
        try:
            return await serve(context)
        except Unavailable as error:
            await patience.wait(name, error)


@asynccontextmanager
async def _opened(known: Settings, name: str, stopping: asyncio.Event) -> AsyncIterator[tuple[EventLog, NatsBus]]:
    """The log and the bus, waited for without a limit, because the parts of a cluster start in any order. Exits the
    process when `stopping` is set first."""
    seed = known.seed()
    credentials = Credentials(seed) if seed else None
    connect = partial(NatsBus.open, credentials=credentials, authority=known.nats_ca_file, name=name)

    async def open_both() -> tuple[EventLog, NatsBus]:
        return await asyncio.gather(
            _patiently(lambda: PostgresEventLog.open(known.database_url)),
            _patiently(lambda: connect(known.nats_url)),
        )

    opening = asyncio.create_task(open_both())
    asked = asyncio.create_task(stopping.wait())
    await asyncio.wait({opening, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not opening.done():
        opening.cancel()
        sys.exit(0)
    log, bus = await opening
    try:
        yield log, bus
    finally:
        await bus.close()
        await log.close()


async def _patiently(open_: Callable[[], Awaitable[Opened]]) -> Opened:
    patience = Patience()
    while True:
        try:
            return await open_()
        except Unavailable as error:
            await patience.wait("start", error)


@asynccontextmanager
async def _health(known: Settings, log: EventLog, bus: NatsBus, readiness: Readiness) -> AsyncIterator[None]:
    if known.health_port is None:
        yield
        return
    from resolute.service.health import HealthSite

    async def log_answers() -> bool:
        try:
            async with asyncio.timeout(2):
                await log.head()
        except (Unavailable, TimeoutError):
            return False
        return True

    async def bus_answers() -> bool:
        return bus.connected

    checks = {"services": readiness.check, "log": log_answers, "bus": bus_answers}
    site = HealthSite(checks, readiness.progress, token=metrics_token.read(known.metrics_token_file))
    port = await site.open(known.health_host, known.health_port)
    log_.info("health", url=f"http://{known.health_host}:{port}/health")
    try:
        yield
    finally:
        await site.close()
