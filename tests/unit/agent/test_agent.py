"""An agent and the one who orders it, on a bus in memory, with a runtime that only pretends."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from resolute.agent import task
from resolute.agent.agent import Agent
from resolute.agent.environment import environment
from resolute.agent.ledger import Ledger
from resolute.agent.registry import OpenRuntime, Prepared, Registry, Runtimes
from resolute.agent.runtime import CannotStart, Chunk, Exit, Launch, Line
from resolute.agent.settings import AgentSettings
from resolute.agent.task import LOOK_S_TALKING
from resolute.bus import MemoryBus, subjects
from resolute.proto.errors import Failed, InvalidConfig, SetAside, Unavailable
from resolute.proto.message import Reply
from resolute.proto.needs import Feature
from resolute.proto.pool import (
    AgentHello,
    AgentOrders,
    LogBatch,
    LogLine,
    LogsStored,
    Placement,
    StartTask,
    StopTask,
    TaskReport,
)
from resolute.proto.tasks import ServicePort
from resolute.service import poison_guard
from tests.unit.agent.test_environment import SITE, SPEC

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Pretence:
    """A runtime whose tasks end when a test says so."""

    tasks: dict[str, asyncio.Future[Exit]] = field(default_factory=dict)
    output: dict[str, list[str]] = field(default_factory=dict)
    signals: list[tuple[str, int]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    tidied: list[frozenset[str]] = field(default_factory=list)
    broken: str = ""
    failing: dict[str, Exception] = field(default_factory=dict)
    """What asking for the end of a task, or starting it, raises: a bug."""

    def folder(self, resources_id: str) -> str:
        return f"/tasks/{resources_id}"

    async def start(self, launch: Launch) -> None:
        if self.broken:
            raise CannotStart(self.broken)
        assert launch.resources_id not in self.tasks
        if launch.resources_id in self.failing:
            raise self.failing[launch.resources_id]
        self.tasks[launch.resources_id] = asyncio.get_running_loop().create_future()

    async def attach(self, resources_id: str) -> bool:
        return resources_id in self.tasks

    async def address(self, resources_id: str) -> str:
        return self.addresses.get(resources_id, "")

    async def signal(self, resources_id: str, number: int) -> None:
        self.signals.append((resources_id, number))
        if resources_id in self.tasks and not self.tasks[resources_id].done():
            self.end(resources_id, 143)

    async def exit(self, resources_id: str) -> Exit:
        if resources_id in self.failing:
            raise self.failing[resources_id]
        return await asyncio.shield(self.tasks[resources_id])

    async def logs(self, resources_id: str, mark: int, limit: int) -> Chunk:
        texts = self.output.get(resources_id, [])[mark : mark + limit]
        return Chunk(tuple(Line(NOON, "stdout", text) for text in texts), mark + len(texts))

    async def forget(self, resources_id: str) -> None:
        self.forgotten.append(resources_id)

    async def tidy(self, owned: Collection[str]) -> None:
        self.tidied.append(frozenset(owned))

    def end(self, resources_id: str, code: int | None = 0) -> None:
        self.tasks[resources_id].set_result(Exit(code))


def launch(order: StartTask) -> Launch:
    return Launch(order.placement.resources_id, ("true",), environment(order, SITE, "/run"))


@dataclass(frozen=True)
class Pretended:
    """A runtime as the registry knows it, which no test opens by its name."""

    name: str
    gives: frozenset[Feature] = frozenset()

    def prepare(self, settings: AgentSettings, confine: bool) -> Prepared:
        raise NotImplementedError


PRETENDED = Registry((Pretended("pretence"), Pretended("able", frozenset({Feature.IMAGE, Feature.DEVICES}))))


@dataclass
class Scene:
    folder: Path
    bus: MemoryBus = field(default_factory=MemoryBus)
    runtime: Pretence = field(default_factory=Pretence)
    answer: Callable[[AgentHello], AgentOrders] = lambda hello: AgentOrders(keep=hello.running, complete=True)
    hellos: list[AgentHello] = field(default_factory=list)
    reports: list[tuple[str, str, int | None]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    pools: list[str] = field(default_factory=list)
    hopeless: list[bool] = field(default_factory=list)
    lines: dict[int, LogLine] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    refuse_line: str = ""
    refused_lines: list[int] = field(default_factory=list)
    """How many lines each refused batch held."""
    answer_after_s: float = 0
    grace_s: float = 60
    away: bool = False
    failing: int = 0
    set_aside: str = ""
    """What news is refused because processes of the scheduler died of it."""
    refused_news: list[str] = field(default_factory=list)
    logs_away: bool = False
    running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self.bus.listen(subjects.agent("a1", "hello"), AgentHello, self._hello)
        await self.bus.listen(subjects.agent("a1", "report"), TaskReport, self._report)
        await self.bus.listen(subjects.agent("a1", "logs"), LogBatch, self._logs)
        self.start_agent()
        await self.until(lambda: bool(self.hellos))

    def start_agent(self, pool: str = "default") -> None:
        settings = AgentSettings(
            id="a1",
            pool=pool,
            hello_s=0.05,
            heartbeat_s=0.05,
            logs_wait_s=0.2,
            work_dir=self.folder,
            remember_s=60,
            grace_s=self.grace_s,
        )
        runtimes = Runtimes(PRETENDED, OpenRuntime("pretence", frozenset(), self.runtime, launch))
        agent = Agent(self.bus, runtimes, Ledger(self.folder / "ledger"), settings, SITE.slots, "10.0.0.1", "1")
        agent.try_again_after_s = (0.01, 0.01)
        self.running = asyncio.create_task(agent.run())

    async def stop_agent(self) -> None:
        assert self.running is not None
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)

    async def order(self, orders: AgentOrders) -> None:
        await self.bus.publish(subjects.agent("a1", "orders"), orders)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():  # noqa: ASYNC110  (the condition may be about anything)
                await asyncio.sleep(0.005)

    async def some_hellos(self) -> None:
        seen = len(self.hellos)
        await self.until(lambda: len(self.hellos) > seen + 2)

    async def _hello(self, hello: AgentHello) -> AgentOrders:
        if self.away:
            raise Unavailable("the scheduler is away")
        self.hellos.append(hello)
        answer = self.answer(hello)
        await asyncio.sleep(self.answer_after_s)
        return answer

    async def _report(self, report: TaskReport) -> Reply:
        if self.away:
            raise Unavailable("the scheduler is away")
        if self.failing:
            self.failing -= 1
            raise Failed("a bug of the scheduler's")
        if report.what == self.set_aside:
            self.refused_news.append(report.what)
            raise SetAside("processes died of it")
        self.reports.append((report.resources_id, report.what, report.exit_code))
        self.reasons.append(report.reason)
        self.pools.append(report.pool)
        self.hopeless.append(report.hopeless)
        return Reply(1)

    async def _logs(self, batch: LogBatch) -> LogsStored:
        if self.logs_away:
            raise Unavailable("the gateway is away")
        if self.failing:
            self.failing -= 1
            raise Failed("a bug of the gateway's")
        if any(self.refuse_line and line.text == self.refuse_line for line in batch.lines):
            self.refused_lines.append(len(batch.lines))
            raise InvalidConfig("not this line")
        self.batches.append(len(batch.lines))
        self.lines.update({line.sequence: line for line in batch.lines})
        return LogsStored(len(batch.lines))

    def words_left(self, resources_id: str) -> str:
        """What the ledger says is still to be said of a task's end."""
        (entry,) = [one for one in Ledger(self.folder / "ledger").load() if one.resources_id == resources_id]
        return entry.last_words

    def texts(self) -> list[str]:
        return [self.lines[n].text for n in sorted(self.lines)]


def start(resources_id: str, *slots: int, started: bool = False) -> StartTask:
    return StartTask(Placement(resources_id, "a1", slots), SPEC, "token", 0, 1, started)


def start_again() -> AgentOrders:
    return AgentOrders(start=(start("r1", 0, started=True),), complete=True)


def stop_it() -> AgentOrders:
    return AgentOrders(stop=(StopTask("r1", "it was killed", "a.1"),), complete=True)


@asynccontextmanager
async def scene(folder: Path, grace_s: float = 60) -> AsyncIterator[Scene]:
    made = Scene(folder, grace_s=grace_s)
    await made.open()
    try:
        yield made
    finally:
        await made.stop_agent()


async def test_an_end_and_its_lines_are_told_again_when_a_service_fails_over_them(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.runtime.output["r1"] = ["the last word"]
        s.failing = 2
        s.runtime.end("r1", 0)
        await s.until(lambda: s.texts() == ["the last word"])
        s.failing = 2
        await s.until(lambda: s.reports[1:] == [("r1", "exited", 0)])


async def test_what_is_ordered_is_started_reported_and_its_end_too(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.runtime.end("r1", 7)
        await s.until(lambda: s.reports[1:] == [("r1", "exited", 7)])
        await s.until(lambda: s.runtime.forgotten == ["r1"])


async def test_a_start_that_is_refused_since_processes_died_of_its_report_is_reported_until_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of its gang wait for it."""
    monkeypatch.setattr(task, "START_AGAIN_S", 0.01)
    async with scene(tmp_path) as s:
        s.set_aside = "started"
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: len(s.refused_news) > 2)
        s.set_aside = ""
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.runtime.end("r1", 0)
        await s.until(lambda: s.reports[1:] == [("r1", "exited", 0)])
        assert set(s.refused_news) == {"started"}


async def test_a_task_whose_start_is_refused_to_its_end_has_its_end_reported_all_the_same(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.set_aside = "started"
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.refused_news == ["started"])
        s.runtime.end("r1", 3)
        await s.until(lambda: s.reports == [("r1", "exited", 3)])
        await s.until(lambda: s.runtime.forgotten == ["r1"])


async def test_an_end_that_is_refused_since_processes_died_of_its_report_is_reported_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.set_aside = "exited"
        s.runtime.end("r1", 3)
        await s.until(lambda: bool(s.refused_news))
        s.set_aside = ""
        s.answer = lambda hello: stop_it()  # the scheduler still has the task
        await s.until(lambda: s.reports[1:] == [("r1", "exited", 3)])


async def test_an_order_given_twice_or_late_starts_nothing_more(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        order = AgentOrders(start=(start("r1", 0),))
        await s.order(order)
        await s.order(order)
        await s.until(lambda: bool(s.reports))
        s.runtime.end("r1")
        await s.until(lambda: len(s.reports) == 2)
        await s.order(order)
        await s.some_hellos()
        assert len(s.reports) == 2
        await s.stop_agent()
        s.start_agent()
        await s.order(order)
        await s.some_hellos()
        assert len(s.reports) == 2


async def test_an_end_is_reported_to_the_pool_of_its_allocation_though_the_agent_has_moved(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        await s.stop_agent()
        s.start_agent(pool="gpu")
        s.runtime.end("r1", 0)
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 0))
        assert s.pools[-1] == "default"


@pytest.mark.parametrize("order", [start_again, stop_it], ids=["start", "stop"])
async def test_an_end_that_the_scheduler_knows_nothing_of_is_reported_again(
    tmp_path: Path, order: Callable[[], AgentOrders]
) -> None:
    """As after a restart with another set of pools: the report went to a pool that the task was not in."""
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        s.runtime.end("r1", 3)
        await s.until(lambda: s.reports[1:] == [("r1", "exited", 3)])
        s.reports.clear()
        s.answer = lambda hello: AgentOrders(complete=True) if s.reports else order()
        await s.until(lambda: s.reports == [("r1", "exited", 3)])
        await s.some_hellos()
        assert len(s.reports) == 1


async def test_what_a_complete_answer_leaves_out_is_stopped(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        s.answer = lambda hello: AgentOrders(complete=True)
        await s.until(lambda: s.runtime.signals == [("r1", signal.SIGTERM)])
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 143))
        assert s.reasons[-1] == "no allocation owns it any more"


async def test_an_answer_does_not_speak_of_what_was_started_after_the_question(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.answer = lambda hello: AgentOrders(keep=hello.running, complete=True)
        s.answer_after_s = 0.1
        seen = len(s.hellos)
        await s.until(lambda: len(s.hellos) > seen)
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.some_hellos()
        assert s.hellos[-1].running == ("r1",)
        assert s.runtime.signals == []


async def test_while_the_link_is_down_nothing_is_stopped(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        s.away = True
        await asyncio.sleep(0.3)
        assert s.runtime.signals == []
        s.runtime.end("r1", 5)
        await asyncio.sleep(0.1)
        s.away = False
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 5))


async def test_a_slot_that_is_still_in_use_is_waited_for(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.answer = lambda hello: AgentOrders(start=(start("new", 0),), keep=hello.running, complete=True)
        await s.order(AgentOrders(start=(start("old", 0, 1),)))
        await s.until(lambda: bool(s.reports))
        first = s.reports[0][0]
        other = {"old": "new", "new": "old"}[first]
        await s.some_hellos()
        assert other not in s.runtime.tasks
        s.answer = lambda hello: AgentOrders(start=(start(other, 0),), keep=hello.running, complete=True)
        s.runtime.end(first)
        await s.until(lambda: (other, "started", None) in s.reports)


async def test_a_task_that_had_started_and_is_not_here_any_more_is_reported_as_lost(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0, started=True),)))
        await s.until(lambda: s.reports == [("r1", "exited", None)])
        assert s.runtime.tasks == {}


async def test_stopping_what_never_was_is_answered_with_its_end(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(stop=(StopTask("r1", "ada killed it", "7.f00d.1"),)))
        await s.until(lambda: s.reports == [("r1", "exited", None)])
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.some_hellos()
        assert s.runtime.tasks == {}


def stop_as_its_peer_failed() -> AgentOrders:
    return AgentOrders(stop=(StopTask("r1", "its share on a2 ended", "a.1", peer_failed=True),), complete=True)


async def test_a_task_whose_peer_failed_may_end_by_itself_however_often_its_end_is_ordered(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.answer = lambda hello: stop_as_its_peer_failed()
        await s.some_hellos()
        s.runtime.end("r1", 1)
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 1))
        assert s.runtime.signals == []
        assert s.texts() == ["the task ended with exit code 1"]


async def test_a_task_whose_peer_failed_is_asked_to_end_when_it_does_not_within_its_time(tmp_path: Path) -> None:
    async with scene(tmp_path, grace_s=0.1) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        s.answer = lambda hello: stop_as_its_peer_failed()
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 143))
        assert s.runtime.signals == [("r1", signal.SIGTERM)]
        assert s.reasons[-1] == "its share on a2 ended"


async def test_a_task_whose_peer_failed_ends_at_once_when_its_end_is_ordered_by_a_person(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        await s.order(stop_as_its_peer_failed())
        await s.order(stop_it())
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 143))
        assert s.reasons[-1] == "it was killed"


async def test_what_cannot_be_started_ends_with_the_reason(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.runtime.broken = "no space left on device"
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "exited", 125)])
        assert s.reasons == ["no space left on device"]


async def test_a_full_disk_starts_nothing_new_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Ledger, entry: object) -> None:
        raise OSError(28, "No space left on device")

    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        monkeypatch.setattr(Ledger, "write", full)
        s.runtime.output["r1"] = ["goes on"]
        await s.order(AgentOrders(start=(start("r2", 1),)))
        await s.until(lambda: ("r2", "exited", 125) in s.reports and s.texts() == ["goes on"])
        assert "No space left on device" in s.reasons[-1]
        s.runtime.end("r1", 0)
        await s.until(lambda: ("r1", "exited", 0) in s.reports)


async def test_every_line_is_handed_over_before_the_end_is_told(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.runtime.output["r1"] = [f"line {n}" for n in range(2500)]
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        s.runtime.output["r1"] += ["the last words"]
        s.runtime.end("r1")
        await s.until(lambda: len(s.reports) == 2)
        assert s.texts() == [*(f"line {n}" for n in range(2500)), "the last words"]


async def test_an_end_does_not_wait_for_a_gateway_for_ever_and_its_lines_come_later(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.logs_away = True
        s.runtime.output["r1"] = ["hello"]
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        s.runtime.end("r1")
        await s.until(lambda: len(s.reports) == 2)
        assert s.runtime.forgotten == []
        s.logs_away = False
        await s.until(lambda: s.texts() == ["hello"] and s.runtime.forgotten == ["r1"])


async def test_a_line_that_is_refused_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.refuse_line = "poison"
        s.runtime.output["r1"] = [*"abcdefg", "poison", *"hij"]
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.texts() == [*"abcdefghij"])
        assert [s.lines[n].sequence & 0xFFFF for n in sorted(s.lines)] == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10]
        assert s.refused_lines == [11, 1], "one batch did harm with the line, and then the line alone"


@pytest.mark.parametrize("ended_meanwhile", [False, True])
async def test_the_next_agent_takes_up_what_the_last_one_left(tmp_path: Path, ended_meanwhile: bool) -> None:
    async with scene(tmp_path) as s:
        s.runtime.output["r1"] = ["one", "two"]
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.texts() == ["one", "two"] and bool(s.reports))
        await s.stop_agent()
        s.runtime.output["r1"] += ["three"]
        if ended_meanwhile:
            s.runtime.end("r1", 3)
        s.start_agent()
        await s.until(lambda: s.texts()[:3] == ["one", "two", "three"])
        if not ended_meanwhile:
            await s.some_hellos()
            assert s.hellos[-1].running == ("r1",)
            s.runtime.end("r1", 3)
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 3))
        assert s.texts()[3:] == ["the task ended with exit code 3"]
        assert sum(s.batches) == 4
        assert s.runtime.signals == []


async def test_a_task_the_last_agent_meant_to_start_and_did_not_is_reported_as_lost(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: bool(s.reports))
        await s.stop_agent()
        s.runtime = replace(s.runtime, tasks={})
        s.start_agent()
        await s.until(lambda: s.reports[-1] == ("r1", "exited", None))


async def test_a_bug_that_one_task_meets_is_the_end_of_that_task_and_of_nothing_else(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0), start("r2", 1))))
        await s.until(lambda: len(s.reports) == 2)
        await s.stop_agent()
        s.runtime.failing["r1"] = ValueError("invalid literal for int() with base 10: 'y'")
        s.start_agent()
        await s.until(lambda: ("r1", "exited", None) in s.reports)
        assert s.reasons[-1] == "the agent could not look after it; the agent's log says why"
        assert ("r1", signal.SIGKILL) in s.runtime.signals
        assert "r1" in s.runtime.forgotten
        s.runtime.end("r2", 3)
        await s.until(lambda: s.reports[-1] == ("r2", "exited", 3))
        await s.some_hellos()


async def test_a_bug_that_passes_costs_a_task_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: len(s.reports) == 1)
        await s.stop_agent()
        s.runtime.failing["r1"] = ValueError("now and then")
        asked = s.runtime.exit

        async def exit_(resources_id: str) -> Exit:
            try:
                return await asked(resources_id)
            except ValueError:
                s.runtime.failing.clear()
                raise

        s.runtime.exit = exit_  # type: ignore[method-assign]
        s.start_agent()
        await s.until(lambda: not s.runtime.failing)
        s.runtime.end("r1", 3)
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 3))
        assert not [number for _, number in s.runtime.signals if number == signal.SIGKILL]


async def test_one_that_cannot_be_asked_to_end_does_not_keep_others_from_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0), start("r2", 1))))
        await s.until(lambda: len(s.reports) == 2)
        asked, deaf = s.runtime.signal, {"r1"}  # not `failing`: then its end could not be waited for either

        async def signal_(resources_id: str, number: int) -> None:
            if resources_id in deaf:
                raise ValueError("a bug")
            await asked(resources_id, number)

        s.runtime.signal = signal_  # type: ignore[method-assign]
        orders = AgentOrders(stop=(StopTask("r1", "a.1", "paused"), StopTask("r2", "a.2", "paused")))
        await s.order(orders)
        await s.until(lambda: s.reports[-1] == ("r2", "exited", 143))
        deaf.clear()
        await s.order(orders)
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 143))


async def test_a_start_that_fails_over_a_bug_is_a_failure_of_the_task(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        s.runtime.failing["r1"] = KeyError("surprise")
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: s.reports == [("r1", "exited", 125)])
        assert "KeyError('surprise')" in s.reasons[-1]


async def test_an_end_that_nobody_has_heard_of_is_told_the_same_by_the_next_agent(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        await s.until(lambda: len(s.reports) == 1)
        s.away = True
        s.runtime.tasks["r1"].set_result(Exit(1, "no such image", hopeless=True))
        await s.until(lambda: s.texts() == ["the task ended with exit code 1: no such image"])
        await s.until(lambda: not s.words_left("r1"))
        await s.stop_agent()
        s.runtime = replace(s.runtime, tasks={})
        s.away = False
        s.start_agent()
        await s.until(lambda: s.reports[-1] == ("r1", "exited", 1))
        assert (s.reasons[-1], s.hopeless[-1]) == ("no such image", True)
        await s.until(lambda: s.runtime.forgotten == ["r1"])
        assert s.texts() == ["the task ended with exit code 1: no such image"]


def test_an_entry_of_the_release_before_is_read(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    (tmp_path / "r1.json").write_text(
        '{"resources_id":"r1","allocation_id":"a.1","task_id":"a","run_id":1,"rank":0,"slot_ids":[0],'
        '"stop_reason":"","mark":7,"lines":1,"last_words":"ERROR: it ended","reported_at_s":null}'
    )
    (entry,) = ledger.load()
    assert (entry.mark, entry.last_words, entry.found) == (7, "ERROR: it ended", None)
    ledger.write(replace(entry, found=Exit(1, "why", hopeless=True)))
    assert ledger.load()[0].found == Exit(1, "why", hopeless=True)


async def test_a_task_that_prints_now_and_then_is_not_looked_at_for_every_line(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(start("r1", 0),)))
        printed: list[str] = []
        s.runtime.output["r1"] = printed
        began = time.monotonic()
        for number in range(150):
            printed.append(f"line {number}")
            await asyncio.sleep(0.01)
        took_s = time.monotonic() - began
        await s.until(lambda: s.texts() == printed)
        assert len(s.batches) <= 7 + took_s / LOOK_S_TALKING
        printed += [f"line {number}" for number in range(150, 153)]
        s.runtime.end("r1")
        await s.until(lambda: s.texts() == printed)


def test_a_refused_report_of_a_start_comes_again_while_a_scheduler_that_died_of_it_still_notes_what_it_does() -> None:
    assert 3 * task.START_AGAIN_MOST_S < poison_guard.CAREFUL_S


async def test_tasks_that_serve_people_have_ports_of_their_own_and_wait_for_none(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        service = ServicePort("NOTEBOOK_PORT", 52_900, 52_901)
        spec = replace(SPEC, service=service)
        orders = [replace(start(f"r{n}", n), spec=spec) for n in range(3)]
        await s.order(AgentOrders(start=tuple(orders)))
        await s.until(lambda: len(s.reports) == 3)
        assert sorted(s.reports) == [("r0", "started", None), ("r1", "started", None), ("r2", "exited", 125)]
        assert "a port from 52900 to 52901" in "".join(s.reasons)
        entries = Ledger(tmp_path / "ledger").load()
        assert sorted(port.number for entry in entries for port in entry.ports) == [52_900, 52_901]
