"""The bus over a real NATS that is killed, wiped and replaced, with a relay carrying a log to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from resolute.bus.nats import NatsBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import TooLarge, Unavailable
from resolute.proto.message import Cause, Command, Recorded, Reply
from resolute.proto.pool import AgentEnabled, EnableAgent
from resolute.relay.relay import Relay
from resolute.service import Follower
from tests.servers import Nats

ENABLE, CAUSE = EnableAgent("default", "agent-1"), Cause("test")


@pytest.fixture
async def bus(nats_server: Nats) -> AsyncIterator[NatsBus]:
    bus = await NatsBus.open(nats_server.url)
    yield bus
    await bus.close()


async def grow(log: MemoryEventLog, count: int) -> None:
    for _ in range(count):
        head = await log.head()
        await log.append("pool-x", [AgentEnabled(f"a-{head}")], expected_version=head, cause=Cause(f"test-{head}"))


async def until(happened: Callable[[], bool], within_s: float = 60) -> None:
    async with asyncio.timeout(within_s):
        while not happened():  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0.01)


class Positions:
    """A consumer that only remembers what it was given."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    async def position(self) -> int:
        return self.seen[-1] if self.seen else 0

    async def handle(self, batch: Sequence[Recorded]) -> None:
        self.seen += [recorded.position for recorded in batch]


async def test_a_follower_misses_nothing_while_nats_is_killed_and_wiped(nats_server: Nats, bus: NatsBus) -> None:
    log, consumer = MemoryEventLog(), Positions()
    hearing = await NatsBus.open(nats_server.url)
    running = [
        asyncio.create_task(Relay(log, bus).run()),
        asyncio.create_task(Follower(consumer, log, hearing, check_every_s=60).run()),
    ]
    for round_ in range(3):
        await grow(log, 50)
        nats_server.kill(wipe=round_ != 1)
        await grow(log, 50)
        nats_server.start()
        await until(lambda: bus.connected and hearing.connected)
        await grow(log, 50)
        wanted = await log.head()
        await until(lambda: len(consumer.seen) >= wanted)  # noqa: B023
    assert consumer.seen == list(range(1, 451))
    assert await bus.last_fact() == 450
    for task in running:
        task.cancel()
    await hearing.close()


async def test_two_relays_publish_each_event_once(nats_server: Nats, bus: NatsBus) -> None:
    log = MemoryEventLog()
    await grow(log, 300)
    relays = [Relay(log, bus), Relay(log, await NatsBus.open(nats_server.url))]
    running = [asyncio.create_task(relay.run()) for relay in relays]
    await until(lambda: all(relay.position == 300 for relay in relays))
    info = await bus._link.client.jetstream().stream_info("RESOLUTE_EVENTS")
    assert info.state.messages == 300
    for task in running:
        task.cancel()


async def test_a_service_is_found_again_after_nats_comes_back(nats_server: Nats, bus: NatsBus) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply(position=5)

    await bus.serve("scheduler", handle)
    nats_server.kill(wipe=True)
    await until(lambda: not bus.connected)
    with pytest.raises(Unavailable, match="the bus is away"):
        await bus.request(ENABLE, CAUSE)
    nats_server.start()
    await until(lambda: bus.connected)
    assert await bus.request(ENABLE, CAUSE) == Reply(position=5)


async def test_a_question_is_given_up_at_once_when_the_connection_breaks(nats_server: Nats, bus: NatsBus) -> None:
    asked = asyncio.Event()

    async def handle(command: Command, cause: Cause) -> Reply:
        asked.set()
        await asyncio.sleep(60)
        return Reply()

    other = await NatsBus.open(nats_server.url)
    await other.serve("scheduler", handle)
    asking = asyncio.create_task(bus.request(ENABLE, CAUSE, timeout_s=60))
    async with asyncio.timeout(30):
        await asked.wait()
        nats_server.kill()
        with pytest.raises(Unavailable, match="was lost before an answer came"):
            await asking
    await other.close()


async def test_a_client_that_gave_up_is_replaced_with_all_that_was_open(nats_server: Nats, bus: NatsBus) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply(position=5)

    await bus.serve("scheduler", handle)
    await bus._link._client._process_err("'Authentication Expired'")  # as nats-py does when the server says so
    await until(lambda: not bus.connected)
    await until(lambda: bus.connected)
    assert await bus.request(ENABLE, CAUSE) == Reply(position=5)


async def test_a_bus_without_nats_says_so(nats_server: Nats) -> None:
    nats_server.kill()
    with pytest.raises(Unavailable, match=r"no NATS at nats://127\.0\.0\.1:\d+ within 0\.5 s"):
        await NatsBus.open(nats_server.url, timeout_s=0.5)


async def test_a_message_too_big_for_the_bus_is_an_error_of_its_own_and_not_an_outage(bus: NatsBus) -> None:
    with pytest.raises(TooLarge, match=r"has [\d,]+ bytes; NATS carries at most [\d,]+"):
        await bus.request(EnableAgent("default", "a" * 9_000_000), CAUSE)


async def test_services_are_discovered_with_statistics(bus: NatsBus) -> None:
    async def handle(command: Command, cause: Cause) -> Reply:
        return Reply()

    await bus.serve("scheduler", handle)
    await bus.request(ENABLE, CAUSE)
    answer = await bus._link.client.request("$SRV.STATS.scheduler", timeout=30)
    assert b'"handled": 1' in answer.data
    assert b"resolute.cmd.scheduler.enable-agent" in answer.data
