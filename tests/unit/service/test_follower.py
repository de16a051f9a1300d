"""Followers over a bus that loses, repeats, reorders and forgets: each event is handled once, in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import hypothesis
from hypothesis import strategies as st

from resolute.bus import Faults, MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Failed, Refused, Unavailable
from resolute.proto.experiment import TrialRunStarted
from resolute.proto.message import Cause, Recorded
from resolute.service import Follower, Reactions

SOON_S = 0.02


class Reader:
    """A consumer that remembers what it was given, and checks the order."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.log, self.seen = log, list[int]()
        self.grown = asyncio.Event()
        self.outages = 0

    async def position(self) -> int:
        return len(self.seen)

    async def handle(self, batch: Sequence[Recorded]) -> None:
        if self.outages:
            self.outages -= 1
            raise Unavailable("the reader's database is away")
        for recorded in batch:
            assert recorded.position == len(self.seen) + 1, f"{recorded.position} after {len(self.seen)}"
            self.seen.append(recorded.position)
        self.grown.set()

    async def has_seen(self, position: int) -> None:
        async with asyncio.timeout(60):
            while len(self.seen) < position:
                self.grown.clear()
                await self.grown.wait()


async def happen(log: MemoryEventLog, count: int) -> list[Recorded]:
    head = await log.head()
    events = [TrialRunStarted(1, head + i) for i in range(count)]
    return list((await log.append("experiment-1", events, expected_version=head, cause=Cause(f"at-{head}"))).events)


@asynccontextmanager
async def following(reader: Reader, bus: MemoryBus, check_every_s: float = SOON_S) -> AsyncIterator[None]:
    follower = Follower(reader, reader.log, bus, check_every_s=check_every_s, batch=7)
    task = asyncio.create_task(follower.run())
    while not bus.readers:  # noqa: ASYNC110  (nothing tells when it has subscribed)
        await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        assert isinstance(outcome, asyncio.CancelledError), f"the follower stopped: {outcome!r}"


async def test_history_is_read_first_and_facts_are_followed_from_there() -> None:
    log, bus = MemoryEventLog(), MemoryBus()
    reader = Reader(log)
    await happen(log, 20)
    async with following(reader, bus, check_every_s=60):
        await reader.has_seen(20)
        for recorded in await happen(log, 10):
            await bus.publish_fact(recorded)
        await reader.has_seen(30)


async def test_a_fact_that_was_lost_is_read_from_the_log_as_soon_as_a_later_one_comes() -> None:
    log, bus = MemoryEventLog(), MemoryBus()
    reader = Reader(log)
    async with following(reader, bus, check_every_s=60):
        first, second, _lost, fourth = await happen(log, 4)
        for recorded in (first, second, fourth):
            await bus.publish_fact(recorded)
        await reader.has_seen(4)


async def test_a_fact_that_was_lost_with_nothing_after_it_is_found_by_asking() -> None:
    log, bus = MemoryEventLog(), MemoryBus()
    reader = Reader(log)
    async with following(reader, bus):
        await happen(log, 3)
        await reader.has_seen(3)


async def test_a_bus_that_is_wiped_and_told_everything_again_changes_nothing() -> None:
    log, bus = MemoryEventLog(), MemoryBus()
    reader = Reader(log)
    async with following(reader, bus, check_every_s=60):
        told = await happen(log, 5)
        for _ in range(3):
            for recorded in told:
                await bus.publish_fact(recorded)
            bus.wipe()
        for recorded in await happen(log, 2):
            await bus.publish_fact(recorded)
        await reader.has_seen(7)


async def test_an_outage_of_the_consumers_own_store_is_waited_out() -> None:
    log, bus = MemoryEventLog(), MemoryBus()
    reader = Reader(log)
    reader.outages = 3
    await happen(log, 5)
    async with following(reader, bus):
        await reader.has_seen(5)


@hypothesis.given(seed=st.integers(0, 2**32))
@hypothesis.settings(max_examples=25, deadline=None)
async def test_whatever_the_bus_does_each_event_is_handled_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    faults = Faults(
        lost=lambda: chance.random() < 0.2,
        repeated=lambda: chance.random() < 0.2,
        delay_s=lambda: chance.choice([0.0, 0.0, 0.001, 0.003]),  # facts overtake one another
    )
    log, bus = MemoryEventLog(), MemoryBus(faults)
    reader = Reader(log)
    async with following(reader, bus):
        for _ in range(6):
            for recorded in await happen(log, chance.randrange(1, 8)):
                await bus.publish_fact(recorded)
            if chance.random() < 0.2:
                bus.wipe()
            await asyncio.sleep(chance.choice([0, 0.002]))
        await reader.has_seen(await log.head())


# ---------------------------------------------------------------- reactions


async def react_to(log: MemoryEventLog, react: Callable[[Recorded], None]) -> None:
    async def reaction(recorded: Recorded) -> None:
        react(recorded)

    reactions = Reactions("searcher", log, reaction)
    await reactions.handle(await log.read_all(await reactions.position()))


async def test_reactions_remember_how_far_they_came() -> None:
    log = MemoryEventLog()
    seen: list[int] = []
    await happen(log, 3)
    await react_to(log, lambda recorded: seen.append(recorded.position))
    await happen(log, 2)
    await react_to(log, lambda recorded: seen.append(recorded.position))
    assert seen == [1, 2, 3, 4, 5]


async def test_a_reaction_that_fails_twice_is_set_aside_and_the_rest_goes_on() -> None:
    log = MemoryEventLog()
    seen: list[int] = []

    def react(recorded: Recorded) -> None:
        seen.append(recorded.position)
        if recorded.position == 2:
            raise ValueError("a bug")

    await happen(log, 3)
    await react_to(log, react)
    assert seen == [1, 2, 2, 3]
    assert log.aside == [("searcher", 2, "ValueError('a bug')")]


async def test_what_was_set_aside_is_handled_once_more_when_a_person_has_mended_it() -> None:
    log = MemoryEventLog()
    mended = False
    seen: list[int] = []

    def react(recorded: Recorded) -> None:
        seen.append(recorded.position)
        if recorded.position == 2 and not mended:
            raise ValueError("a bug")

    async def reaction(recorded: Recorded) -> None:
        react(recorded)

    await happen(log, 3)
    await react_to(log, react)
    reactions = Reactions("searcher", log, reaction)
    await log.ask_again("searcher", 2)
    await reactions.again()
    assert [position for _, position, _ in log.aside] == [2], "not mended yet: noted anew, in place of the first note"
    assert await log.asked_again("searcher") == []
    mended = True
    await reactions.again()
    assert seen == [1, 2, 2, 3, 2, 2], "nobody asked for that"
    await log.ask_again("searcher", 2)
    await reactions.again()
    assert (seen[-1], len(seen), log.aside) == (2, 7, [])


async def test_a_reaction_waits_for_a_service_that_is_away_and_takes_a_refusal_for_an_answer() -> None:
    log = MemoryEventLog()
    answers = iter([Unavailable("nobody there"), Unavailable("nobody there"), Refused("too late")])
    asked: list[int] = []

    def react(recorded: Recorded) -> None:
        asked.append(recorded.position)
        if recorded.position == 1:
            raise next(answers)

    await happen(log, 2)
    await react_to(log, react)
    assert asked == [1, 1, 1, 2]
    assert log.aside == []


async def test_a_bug_in_the_service_that_was_asked_is_no_answer_of_its() -> None:
    log = MemoryEventLog()
    failures = iter([Failed("KeyError"), None, Failed("KeyError"), Failed("KeyError again")])
    asked: list[int] = []

    def react(recorded: Recorded) -> None:
        asked.append(recorded.position)
        if (failure := next(failures, None)) is not None:
            raise failure

    await happen(log, 3)
    await react_to(log, react)
    assert asked == [1, 1, 2, 2, 3]
    assert log.aside == [("searcher", 2, "Failed('KeyError again')")]
