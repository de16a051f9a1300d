"""The relay's thinking, and its walk over the twins in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.proto.message import Cause, Recorded
from resolute.proto.pool import AgentEnabled
from resolute.relay.relay import RECENT, Relay, beginning


async def grow(log: MemoryEventLog, count: int) -> None:
    for _ in range(count):
        head = await log.head()
        event = AgentEnabled(f"agent-{head + 1}")
        await log.append("pool-default", [event], expected_version=head, cause=Cause(f"test-{head}"))


class Flaky(MemoryBus):
    """Fails the publications it is told to, once each; keeps what got through, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[int, Exception] = {}
        self.published: list[int] = []

    async def publish_fact(self, recorded: Recorded) -> bool:
        if error := self.failing.pop(recorded.position, None):
            raise error
        self.published.append(recorded.position)
        return await super().publish_fact(recorded)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not happened():  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0.005)


def test_it_goes_on_after_the_newest_fact_the_bus_holds() -> None:
    assert beginning(last=70, head=100, position=None) == 70


def test_an_empty_bus_is_given_the_recent_past() -> None:
    assert beginning(last=0, head=100, position=None) == 0
    assert beginning(last=0, head=RECENT + 100, position=None) == 100
    assert beginning(last=0, head=RECENT + 100, position=RECENT) == 100


def test_a_bus_ahead_of_the_log_remembers_another_log() -> None:
    assert beginning(last=500, head=100, position=None) == 100


def test_after_an_outage_it_goes_back_to_what_was_not_acknowledged() -> None:
    assert beginning(last=80, head=100, position=75) == 75


async def test_events_are_carried_in_order_as_they_come() -> None:
    log, bus = MemoryEventLog(), Flaky()
    await grow(log, 3)
    running = asyncio.create_task(Relay(log, bus).run())
    await until(lambda: bus.published == [1, 2, 3])
    await grow(log, 700)
    await until(lambda: bus.published == list(range(1, 704)))
    running.cancel()


async def test_a_fact_that_was_lost_on_the_way_is_sent_again() -> None:
    log, bus = MemoryEventLog(), Flaky()
    bus.failing = {2: Unavailable("no ack")}
    await grow(log, 3)
    relay = Relay(log, bus)
    running = asyncio.create_task(relay.run())
    await until(lambda: relay.position == 3)
    assert bus.published == [1, 3, 2, 3]
    running.cancel()


@pytest.mark.parametrize("failure", [InvalidConfig("too large"), KeyError("a bug")])
async def test_a_fact_the_bus_cannot_carry_does_not_hold_up_the_rest(failure: Exception) -> None:
    log, bus = MemoryEventLog(), Flaky()
    bus.failing = {2: failure}
    await grow(log, 3)
    running = asyncio.create_task(Relay(log, bus).run())
    await until(lambda: bus.published == [1, 3])
    running.cancel()


async def a_pair(log: MemoryEventLog, bus: MemoryBus) -> tuple[list[Relay], list[asyncio.Task[None]]]:
    """Two relays, of which one has found that the other does its work."""
    relays = [Relay(log, bus), Relay(log, bus)]
    running = [asyncio.create_task(relay.run()) for relay in relays]

    async def settled() -> bool:
        await grow(log, 1)
        head = await log.head()
        await until(lambda: all(relay.position == head for relay in relays))
        return any(relay.spare for relay in relays)

    async with asyncio.timeout(60):
        while not await settled():
            pass
    return relays, running


async def test_of_two_relays_one_listens_and_publishes_nothing() -> None:
    log, bus = MemoryEventLog(), Flaky()
    relays, running = await a_pair(log, bus)

    async def once_each() -> bool:
        """A spare may lose its patience with a loop that is held up; not every time."""
        before = len(bus.published)
        await grow(log, 50)
        head = await log.head()
        await until(lambda: all(relay.position == head for relay in relays))
        return len(bus.published) == before + 50

    async with asyncio.timeout(60):
        while not await once_each():
            pass
    for task in running:
        task.cancel()


async def test_a_spare_publishes_what_nobody_published_and_is_in_front_from_then_on() -> None:
    log, bus = MemoryEventLog(), Flaky()
    relays, running = await a_pair(log, bus)
    for relay, task in zip(relays, running, strict=True):
        if not relay.spare:
            task.cancel()
    (spare,) = [relay for relay in relays if relay.spare]
    await grow(log, 5)
    head = await log.head()
    await until(lambda: spare.position == head and not spare.spare)
    assert bus.last == head
    for task in running:
        task.cancel()
