"""What a bus promises to those who ask and those who answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from resolute import codec
from resolute.bus import Bus, envelope, subjects
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound, Refused, ResoluteError, Unavailable, Unserved
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.owners import SEARCHER
from resolute.proto.pool import AgentHeartbeat, AgentOrders, EnableAgent, StopTask
from resolute.proto.tasks import DescribeTask, TaskDescription

ENABLE = EnableAgent(pool="default", agent_id="agent-1")
CAUSE = Cause(id="rest-1", actor="user:ädmin", correlation_id="rest-1", traceparent="00-" + "a" * 32 + "-01")


async def test_a_command_reaches_its_service_with_its_cause_and_the_answer_comes_back(bus: Bus) -> None:
    heard: list[tuple[Command, Cause]] = []

    async def handle(command: Command, cause: Cause) -> Reply:
        heard.append((command, cause))
        return Reply(position=7, data={"names": ["å", None, 1.5]})

    await bus.serve("scheduler", handle)
    reply = await bus.request(ENABLE, CAUSE)
    assert reply == Reply(position=7, data={"names": ["å", None, 1.5]})
    assert heard == [(ENABLE, CAUSE)]


@pytest.mark.parametrize("kind", [Refused, NotFound, InvalidConfig, Forbidden, Unavailable])
async def test_an_error_reaches_the_one_who_asked_as_itself(bus: Bus, kind: type[ResoluteError]) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        raise kind("cannot enable agent-1: it is “lost”;\ntry again")

    await bus.serve("scheduler", handle)
    with pytest.raises(kind, match=r"it is “lost”;\ntry again"):
        await bus.request(ENABLE, CAUSE)


@pytest.mark.alone
async def test_a_command_nobody_serves_is_unavailable_at_once(bus: Bus) -> None:
    async with asyncio.timeout(15):
        with pytest.raises(Unserved, match=r"no process serves resolute\.cmd\.scheduler\.enable-agent"):
            await bus.request(ENABLE, CAUSE, timeout_s=30)
        with pytest.raises(Unserved, match=r"no process serves resolute\.task\.searcher\.describe"):
            await bus.ask(SEARCHER.subject, DescribeTask("one", "task"), TaskDescription, timeout_s=30)


async def test_a_question_about_a_task_is_answered_by_one_process_of_its_owner(bus: Bus) -> None:
    async def refuse(question: DescribeTask) -> TaskDescription:
        asked.append(question)
        return TaskDescription(refusal="it is over")

    asked: list[DescribeTask] = []
    for _ in range(2):
        await bus.listen(SEARCHER.subject, DescribeTask, refuse, queue="searcher")
    question = DescribeTask("one", "task", 7, 9)
    assert await bus.ask(SEARCHER.subject, question, TaskDescription) == TaskDescription(refusal="it is over")
    assert asked == [question]


async def test_a_service_that_does_not_answer_in_time_is_unavailable(bus: Bus) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        await asyncio.sleep(30)
        return Reply()

    serving = await bus.serve("scheduler", handle)
    with pytest.raises(Unavailable, match=r"no answer from .* within 0\.1 s"):
        await bus.request(ENABLE, CAUSE, timeout_s=0.1)
    await serving.close()


async def test_commands_are_handled_at_the_same_time(bus: Bus) -> None:
    all_there = asyncio.Barrier(8)

    async def handle(command: Command, cause: Cause) -> Reply:
        await all_there.wait()
        return Reply(position=1)

    await bus.serve("scheduler", handle)
    async with asyncio.timeout(60):
        await asyncio.gather(*(bus.request(ENABLE, CAUSE) for _ in range(8)))


async def test_replicas_share_the_commands(bus: Bus) -> None:
    handled = 0

    async def handle(command: Command, cause: Cause) -> Reply:
        nonlocal handled
        handled += 1
        return Reply()

    await bus.serve("scheduler", handle)
    await bus.serve("scheduler", handle)
    for _ in range(20):
        await bus.request(ENABLE, CAUSE)
    assert handled == 20


async def test_a_closed_service_hears_no_more(bus: Bus) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply()

    serving = await bus.serve("scheduler", handle)
    await bus.request(ENABLE, CAUSE)
    await serving.close()
    with pytest.raises(Unavailable):
        await bus.request(ENABLE, CAUSE)


async def test_an_agent_is_told_and_asked_in_its_own_words(bus: Bus) -> None:
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def take_orders(orders: AgentOrders) -> None:
        told.put_nowait(orders)

    async def greet(heartbeat: AgentHeartbeat) -> AgentOrders:
        return AgentOrders(stop=(StopTask(heartbeat.agent_id, "asked"),), complete=True)

    await bus.listen(subjects.agent("agent-1", "orders"), AgentOrders, take_orders)
    await bus.listen(subjects.agent("*", "hello"), AgentHeartbeat, greet, queue="scheduler")
    orders = await bus.ask(
        subjects.agent("agent-1", "hello"), AgentHeartbeat("agent-1", "default"), AgentOrders, timeout_s=60
    )
    assert orders == AgentOrders(stop=(StopTask("agent-1", "asked"),), complete=True)
    await bus.publish(subjects.agent("agent-2", "orders"), AgentOrders())
    await bus.publish(subjects.agent("agent-1", "orders"), orders)
    assert await asyncio.wait_for(told.get(), 60) == orders
    assert told.empty()


async def test_a_refusal_of_what_was_asked_comes_back_as_itself(bus: Bus) -> None:
    async def greet(heartbeat: AgentHeartbeat) -> AgentOrders:
        raise Refused("cannot join")

    await bus.listen(subjects.agent("*", "hello"), AgentHeartbeat, greet, queue="scheduler")
    with pytest.raises(Refused, match="cannot join"):
        await bus.ask(subjects.agent("agent-1", "hello"), AgentHeartbeat("agent-1", "default"), AgentOrders)


async def test_an_agent_cannot_speak_in_the_name_of_another(bus: Bus) -> None:
    async def greet(heartbeat: AgentHeartbeat) -> AgentOrders:
        return AgentOrders()

    await bus.listen(subjects.agent("*", "hello"), AgentHeartbeat, greet, queue="scheduler")
    with pytest.raises(Forbidden, match="names agent 'agent-2'"):
        await bus.ask(subjects.agent("agent-1", "hello"), AgentHeartbeat("agent-2", "default"), AgentOrders)


async def test_asking_where_nobody_listens_is_unavailable_at_once(bus: Bus) -> None:
    with pytest.raises(Unavailable):
        await bus.ask(subjects.agent("agent-1", "hello"), AgentHeartbeat("agent-1", "default"), AgentOrders)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.builds(Cause, *[st.text(alphabet=st.characters(codec="utf-8"))] * 3))
def test_any_cause_survives_the_envelope(cause: Cause) -> None:
    headers = envelope.of_command(ENABLE, cause)
    assert all(value == value.strip() and value.isprintable() for value in headers.values())
    assert envelope.cause(headers) == cause
    assert codec.command_from(headers[envelope.TYPE], codec.to_bytes(ENABLE)) == ENABLE
