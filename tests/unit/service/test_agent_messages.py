"""A message of an agent of which processes die is refused, however often the agent sends it; other messages are not."""

from __future__ import annotations

import asyncio

import pytest

from resolute.bus import Subscription, subjects
from resolute.bus.memory import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import SetAside, Unavailable
from resolute.proto.message import Reply
from resolute.proto.pool import TaskReport
from resolute.service import AgentMessages, Context, commands, listen_to_agents
from resolute.service.poison_guard import PoisonGuard
from tests.unit.service.lives import UNANSWERED, answered

POISON, GOOD = "666", "7"


class Life:
    """One life of a scheduler's process. The poison ends it: its answer never comes, and nothing is tidied up."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.log, self.bus, self.handled = log, MemoryBus(), list[str]()
        self.died = asyncio.Event()
        self.serving: Subscription

    async def begin(self) -> Life:
        reports = AgentMessages("report", TaskReport, self.handle, lambda report: report.resources_id)
        self.serving = await listen_to_agents(Context(self.log, self.bus), "scheduler", [reports])
        return self

    async def handle(self, report: TaskReport) -> Reply:
        self.handled.append(report.resources_id)
        if report.resources_id == POISON:
            self.died.set()
            await asyncio.Event().wait()
        return Reply(position=1)

    async def send(self, resources_id: str) -> Reply:
        """Raises Unavailable where the process dies."""
        subject = subjects.agent("agent-1", "report")
        return await answered(self.bus.ask(subject, reported(resources_id), Reply, timeout_s=60), self.died)


async def dies(log: MemoryEventLog) -> Life:
    life = await Life(log).begin()
    with pytest.raises(Unavailable):
        await life.send(POISON)
    return life


async def refuses(log: MemoryEventLog) -> Life:
    """A life that refuses the poison, after those that died of it."""
    for _ in range(4):  # the first process was not careful
        assert (await dies(log)).handled == [POISON]
    life = await Life(log).begin()
    with pytest.raises(SetAside, match="cannot carry out TaskReport: processes of the scheduler died 3 times"):
        await life.send(POISON)
    return life


async def test_a_report_of_which_processes_died_again_and_again_is_refused_and_others_are_taken() -> None:
    life = await refuses(MemoryEventLog())
    assert await life.send(GOOD) == Reply(position=1)
    assert life.handled == [GOOD]


async def test_what_was_refused_is_refused_after_the_careful_minute_as_well() -> None:
    log = MemoryEventLog()
    for life in ("first", "second", "third"):
        await log.begin_attempt("scheduler/TaskReport/poison", 0, life)
    await log.begin_attempt("scheduler/alive", 0, "third")
    handling = PoisonGuard(log, "scheduler")
    await handling.open()
    for _ in range(2):
        with pytest.raises(SetAside):
            await handling.handle("TaskReport", "poison", unreachable)
        handling._careful_until_s = 0.0  # the minute is over


async def unreachable() -> None:
    raise AssertionError("this is not to be handled")


async def test_after_a_stop_in_order_what_was_refused_is_tried_again() -> None:
    log = MemoryEventLog()
    life = await refuses(log)
    await life.serving.close()
    assert (await dies(log)).handled == [POISON]
    assert (await dies(log)).handled == [POISON], "the earlier deaths are forgotten"


async def test_a_message_that_gets_no_turn_is_sent_again_and_no_death_counts_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "AGENT_TURN_S", 0.001)
    log = MemoryEventLog()
    for _ in range(5):
        life = await dies(log)
        noted = set(log._attempts)
        if len(noted) > 1:  # it is careful: the poison has been noted
            with pytest.raises(Unavailable, match="one message at a time"):
                await life.send(GOOD)
            assert log._attempts == noted
        if len(noted) > 3:
            break
    life = await Life(log).begin()
    with pytest.raises(SetAside):
        await life.send(POISON)
    assert await life.send(GOOD) == Reply(position=1)


async def test_processes_that_die_while_an_answer_waits_for_other_services_are_not_counted_against_the_message() -> (
    None
):
    log, bus, asked = MemoryEventLog(), MemoryBus(), asyncio.Event()

    async def handle(report: TaskReport) -> str:
        return report.resources_id

    async def answer(resources_id: str) -> Reply:
        if resources_id == POISON:
            asked.set()
            await asyncio.Event().wait()
        return Reply(position=1)

    await log.begin_attempt("scheduler/alive", 0, "of the last process, which died")
    reports = AgentMessages("report", TaskReport, handle, lambda report: report.resources_id, answer)
    await listen_to_agents(Context(log, bus), "scheduler", [reports])
    subject = subjects.agent("agent-1", "report")
    waiting = asyncio.create_task(bus.ask(subject, reported(POISON), Reply, timeout_s=60))
    UNANSWERED.add(waiting)
    await asyncio.wait_for(asked.wait(), 60)
    assert {consumer for consumer, *_ in log._attempts} == {"scheduler/alive"}
    assert await bus.ask(subject, reported(GOOD), Reply, timeout_s=60) == Reply(position=1)


def reported(resources_id: str) -> TaskReport:
    return TaskReport("agent-1", "default", "allocation", resources_id, "exited")
