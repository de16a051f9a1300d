"""An agent as a process of its own, over a real NATS, with a real scheduler; killed at unkind moments."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from resolute import codec
from resolute.bus import subjects
from resolute.bus.nats import NatsBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.experiment import DescribeRun
from resolute.proto.message import Cause, Command, Event, Reply
from resolute.proto.needs import TaskNeeds
from resolute.proto.owners import SEARCHER
from resolute.proto.pool import (
    AgentJoined,
    AgentLost,
    AllocationExited,
    AllocationStarted,
    KillAllocation,
    LogBatch,
    LogLine,
    LogsStored,
)
from resolute.proto.tasks import DescribeTask, TaskDescription, TaskSpec
from resolute.relay.relay import Relay
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduler.shell import serve
from resolute.service import Context
from tests import needs
from tests.releases import extract
from tests.servers import Nats
from tests.unit.scheduler.stories import asks

COUNTS = "import time\nfor n in range({lines}): print('INFO: line', n, flush=True); time.sleep({pause})\n"

WAITS_AT_10 = """
import os, time
for n in range(20):
    print('INFO: line', n, flush=True)
    while n == 10 and not os.path.exists('{folder}/go-on'):
        time.sleep(0.02)
"""
"""Counts too, and in the middle waits until the test has done what it does to the agent."""


@dataclass
class Town:
    """NATS, relay and scheduler for real; a gateway that keeps log lines, a searcher that describes runs."""

    nats: Nats
    folder: Path
    reconnect_wait_s: float = 60.0
    """A machine that is busy may take long to start the agent that follows one that was killed."""
    log: MemoryEventLog = field(default_factory=MemoryEventLog)
    lines: dict[tuple[str, int, int], LogLine] = field(default_factory=dict)
    owner_of_the_last_release: bool = False
    sent: int = 0
    agents: list[subprocess.Popen[bytes]] = field(default_factory=list)
    serving: list[asyncio.Task[None]] = field(default_factory=list)
    buses: list[NatsBus] = field(default_factory=list)

    async def open(self) -> None:
        for _ in range(3):
            self.buses.append(await NatsBus.open(self.nats.url))
        scheduler, relay, others = self.buses
        if self.owner_of_the_last_release:
            await others.serve("searcher", self._describe_run)
        else:
            await others.listen(SEARCHER.subject, DescribeTask, self._describe, queue="searcher")
        await others.listen(subjects.agent("*", "logs"), LogBatch, self._store)
        ready = asyncio.Event()
        context = Context(self.log, scheduler, on_ready=lambda name: ready.set())
        settings = SchedulerSettings(agent_reconnect_wait_s=self.reconnect_wait_s, tick_s=0.2)
        self.serving.append(asyncio.create_task(serve(context, settings)))
        self.serving.append(asyncio.create_task(Relay(self.log, relay, lambda: None).run()))
        await ready.wait()

    async def close(self) -> None:
        for agent in self.agents:
            agent.kill()
            agent.wait()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)
        for bus in self.buses:
            await bus.close()

    async def _describe(self, question: DescribeTask) -> TaskDescription:
        return TaskDescription(replace(spec(question.allocation_id), needs=TaskNeeds()))

    async def _describe_run(self, command: Command, cause: Cause) -> Reply:
        """What the last release answers to what it is asked: it knows no needs."""
        assert isinstance(command, DescribeRun)
        answer = codec.dump(spec(command.allocation_id))
        del answer["needs"]
        return Reply(data=answer)

    async def _store(self, batch: LogBatch) -> LogsStored:
        self.sent += len(batch.lines)
        self.lines.update({(line.task_id, line.rank, line.sequence): line for line in batch.lines})
        return LogsStored(len(batch.lines))

    def program(self, code: str) -> None:
        """What every task runs, whatever the agent asks its interpreter for."""
        interpreter = self.folder / "python"
        (self.folder / "program.py").write_text(code)
        interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} -S "{self.folder}/program.py"\n')
        interpreter.chmod(0o755)

    def agent(self, *arguments: str, name: str = "a1", python_path: str = "") -> subprocess.Popen[bytes]:
        """`python_path`: where another release is found; empty for this one."""
        settings = {
            "ID": name,
            "SLOTS": "2",
            "GPU": "false",
            "WORK_DIR": str(self.folder / "work" / name),
            "NATS_URL": self.nats.url,
            "PYTHON": str(self.folder / "python"),
            "HELLO_S": "0.5",
            "HEARTBEAT_S": "0.5",
            "GRACE_S": "1",
        }
        environment = {**os.environ, **{f"RESOLUTE_AGENT_{name}": value for name, value in settings.items()}}
        if python_path:
            environment["PYTHONPATH"] = python_path
        with (self.folder / "agent.log").open("ab") as log:
            command = [sys.executable, "-m", "resolute.agent", *arguments]
            self.agents.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return self.agents[-1]

    async def request(self, command: Command) -> None:
        await self.buses[2].request(command, Cause(f"test/{type(command).__name__}/{id(command)}"))

    def events(self, kind: type[Event]) -> list[Event]:
        return [recorded.event for recorded in self.log._all if isinstance(recorded.event, kind)]

    async def until(self, condition: Callable[[], bool], within_s: float = 60) -> None:
        try:
            async with asyncio.timeout(within_s):
                while not condition():  # noqa: ASYNC110  (it is about other processes)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            print((self.folder / "agent.log").read_text()[-5000:])
            raise

    async def exit(self) -> AllocationExited:
        await self.until(lambda: bool(self.events(AllocationExited)))
        (event,) = self.events(AllocationExited)
        assert isinstance(event, AllocationExited)
        return event

    def texts(self) -> list[str]:
        return [line.text for line in sorted(self.lines.values(), key=lambda line: line.sequence)]

    def pids(self) -> list[tuple[int, ...]]:
        """(shim, command) of every task."""
        return [tuple(map(int, path.read_text().split())) for path in self.folder.glob("work/*/tasks/*/pid")]


def spec(allocation_id: str) -> TaskSpec:
    return TaskSpec(f"task-of-{allocation_id}", "TRIAL", allocation_id, 1, 1, 1, "ada", {}, {}, 7, 0, None)


@asynccontextmanager
async def opened(made: Town) -> AsyncIterator[Town]:
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def town(nats_server: Nats, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Town]:
    """With a parameter: so many seconds after its last heartbeat an agent is lost."""
    async with opened(Town(nats_server, tmp_path, getattr(request, "param", Town.reconnect_wait_s))) as made:
        yield made


@pytest.fixture
async def town_with_an_owner_of_the_last_release(nats_server: Nats, tmp_path: Path) -> AsyncIterator[Town]:
    async with opened(Town(nats_server, tmp_path, owner_of_the_last_release=True)) as made:
        yield made


@pytest.fixture(autouse=True)
def no_task_outlives_its_test(tmp_path: Path) -> Iterator[None]:
    yield
    for path in tmp_path.glob("work/*/tasks/*/pid"):
        try:
            os.kill(int(path.read_text().split()[0]), signal.SIGABRT)
        except ProcessLookupError:
            continue


@needs.history
async def test_an_agent_of_the_last_release_runs_what_this_scheduler_orders(town: Town, tmp_path: Path) -> None:
    town.program(COUNTS.format(lines=3, pause=0))
    town.agent(python_path=extract(tmp_path / "last-release"))
    await town.request(asks("one"))
    event = await town.exit()
    assert (event.outcome, event.exit_code) == ("exited", 0)
    assert town.texts() == [f"line {n}" for n in range(3)]


async def test_an_agent_runs_what_it_is_ordered_in_the_words_of_the_last_release(
    town_with_an_owner_of_the_last_release: Town,
) -> None:
    """The scheduler asks as the last release asked, and its order says no needs, as an order of that release."""
    town = town_with_an_owner_of_the_last_release
    town.program(COUNTS.format(lines=3, pause=0))
    town.agent()
    await town.request(asks("one"))
    event = await town.exit()
    assert (event.outcome, event.exit_code) == ("exited", 0)
    assert town.texts() == [f"line {n}" for n in range(3)]


async def test_a_task_runs_and_all_it_says_is_stored_before_its_end_is_known(town: Town) -> None:
    town.program(COUNTS.format(lines=20, pause=0) + "raise SystemExit(3)")
    town.agent()
    await town.request(asks("one"))
    event = await town.exit()
    assert (event.outcome, event.exit_code) == ("exited", 3)
    assert town.texts() == [*(f"line {n}" for n in range(20)), "the task ended with exit code 3"]
    assert [line.level for line in town.lines.values() if line.source == "agent"] == ["ERROR"]
    assert {line.level for line in town.lines.values() if line.source == "task"} == {"INFO"}
    assert len(town.events(AllocationStarted)) == 1


async def test_an_agent_killed_outright_finds_its_task_again_which_never_notices(town: Town) -> None:
    town.program(WAITS_AT_10.format(folder=town.folder))
    agent = town.agent()
    await town.request(asks("one"))
    await town.until(lambda: len(town.lines) > 5)
    pids = town.pids()
    agent.kill()
    agent.wait()
    (town.folder / "go-on").touch()
    town.agent()
    event = await town.exit()
    assert (event.outcome, event.exit_code) == ("exited", 0)
    assert town.texts() == [f"line {n}" for n in range(20)]
    assert len(pids) == 1
    assert not town.events(AgentLost)
    assert len(town.events(AgentJoined)) == 1


async def test_an_end_that_comes_while_there_is_no_agent_is_told_by_the_next(town: Town) -> None:
    town.program(WAITS_AT_10.format(folder=town.folder) + "raise SystemExit(4)")
    agent = town.agent()
    await town.request(asks("one"))
    await town.until(lambda: len(town.lines) > 1)
    ((_, command),) = town.pids()
    agent.kill()
    agent.wait()
    (town.folder / "go-on").touch()
    await town.until(lambda: not psutil.pid_exists(command))
    town.agent()
    assert (await town.exit()).exit_code == 4
    assert town.texts() == [*(f"line {n}" for n in range(20)), "the task ended with exit code 4"]


async def test_nats_gone_and_wiped_costs_no_line_and_no_exit(town: Town) -> None:
    town.program(COUNTS.format(lines=100, pause=0.03))
    town.agent()
    await town.request(asks("one"))
    await town.until(lambda: len(town.lines) > 5)
    town.nats.kill(wipe=True)
    await asyncio.sleep(1)
    town.nats.start()
    assert (await town.exit()).exit_code == 0
    assert town.texts() == [f"line {n}" for n in range(100)]


async def test_a_killed_allocation_leaves_nothing_running_and_frees_its_slots(town: Town) -> None:
    town.program(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    town.agent()
    await town.request(asks("one", 2))
    await town.until(lambda: "up" in town.texts())
    ((_, command),) = town.pids()
    await town.request(KillAllocation("default", "one", "ada killed it"))
    event = await town.exit()
    assert (event.outcome, event.exit_code, event.reason) == ("killed", 137, "ada killed it")
    assert not psutil.pid_exists(command)


async def test_told_to_stop_the_agent_goes_and_its_task_stays(town: Town) -> None:
    town.program("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = town.agent()
    await town.request(asks("one"))
    await town.until(lambda: "up" in town.texts())
    ((_, command),) = town.pids()
    agent.terminate()
    assert agent.wait(60) == 0
    assert psutil.pid_exists(command)


async def test_told_to_stop_its_tasks_too_it_does_and_reports_them(town: Town) -> None:
    town.program("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = town.agent("--stop-tasks")
    await town.request(asks("one"))
    await town.until(lambda: "up" in town.texts())
    agent.terminate()
    assert (await town.exit()).exit_code == 143
    assert agent.wait(60) == 0


@pytest.mark.parametrize("town", [5.0], indirect=True, ids=["lost after 5 s"])
async def test_a_task_that_no_allocation_owns_is_stopped(town: Town) -> None:
    town.program("import time\nprint('up', flush=True)\ntime.sleep(60)")
    agent = town.agent()
    await town.request(asks("one"))
    await town.until(lambda: "up" in town.texts())
    ((_, command),) = town.pids()
    agent.kill()
    agent.wait()
    await town.until(lambda: bool(town.events(AgentLost)))
    town.agent()
    await town.until(lambda: not psutil.pid_exists(command))
    assert (await town.exit()).outcome == "lost"


async def test_two_agents_do_not_share_a_work_directory(town: Town) -> None:
    town.agent()
    await town.until(lambda: bool(town.events(AgentJoined)))
    second = town.agent()
    assert await asyncio.to_thread(second.wait, 60) == 2
    assert "another agent works in" in (town.folder / "agent.log").read_text()


async def test_a_gang_over_two_agents_falls_together(town: Town) -> None:
    town.program(
        "import os, time\n"
        "print(os.environ['DET_AGENT_ID'], os.environ['DET_SLOT_IDS'], flush=True)\n"
        f"while os.environ['DET_AGENT_ID'] == 'a1' or not os.path.exists('{town.folder}/fall'): time.sleep(0.05)\n"
        "raise SystemExit(5)"
    )
    for name in ("a1", "a2"):
        town.agent(name=name)
    await town.request(asks("gang", 4))
    await town.until(lambda: sorted(line.text for line in town.lines.values()) == ["a1 [0, 1]", "a2 [0, 1]"])
    assert {line.rank for line in town.lines.values()} == {0, 1}
    await town.until(lambda: len(town.events(AllocationStarted)) == 1)
    (town.folder / "fall").touch()
    event = await town.exit()
    assert (event.outcome, event.exit_code) == ("exited", 5)
    # A shim ends a moment after it has written how its command ended.
    await town.until(lambda: not any(psutil.pid_exists(pid) for pair in town.pids() for pid in pair))
