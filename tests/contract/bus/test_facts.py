"""What a bus promises about facts: those who listen hear them, and it knows the newest it holds."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from resolute.bus import Bus
from resolute.proto.message import Cause, Recorded
from resolute.proto.pool import AgentEnabled


def fact(position: int) -> Recorded:
    return Recorded(
        position=position,
        stream="pool-gpu.a100 big",
        version=position,
        event=AgentEnabled(agent_id=f"agent-{position}"),
        cause=Cause("rest-1", "user:1", "rest-1", "00-trace-01"),
        recorded_at=datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        prev_hash="ab" * 32,
    )


async def test_a_reader_hears_what_is_published_after_it_came(bus: Bus) -> None:
    heard: asyncio.Queue[Recorded] = asyncio.Queue()
    await bus.publish_fact(fact(1))
    await bus.facts(heard.put_nowait)
    await bus.publish_fact(fact(2))
    assert await asyncio.wait_for(heard.get(), 60) == fact(2)


async def test_every_reader_hears_every_fact_in_order_when_all_is_calm(bus: Bus) -> None:
    readers: list[asyncio.Queue[Recorded]] = [asyncio.Queue(), asyncio.Queue()]
    for reader in readers:
        await bus.facts(reader.put_nowait)
    facts = [fact(position) for position in range(1, 101)]
    await asyncio.gather(*map(bus.publish_fact, facts))
    async with asyncio.timeout(60):
        for reader in readers:
            assert [await reader.get() for _ in facts] == facts


async def test_a_closed_reader_hears_no_more(bus: Bus) -> None:
    heard: list[Recorded] = []
    other: asyncio.Queue[Recorded] = asyncio.Queue()
    subscription = await bus.facts(heard.append)
    await bus.facts(other.put_nowait)
    await subscription.close()
    await bus.publish_fact(fact(1))
    await asyncio.wait_for(other.get(), 60)
    assert heard == []


async def test_the_bus_knows_the_newest_fact_it_holds(bus: Bus) -> None:
    assert await bus.last_fact() == 0
    await bus.publish_fact(fact(1))
    await bus.publish_fact(fact(2))
    assert await bus.last_fact() == 2


async def test_a_fact_published_again_is_told_to_be_a_repeat_and_not_held_twice(bus: Bus) -> None:
    assert await bus.publish_fact(fact(1))
    assert await bus.publish_fact(fact(2))
    assert not await bus.publish_fact(fact(1))
    assert await bus.last_fact() == 2
