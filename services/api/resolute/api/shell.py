"""The gateway's shell: migrates, seeds, catches up, listens, and follows the log until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import asyncpg
import structlog
from aiohttp import web

from resolute.api import passwords, tls
from resolute.api.agent_logs import AgentLogs
from resolute.api.agent_secrets import AgentSecrets
from resolute.api.answering import application
from resolute.api.database import outages
from resolute.api.edge.listener import Listener
from resolute.api.experiments.submission_queries import SUBMISSIONS
from resolute.api.gateway import Gateway
from resolute.api.identity.queries import QUERIES as USERS
from resolute.api.interactive.queries import QUERIES as INTERACTIVE
from resolute.api.kernel.feed import NotShown, TablesLost
from resolute.api.kernel.growth import grow
from resolute.api.kernel.readmodel import Progress, ReadModel
from resolute.api.kernel.unused import drop_unused, note_use
from resolute.api.lag import LagWatch
from resolute.api.logs.shipping_queries import SHIPPING
from resolute.api.measures.summaries import keep_summaries
from resolute.api.reactions import NAME
from resolute.api.settings import ApiSettings, load
from resolute.api.slices import read_model
from resolute.api.table import ROUTES
from resolute.api.trials.queries import QUERIES as TRIALS
from resolute.api.trials.silence import SilenceWatch
from resolute.bus import Subscription
from resolute.eventlog.migrate import migrate
from resolute.proto.errors import Failed, InvalidConfig, Unavailable, refuse
from resolute.proto.pool import LogBatch, OpenSecrets
from resolute.service import AgentMessages, Context, Follower, Patience, Reactions, listen_to_agents

T = TypeVar("T")

log_ = structlog.get_logger()

SWEEP_EVERY_S = 3600.0

NOTE_USE_EVERY_S = 60.0

CARRY_OVER_EVERY_S = 60.0

IDLE_S = 20.0
"""A connection to the database that nothing used for this long is closed: each is a process of Postgres with 15 to 20
MB, and growing the tables at the start uses several at once."""

FINISH_S = 1.0
"""How long requests may take to finish when the gateway stops; long polls and followers are cut off and come again."""

SEEDED = {1: "admin", 2: "determined"}
"""The first users. The first workspace comes after them in the log: a gateway that waited for them alone may answer
for a moment that there is none, and looks again then, as for everything that it does not find."""

LOOK_AGAIN_S = 1.0

LOOK_AT_GROWTH_S = 0.1


async def serve(context: Context, settings: ApiSettings | None = None) -> None:
    """Serve until cancelled. Raises Refused when listening would leave the cluster open to strangers."""
    settings = settings or load()
    if not settings.secret.get_secret_value():
        raise InvalidConfig(
            "secret is not set: without the cluster's secret nobody could tell a task's token from a forged one"
        )
    pool = await patiently(partial(connect, settings))
    try:
        gateway = await patiently(partial(opened, context, settings, pool))
        async with AsyncExitStack() as stack:
            if not settings.reuse_port:  # else another gateway of this port may have tables that are whole
                await stack.enter_async_context(listening(gateway))
            showing = asyncio.create_task(_show(gateway))
            stack.push_async_callback(_stopped, showing)
            await _beside(showing, _first_users(gateway))
            await refuse_blank_passwords(gateway)
            await _beside(showing, gateway.read.answerable.wait())
            if settings.reuse_port:
                await stack.enter_async_context(listening(gateway))
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_beside(showing, asyncio.Event().wait()))
                _follow(gateway, tasks)
                context.on_ready("api")
    finally:
        await pool.close()


async def _beside(task: asyncio.Task[None], work: Coroutine[Any, Any, T]) -> T:
    """The outcome of `work`, unless `task`, which runs as long as the gateway does, fails before: then its error."""
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, doing}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return await doing
    finally:
        doing.cancel()


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _follow(gateway: Gateway, tasks: asyncio.TaskGroup) -> None:
    context = gateway.context
    reactions = Reactions(NAME, context.log, gateway.forget_deleted, attempt_lock=context.attempt_lock)
    tasks.create_task(Follower(reactions, context.log, context.bus).run())
    tasks.create_task(Follower(gateway.lifecycle, context.log, context.bus).run())
    tasks.create_task(Follower(gateway.streams, context.log, context.bus).run())
    tasks.create_task(gateway.own_log.run())
    tasks.create_task(_hear(gateway))
    tasks.create_task(_sweep(gateway))
    tasks.create_task(gateway.log_removal.keep_to_schedule())
    tasks.create_task(keep_summaries(gateway.pool))
    tasks.create_task(_silence(gateway).run())
    tasks.create_task(_note_use(gateway))
    tasks.create_task(_carry_over(gateway))
    tasks.create_task(_watch_lag(gateway))


def _silence(gateway: Gateway) -> SilenceWatch:
    return SilenceWatch(gateway.heartbeats, lambda: gateway.ports.of(TRIALS), gateway.context.bus, gateway.context.now)


async def _show(gateway: Gateway) -> None:
    """Follow the log into the tables, and let those grow that are not there yet. Tables that are lost are made and
    grown again: until they show everything, the gateway is not ready."""
    read, context = gateway.read, gateway.context
    lost = False
    while True:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_follow_log(gateway))
                tasks.create_task(_grow(gateway))
                tasks.create_task(_until_lost(read))
                if lost:
                    tasks.create_task(_ready_again(gateway))
        except* TablesLost:
            log_.error("tables that answers come from are gone")
        lost = True
        context.on_progress("api", "tables that answers come from are gone, and grow again from the log")
        await patiently(read.prepare)


async def _ready_again(gateway: Gateway) -> None:
    await gateway.read.answerable.wait()
    gateway.context.on_ready("api")


async def _until_lost(read: ReadModel) -> None:
    await read.lost.wait()
    raise TablesLost("the tables that answers come from are gone")


async def _follow_log(gateway: Gateway) -> None:
    await gateway.read.follows.wait()
    await Follower(gateway.read, gateway.context.log, gateway.context.bus).run()


async def _grow(gateway: Gateway) -> None:
    read, context = gateway.read, gateway.context

    def note(progress: Progress) -> None:
        if not read.answerable.is_set():
            context.on_progress("api", f"tables grow from the log: {progress}")

    await patiently(partial(grow, read, note))


async def _watch_lag(gateway: Gateway) -> None:
    """The gateway is not ready while its tables are too far behind the log. While they are grown anew it is not ready
    for that reason, and says how far they have come."""
    context, read = gateway.context, gateway.read

    def behind(why: str) -> None:
        if read.answerable.is_set():
            context.on_progress("api", why)

    def caught_up() -> None:
        if read.answerable.is_set():
            context.on_ready("api")

    watch = LagWatch(read, context.log, gateway.settings.behind_max_s)
    await watch.run(behind, caught_up)


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """The outcome of `work`, which is tried until what it needs is there."""
    patience = Patience()
    while True:
        try:
            return await work()
        except Unavailable as error:
            await patience.wait("gateway", error)


async def connect(settings: ApiSettings) -> asyncpg.Pool:
    with outages():
        return await asyncpg.create_pool(
            settings.database_url,
            min_size=1,
            max_size=settings.pool_connections_max,
            max_inactive_connection_lifetime=IDLE_S,
            command_timeout=60,
            reset=_as_it_is,
        )


async def _as_it_is(connection: asyncpg.Connection) -> None:
    """Nothing here outlives a transaction (no LISTEN, no session's lock or setting): a connection goes back to the
    pool as it is, which saves a round trip for every question asked."""


async def opened(context: Context, settings: ApiSettings, pool: asyncpg.Pool) -> Gateway:
    """A gateway whose tables exist; they may be empty still, and everything but `/health` is answered with 503."""
    with outages():
        async with pool.acquire() as connection:
            await migrate(connection, "resolute.api", "api")
            await migrate(connection, "resolute.api.measures", "measures")
    gateway = Gateway(context, settings, pool, read_model(pool, context.log))
    gateway.vault.keyring.ensure()
    await gateway.read.prepare()
    gateway.knows_users = False
    return gateway


async def _first_users(gateway: Gateway) -> None:
    """Return once the tables show the first users, and they have passwords. In a new cluster the directory makes them
    when it starts."""
    await patiently(partial(_users_shown, gateway))
    form = passwords.client_form(gateway.settings.initial_user_password.get_secret_value(), hashed=False)
    for user_id in SEEDED:
        await patiently(partial(gateway.sessions.set_first_password, user_id, form))
    gateway.knows_users = True


async def _users_shown(gateway: Gateway) -> None:
    read, log = gateway.read, gateway.context.log
    users = gateway.ports.of(USERS)
    while True:
        try:
            await read.catch_up()
            if all([await users.user(user_id) is not None for user_id in SEEDED]):
                return
            gateway.context.on_progress("api", "waiting for the directory to make the first users")
            await log.wait_beyond(read.shown, LOOK_AGAIN_S)
        except NotShown:  # the tables of the users are still growing
            await asyncio.sleep(LOOK_AT_GROWTH_S)


async def prepare(context: Context, settings: ApiSettings, pool: asyncpg.Pool) -> Gateway:
    """A gateway whose tables exist, whose first users exist, and which shows everything the log holds."""
    gateway = await opened(context, settings, pool)
    await grow(gateway.read)
    await _first_users(gateway)
    return gateway


async def refuse_blank_passwords(gateway: Gateway) -> None:
    settings = gateway.settings
    if settings.loopback:
        return
    if blank := await gateway.sessions.blank():
        raise refuse(
            f"listen on {settings.host}",
            f"the passwords of {', '.join(blank)} are blank, and anyone who reaches that address could be them",
            "set an initial password, change theirs on a loopback address first, or listen on 127.0.0.1",
        )


@asynccontextmanager
async def listening(gateway: Gateway) -> AsyncIterator[tuple[str, int]]:
    """Answers requests, at the address given, until left."""
    settings = gateway.settings
    secure = tls.context(settings.tls_cert, settings.tls_key)
    runner = web.AppRunner(application(gateway, ROUTES), handler_cancellation=True, shutdown_timeout=FINISH_S)
    await runner.setup()
    assert runner.server is not None  # setup has made it
    listener = Listener(
        runner.server,
        settings.connections,
        secure=secure,
        shared=(*settings.trusted_proxies, *settings.silent_proxies),
        strict_transport_s=settings.insists_on_tls_s,
        access_log=None,
    )
    looking = asyncio.create_task(listener.run())
    try:
        for host in filter(None, settings.hosts):
            try:
                listener.listen(host, settings.port, reuse_port=settings.reuse_port)
            except OSError as error:
                raise InvalidConfig(
                    f"cannot listen on {host}:{settings.port}: {error.strerror}; choose another host or port"
                ) from error
        async with gateway.proxied.open():
            host, port = listener.addresses[0]
            log_.info("the gateway listens", host=host, port=port)
            yield host, port
    finally:
        looking.cancel()
        listener.close()
        await runner.cleanup()


async def _hear(gateway: Gateway) -> None:
    """What comes over the bus besides: facts that end a long poll, the lines that agents ship, and their questions for
    the secrets of a task."""
    subscriptions = await patiently(partial(_subscribed, gateway))
    try:
        await asyncio.Event().wait()
    finally:
        for subscription in subscriptions:
            await subscription.close()


async def _subscribed(gateway: Gateway) -> list[Subscription]:
    bus = gateway.context.bus
    ports = gateway.ports
    shipped = AgentLogs(gateway.read, ports.of(SHIPPING), gateway.store_lines, gateway.signals, gateway.freshness)
    secrets = AgentSecrets(
        gateway.read, ports.of(SUBMISSIONS), ports.of(INTERACTIVE), gateway.task_tokens, gateway.vault
    ).open
    messages = (
        AgentMessages("logs", LogBatch, shipped.store, _lines_of),
        AgentMessages("secrets", OpenSecrets, secrets, lambda question: sha256(question.token.encode()).hexdigest()),
    )
    subscriptions = [await bus.facts(gateway.signals.deliver)]
    try:
        subscriptions.append(await listen_to_agents(gateway.context, "api", messages))
    except Unavailable:
        for subscription in subscriptions:
            await subscription.close()
        raise
    return subscriptions


def _lines_of(batch: LogBatch) -> str:
    """Which batch it is: an agent sends the same lines together until they are taken. The number of lines belongs to
    it, so that a part of a refused batch, which begins at the same line, is judged for itself."""
    return next((f"{line.task_id}/{line.rank}/{line.sequence}/{len(batch.lines)}" for line in batch.lines), "")


async def _note_use(gateway: Gateway) -> None:
    """Say that the tables of this version are in use, and drop those of versions that are not."""
    unused_for = timedelta(days=gateway.settings.unused_tables_days)
    while True:
        with suppress(Unavailable):
            used = gateway.read.used
            for schema, position in used.items():
                await note_use(gateway.pool, schema, position)
            await drop_unused(gateway.pool, list(used), await gateway.context.log.head(), unused_for)
        await asyncio.sleep(NOTE_USE_EVERY_S)


async def _carry_over(gateway: Gateway) -> None:
    """Into the log, what an earlier release keeps in its tables. While a service is away, the rows wait."""
    while True:
        with suppress(Unavailable, Failed):
            await gateway.earlier_rows.carry_over()
        await asyncio.sleep(CARRY_OVER_EVERY_S)


async def _sweep(gateway: Gateway) -> None:
    """Expired sessions are no use to anyone; an outage only delays the sweeping."""
    while True:
        await asyncio.sleep(SWEEP_EVERY_S)
        with suppress(Unavailable):
            await gateway.sessions.sweep()
            await gateway.logins.budgets.sweep()
            await gateway.gathering.forget_old()
