"""The agent as a process: one agent for each work directory. On SIGTERM the agent stops, and its tasks go on."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import structlog

from resolute.agent import slots
from resolute.agent.agent import Agent
from resolute.agent.ledger import Ledger
from resolute.agent.registry import Prepared, Registry, Runtimes
from resolute.agent.settings import AgentSettings, host_towards
from resolute.bus import Bus
from resolute.bus.nats import NatsBus
from resolute.bus.roles import agent_credentials
from resolute.proto.errors import InvalidConfig, Unavailable, refuse
from resolute.service import Patience, metrics_token
from resolute.service.loop_watchdog import LoopWatch

log_ = structlog.get_logger()


def make(bus: Bus, settings: AgentSettings, registry: Registry[Any], prepared: Prepared) -> Agent:
    found = slots.detect(settings.slots, settings.artificial, settings.gpu)
    return Agent(
        bus,
        Runtimes(registry, prepared.open(found)),
        Ledger(settings.work_dir.absolute() / "ledger"),
        settings,
        found,
        settings.host or host_towards(settings.nats_url),
        version("resolute"),
    )


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets in the agent's files. They are read early: `prepare` may hide the files from this process."""

    seed: str | None = field(default=None, repr=False)
    """The nkey seed of the agent."""
    metrics_token: str = field(default="", repr=False)


async def run(
    settings: AgentSettings, registry: Registry[Any], prepared: Prepared, stop_tasks: bool, secrets: Secrets
) -> None:
    """Runs an agent until SIGTERM or SIGINT. `stop_tasks`: whether its tasks are ended then."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    with _alone_in(settings) as lock, LoopWatch():
        prepared.announce()
        bus = await _open(settings, secrets.seed, stopping)
        if bus is None:
            return
        try:
            said_hello = asyncio.Event()
            async with _health(settings, bus, said_hello, secrets.metrics_token):
                agent = make(bus, settings, registry, prepared)
                await _work(agent, settings.id, stopping, stop_tasks, said_hello, lock)
        finally:
            await bus.close()


async def _work(
    agent: Agent, agent_id: str, stopping: asyncio.Event, stop_tasks: bool, said_hello: asyncio.Event, lock: int
) -> None:
    def on_ready() -> None:
        if not said_hello.is_set():
            said_hello.set()
            _write_pid(lock)

    working = asyncio.create_task(agent.run(on_ready))
    asked = asyncio.create_task(stopping.wait())
    await asyncio.wait({working, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if stop_tasks and not working.done():
        await agent.stop_tasks(f"agent {agent_id} is being stopped")
    working.cancel()
    try:
        await working
    except asyncio.CancelledError:
        log_.info("stopped")


def secrets_of(settings: AgentSettings) -> Secrets:
    """Reads the secrets in the agent's files. Raises InvalidConfig."""
    return Secrets(_seed(settings), metrics_token.read(settings.metrics_token_file))


def _seed(settings: AgentSettings) -> str | None:
    try:
        return settings.nats_seed_file.read_text().strip() if settings.nats_seed_file else None
    except OSError as error:
        raise InvalidConfig(f"nats_seed_file: cannot read {settings.nats_seed_file}: {error.strerror}") from error


async def _open(settings: AgentSettings, seed: str | None, stopping: asyncio.Event) -> NatsBus | None:
    """The bus, waited for without a limit; None when `stopping` is set first."""
    credentials = agent_credentials(settings.id, seed) if seed else None
    connect = partial(NatsBus.open, credentials=credentials, authority=settings.nats_ca_file, timeout_s=5.0)
    patience = Patience()
    while not stopping.is_set():
        try:
            return await connect(settings.nats_url, name=f"agent {settings.id}")
        except Unavailable as error:
            await patience.wait("start", error)
    return None


@contextmanager
def _alone_in(settings: AgentSettings) -> Iterator[int]:
    """Locks the work directory, so that no two agents look after the same tasks. Yields the descriptor of the lock
    file. Raises Refused when another agent has the lock, and InvalidConfig."""
    try:
        settings.work_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(settings.work_dir / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InvalidConfig(f"work_dir: cannot use {settings.work_dir}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    except BlockingIOError:
        raise refuse(
            f"start agent {settings.id}",
            f"another agent works in {settings.work_dir}",
            "stop that one, or give this one another work_dir",
        ) from None
    finally:
        os.close(lock)


def _write_pid(lock: int) -> None:
    """Writes this process's id into the lock file. The command that starts agents waits for it: it means that the
    scheduler has answered this agent's hello."""
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
    except OSError as error:  # a full disk is no reason to stop
        log_.warning("the lock cannot be written", why=str(error))


@asynccontextmanager
async def _health(settings: AgentSettings, bus: NatsBus, said_hello: asyncio.Event, token: str) -> AsyncIterator[None]:
    if settings.health_port is None:
        yield
        return
    from resolute.service.health import HealthSite  # imports a web server, which is not needed without the pages

    async def bus_answers() -> bool:
        return bus.connected

    async def scheduler_knows() -> bool:
        return said_hello.is_set()

    site = HealthSite({"bus": bus_answers, "scheduler": scheduler_knows}, token=token)
    port = await site.open(settings.health_host, settings.health_port)
    log_.info("health", url=f"http://{settings.health_host}:{port}/health")
    try:
        yield
    finally:
        await site.close()
