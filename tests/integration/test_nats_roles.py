"""An agent's credentials open its own corner of the bus and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from resolute import codec
from resolute.bus import envelope, roles, subjects
from resolute.bus.link import Credentials, Link
from resolute.bus.nats import NatsBus
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Command, Recorded, Reply
from resolute.proto.pool import AgentEnabled, AgentHeartbeat, AgentOrders, EnableAgent
from tests.servers import Nats

SERVICE, AGENT, OTHER = roles.new_key(), roles.new_key(), roles.new_key()


@pytest.fixture(scope="module")
def server() -> Iterator[Nats]:
    server = Nats(roles.authorization(SERVICE.public, {"agent 1": AGENT.public, "agent-2": OTHER.public}))
    yield server
    server.close()


async def opened(server: Nats, credentials: Credentials | None, timeout_s: float = 20) -> NatsBus:
    return await NatsBus.open(server.url, credentials=credentials, timeout_s=timeout_s)


@pytest.fixture
async def service(server: Nats) -> AsyncIterator[NatsBus]:
    bus = await opened(server, roles.service_credentials(SERVICE.seed))
    yield bus
    await bus.close()


@pytest.fixture
async def agent(server: Nats) -> AsyncIterator[NatsBus]:
    bus = await opened(server, roles.agent_credentials("agent 1", AGENT.seed))
    yield bus
    await bus.close()


@pytest.fixture
async def other(server: Nats) -> AsyncIterator[NatsBus]:
    bus = await opened(server, roles.agent_credentials("agent-2", OTHER.seed))
    yield bus
    await bus.close()


async def serve_everything(service: NatsBus) -> list[Command]:
    decided: list[Command] = []

    async def decide(command: Command, cause: Cause) -> Reply:
        decided.append(command)
        return Reply(position=9)

    await service.serve("scheduler", decide)
    return decided


async def test_a_service_can_command_and_hear_and_publish_facts(service: NatsBus) -> None:
    await serve_everything(service)
    heard: asyncio.Queue[Recorded] = asyncio.Queue()
    await service.facts(heard.put_nowait)
    assert await service.request(EnableAgent("default", "a"), Cause("test")) == Reply(position=9)
    fact = Recorded(1, "pool-default", 1, AgentEnabled("a"), Cause("test"), datetime.now(UTC))
    await service.publish_fact(fact)
    assert await asyncio.wait_for(heard.get(), 30) == fact


async def test_an_agent_talks_with_the_scheduler_in_its_own_name(service: NatsBus, agent: NatsBus) -> None:
    told: asyncio.Queue[AgentOrders] = asyncio.Queue()

    async def greet(heartbeat: AgentHeartbeat) -> AgentOrders:
        return AgentOrders(complete=True)

    async def take(orders: AgentOrders) -> None:
        told.put_nowait(orders)

    await service.listen(subjects.agent("*", "hello"), AgentHeartbeat, greet, queue="scheduler")
    await agent.listen(subjects.agent("agent 1", "orders"), AgentOrders, take)
    mine = subjects.agent("agent 1", "hello")
    assert await agent.ask(mine, AgentHeartbeat("agent 1", "default"), AgentOrders) == AgentOrders(complete=True)
    await service.publish(subjects.agent("agent 1", "orders"), AgentOrders())
    assert await asyncio.wait_for(told.get(), 30) == AgentOrders()


async def test_an_agent_cannot_send_commands(service: NatsBus, agent: NatsBus) -> None:
    decided = await serve_everything(service)
    with pytest.raises(Unavailable):
        await agent.request(EnableAgent("default", "a"), Cause("test"), timeout_s=0.3)
    assert decided == []


async def test_an_agent_cannot_hear_facts_nor_publish_them(service: NatsBus, agent: NatsBus) -> None:
    heard_by_agent: list[Recorded] = []
    heard: asyncio.Queue[Recorded] = asyncio.Queue()
    await agent.facts(heard_by_agent.append)
    await service.facts(heard.put_nowait)
    fact = Recorded(1, "pool-default", 1, AgentEnabled("forged"), Cause("test"), datetime.now(UTC))
    with pytest.raises(Unavailable):
        await agent.publish_fact(fact)
    await agent.publish(subjects.fact(fact), fact.event)
    true = Recorded(2, "pool-default", 2, AgentEnabled("true"), Cause("test"), datetime.now(UTC))
    await service.publish_fact(true)
    assert await asyncio.wait_for(heard.get(), 30) == true
    assert heard_by_agent == []


async def test_an_agent_cannot_listen_to_another_nor_speak_in_its_place(
    service: NatsBus, agent: NatsBus, other: NatsBus
) -> None:
    overheard: list[AgentOrders] = []
    told: asyncio.Queue[AgentOrders] = asyncio.Queue()

    async def overhear(orders: AgentOrders) -> None:
        overheard.append(orders)

    async def take(orders: AgentOrders) -> None:
        told.put_nowait(orders)

    await agent.listen(subjects.agent("agent-2", "orders"), AgentOrders, overhear)
    await agent.listen(subjects.agent("*", "orders"), AgentOrders, overhear)
    await other.listen(subjects.agent("agent-2", "orders"), AgentOrders, take)
    await agent.publish(subjects.agent("agent-2", "orders"), AgentOrders(complete=True))
    await service.publish(subjects.agent("agent-2", "orders"), AgentOrders())
    assert await asyncio.wait_for(told.get(), 30) == AgentOrders()
    assert overheard == []
    assert told.empty()


async def test_an_agent_cannot_have_its_answers_sent_in_the_services_name(
    service: NatsBus, agent: NatsBus, other: NatsBus
) -> None:
    """A service may publish where an agent may not: an answer must not carry the agent's words there."""
    greeted: asyncio.Queue[AgentHeartbeat] = asyncio.Queue()
    told: asyncio.Queue[AgentOrders] = asyncio.Queue()

    async def greet(heartbeat: AgentHeartbeat) -> AgentOrders:
        greeted.put_nowait(heartbeat)
        return AgentOrders(complete=True)

    async def take(orders: AgentOrders) -> None:
        told.put_nowait(orders)

    await service.listen(subjects.agent("*", "hello"), AgentHeartbeat, greet, queue="scheduler")
    await other.listen(subjects.agent("agent-2", "orders"), AgentOrders, take)
    words = codec.to_bytes(AgentHeartbeat("agent 1", "default"))
    for wanted in (subjects.agent("agent-2", "orders"), "$JS.API.STREAM.PURGE.RESOLUTE_EVENTS"):
        await agent._link.publish(subjects.agent("agent 1", "hello"), words, reply=wanted)
    mine = subjects.agent("agent 1", "hello")
    assert await agent.ask(mine, AgentHeartbeat("agent 1", "asked"), AgentOrders) == AgentOrders(complete=True)
    assert [greeted.get_nowait().pool] == ["asked"]
    await service.publish(subjects.agent("agent-2", "orders"), AgentOrders())
    assert await asyncio.wait_for(told.get(), 30) == AgentOrders()


async def test_an_agent_cannot_ask_itself_for_leave_to_answer_in_a_services_ear(
    service: NatsBus, agent: NatsBus
) -> None:
    """Who is asked may answer, wherever that is wanted: also who asks himself?"""
    decided = await serve_everything(service)
    command, mine = EnableAgent("default", "a"), subjects.agent("agent 1", "itself")
    asked = asyncio.Event()

    async def hear(message: Msg) -> None:
        asked.set()

    await agent._link.subscribe(mine, hear)
    await agent._link.publish(mine, b"{}", reply=subjects.command(command))
    await asyncio.wait_for(asked.wait(), 30)
    headers = envelope.of_command(command, Cause("forged"))
    await agent._link.publish(subjects.command(command), codec.to_bytes(command), headers)
    await agent._link.client.flush()
    await service.request(EnableAgent("default", "true"), Cause("test"))
    assert decided == [EnableAgent("default", "true")]


async def test_a_stranger_is_not_let_in(server: Nats) -> None:
    for credentials in (None, roles.service_credentials(roles.new_key().seed)):
        with pytest.raises(Unavailable, match="Authorization Violation"):
            await opened(server, credentials, timeout_s=4)


class LosesCancellations(Link):
    """Its connecting takes a cancellation for an error of the connection, as `asyncio.wait_for` does where both come
    at one moment."""

    async def _connect(self, client: Client, lost: asyncio.Event) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise ConnectionResetError from None


async def test_opening_ends_in_time_also_where_the_client_loses_its_cancellation(server: Nats) -> None:
    async with asyncio.timeout(60):
        with pytest.raises(Unavailable, match=r"within 0\.2 s"):
            await LosesCancellations(server.url, None, "loses cancellations", None).open(timeout_s=0.2)
