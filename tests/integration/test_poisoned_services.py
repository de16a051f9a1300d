"""Each service meets an event that ends its process: real processes die, are started again, and go on without it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from resolute.bus import subjects
from resolute.bus.nats import NatsBus
from resolute.directory.shell import Directory
from resolute.eventlog import cli
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import NotFound, ResoluteError, SetAside, Unavailable
from resolute.proto.experiment import PauseExperiment
from resolute.proto.identity import UserChanged
from resolute.proto.message import Cause, Reply
from resolute.proto.pool import TaskReport
from resolute.service import Patience
from tests.servers import Nats

SERVICE = """
import asyncio, os, re, sys
from functools import partial
from pydantic import SecretStr
import {module} as shell
from resolute.service import attempts, reactions
from resolute.service.run import run

how, poison, extra = sys.argv[1], int(sys.argv[2]), {extra}
attempts.SETTLE_S = 0.5
in_time = reactions.Reactions._in_time

async def harmful(self, recorded):
    if self._name == {consumer!r} and recorded.position == poison:
        if how == "exit":
            os._exit(9)
        re.fullmatch("(a*)*b", "a" * 64)  # in C: no other thread of Python runs meanwhile
    await in_time(self, recorded)

decided = getattr(getattr(shell, "Searcher", None), "handle", None)

async def harmful_command(self, command, cause):
    if cause.id == "poison":
        os._exit(9)
    return await decided(self, command, cause)

reported = getattr(getattr(shell, "Scheduler", None), "_report", None)

async def harmful_report(self, report):
    if report.resources_id == "poison":
        os._exit(9)
    return await reported(self, report)

if how == "command":
    shell.Searcher.handle = harmful_command
elif how == "report":
    shell.Scheduler._report = harmful_report
elif how != "mended":
    reactions.Reactions._in_time = harmful
serve = partial(shell.serve, settings=extra) if extra else shell.serve
while os.fork():  # a supervisor: the child has everything imported already
    _, status = os.wait()
    print("ended with", os.waitstatus_to_exitcode(status), flush=True)
    if os.waitstatus_to_exitcode(status) == 0:
        sys.exit(0)
run(serve, {name!r})
"""

GATEWAY = """__import__("resolute.api.settings").api.settings.ApiSettings(
    database_url=os.environ["RESOLUTE_DATABASE_URL"], port=0, secret=SecretStr("hush"))"""


@dataclass(frozen=True)
class Service:
    module: str
    consumer: str
    extra: str = "None"

    @property
    def source(self) -> str:
        return SERVICE.format(module=self.module, name=self.name, consumer=self.consumer, extra=self.extra)

    @property
    def name(self) -> str:
        """Under which the table of streams knows it."""
        return self.module.split(".")[1]


SERVICES = (
    Service("resolute.searcher.shell", "searcher"),
    Service("resolute.scheduler.shell", "scheduler-orders"),
    Service("resolute.checkpoint.shell", "checkpoint"),
    Service("resolute.api.shell", "api-measures", GATEWAY),
)


PATIENCE_S = 170.0
"""A service is started four times in a story, beside other tests that have the processors too."""


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def deaths(self) -> int:
        return self.output.read_text().count("ended with")

    def stop(self) -> None:
        """SIGTERM for the service; its supervisor ends with it."""
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(60)


@contextmanager
def started(service: Service, how: str, poison: int, folder: Path, dsn: str, nats: Nats) -> Iterator[Running]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RESOLUTE_")}
    env |= {"RESOLUTE_DATABASE_URL": dsn, "RESOLUTE_NATS_URL": nats.url, "RESOLUTE_LOG_FORMAT": "json"}
    # The limit counts while others have the processor, too: only the story that is about it sets one.
    held_max_s = "2" if how == "hold" else "0"
    env |= {"RESOLUTE_LOOP_HELD_MAX_S": held_max_s, "RESOLUTE_CLUSTER_SECRET": "hush"}
    output = folder / f"{how}.log"
    with output.open("wb") as log:
        argv = [sys.executable, "-c", service.source, how, str(poison)]
        process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        yield Running(process, output)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


async def tell(log: PostgresEventLog, name: str, after: int) -> int:
    """Append an event that no service reacts to; answers its position."""
    event = UserChanged(77, {"display_name": name})
    outcome = await log.append("user-77", [event], expected_version=after, cause=Cause(f"told-{after}"))
    return outcome.position


async def until_handled(log: PostgresEventLog, service: Service, position: int, running: Running) -> None:
    async def handled() -> bool:
        return await log.load_position(service.consumer) >= position

    await until(handled, running)


async def until(holds: Callable[[], Awaitable[bool]], running: Running) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not await holds():
                assert running.process.poll() is None, running.output.read_text()[-4000:]
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(running.output.read_text()[-4000:]) from None


def listed(dsn: str) -> list[str]:
    said: list[str] = []
    assert cli.aside(dsn, say=said.append) == 0
    return said


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.consumer)
async def test_an_event_that_ends_a_services_process_is_set_aside_and_can_be_retried_when_mended(
    service: Service, tmp_path: Path, postgres_dsn: str, nats_server: Nats
) -> None:
    log = await PostgresEventLog.open(postgres_dsn)
    try:
        await Directory(log).seed()  # a gateway waits for the first users
        poison = await tell(log, "poison", after=0)
        last = await tell(log, "good", after=1)
        with started(service, "exit", poison, tmp_path, postgres_dsn, nats_server) as running:
            await until_handled(log, service, last, running)
            assert running.deaths == 3
            lines = await asyncio.to_thread(listed, postgres_dsn)
            assert any(f"{service.consumer} " in line for line in lines)
            assert all("died 3 times" in line for line in lines)
            # A service's further consumer that was at the same event at all three deaths is suspected with it.
            assert {aside.position for aside in await log.asides()} == {poison}
            assert "event set aside" in running.output.read_text()
            later = await tell(log, "later", after=2)
            await until_handled(log, service, later, running)
            assert running.deaths == 3
        for aside in await log.asides():
            await asyncio.to_thread(cli.retry, postgres_dsn, aside.consumer, poison, say=lambda _: None)
        with started(service, "mended", poison, tmp_path, postgres_dsn, nats_server) as running:

            async def settled() -> bool:
                return await log.asides() == []

            await until(settled, running)
            await asyncio.to_thread(running.stop)
    finally:
        await log.close()


async def test_a_process_whose_loop_is_held_for_good_ends_with_its_stack_and_goes_on_without_the_event(
    tmp_path: Path, postgres_dsn: str, nats_server: Nats
) -> None:
    service = SERVICES[2]
    log = await PostgresEventLog.open(postgres_dsn)
    try:
        poison = await tell(log, "poison", after=0)
        last = await tell(log, "good", after=1)
        with started(service, "hold", poison, tmp_path, postgres_dsn, nats_server) as running:
            await until_handled(log, service, last, running)
            assert running.deaths >= 3, "a machine that stands still for longer than the limit may add one"
            assert "in harmful" in running.output.read_text(), "the stack names what held the loop"
        assert [aside.position for aside in await log.asides()] == [poison]
    finally:
        await log.close()


async def the_poison_alone_is_refused(send: Callable[[str], Awaitable[object]], service: str, running: Running) -> None:
    """What ended three careful processes is refused, and the next message is answered as ever."""
    async with asyncio.timeout(90):
        refused = await answer_to(partial(send, "poison"), running)
        assert isinstance(refused, SetAside)
        assert f"processes of the {service} died 3 times" in refused.message
        assert running.deaths == 4, "the first process was not careful"
        assert isinstance(await answer_to(partial(send, "good"), running), NotFound)


async def test_a_command_that_ends_a_services_process_is_refused_in_the_end_and_others_are_carried_out(
    tmp_path: Path, postgres_dsn: str, nats_server: Nats
) -> None:
    """As a reaction or a gateway asks: again, under the same cause, for as long as nobody answers."""
    log = await PostgresEventLog.open(postgres_dsn)
    bus = await NatsBus.open(nats_server.url)
    try:
        with started(SERVICES[0], "command", 0, tmp_path, postgres_dsn, nats_server) as running:

            async def ask(cause: str) -> object:
                return await bus.request(PauseExperiment(1), Cause(cause), timeout_s=1.0)

            await the_poison_alone_is_refused(ask, "searcher", running)
            assert "message set aside" in running.output.read_text()
    finally:
        await bus.close()
        await log.close()


async def test_a_report_that_ends_the_schedulers_process_is_refused_in_the_end_and_others_are_taken(
    tmp_path: Path, postgres_dsn: str, nats_server: Nats
) -> None:
    """As an agent sends it: again, for as long as no answer comes."""
    log = await PostgresEventLog.open(postgres_dsn)
    bus = await NatsBus.open(nats_server.url)
    try:
        with started(SERVICES[1], "report", 0, tmp_path, postgres_dsn, nats_server) as running:

            async def send(resources_id: str) -> object:
                report = TaskReport("agent-1", "no-pool", "allocation", resources_id, "exited")
                return await bus.ask(subjects.agent("agent-1", "report"), report, Reply, timeout_s=1.0)

            await the_poison_alone_is_refused(send, "scheduler", running)
            assert "message set aside" in running.output.read_text()
    finally:
        await bus.close()
        await log.close()


async def answer_to(ask: Callable[[], Awaitable[object]], running: Running) -> ResoluteError:
    """The error that the service answers with, asked again for as long as no answer comes."""
    patience = Patience()
    while True:
        try:
            raise AssertionError(f"found {await ask()!r} in place of an error")
        except Unavailable as error:
            assert running.deaths < 10, running.output.read_text()[-4000:]
            await patience.wait("the test", error)
        except ResoluteError as error:
            return error
