"""Reactions about different things may overlap; about one thing they keep the order of the log."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Hashable

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Unavailable
from resolute.proto.experiment import TrialRunStarted
from resolute.proto.message import Cause, Recorded
from resolute.service import Reactions


async def happen(log: MemoryEventLog, abouts: list[int | None]) -> list[Recorded]:
    events = [TrialRunStarted(about or 0, n) for n, about in enumerate(abouts)]
    return list((await log.append("experiment-1", events, expected_version=0, cause=Cause("all"))).events)


def about(recorded: Recorded) -> Hashable | None:
    assert isinstance(recorded.event, TrialRunStarted)
    return recorded.event.trial_id or None


@hypothesis.given(abouts=st.lists(st.sampled_from([None, 1, 1, 2, 3]), min_size=1, max_size=30), seed=st.integers())
def test_one_thing_after_another_and_what_is_about_everything_after_all(abouts: list[int | None], seed: int) -> None:
    async def story() -> None:
        chance, log = random.Random(seed), MemoryEventLog()
        began: list[int] = []
        ended: list[int] = []
        positions_saved_at_ends: list[int] = []

        async def react(recorded: Recorded) -> None:
            mine = about(recorded)
            for earlier in batch[: recorded.position - 1]:
                if mine is None or about(earlier) in (None, mine):
                    assert earlier.position in ended, f"{recorded.position} did not wait for {earlier.position}"
            began.append(recorded.position)
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            positions_saved_at_ends.append(await log.load_position("reader"))
            ended.append(recorded.position)

        batch = await happen(log, abouts)
        await Reactions("reader", log, react, about).handle(batch)
        assert sorted(ended) == [recorded.position for recorded in batch]
        assert set(positions_saved_at_ends) == {0}, "its place was saved before all was handled"
        assert await log.load_position("reader") == len(batch)

    asyncio.run(story())


async def test_they_do_overlap() -> None:
    log = MemoryEventLog()
    both = asyncio.Barrier(2)

    async def react(recorded: Recorded) -> None:
        async with asyncio.timeout(60):
            await both.wait()

    await Reactions("reader", log, react, about).handle(await happen(log, [1, 2]))


async def test_an_outage_leaves_nothing_running_behind_and_is_told() -> None:
    log = MemoryEventLog()
    ended: list[int] = []

    async def react(recorded: Recorded) -> None:
        if recorded.position == 1:
            raise ValueError("a bug, to be set aside")
        await asyncio.sleep(0.01)
        ended.append(recorded.position)

    async def no_database(*arguments: object) -> None:
        raise Unavailable("the database is away")

    log.set_aside = no_database  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        await Reactions("reader", log, react, about).handle(await happen(log, [1, 2, 3]))
    assert ended == [2, 3]
    assert await log.load_position("reader") == 0


async def test_when_all_is_quiet_its_place_is_saved() -> None:
    log = MemoryEventLog()

    async def react(recorded: Recorded) -> None:
        """Nothing to do."""

    reactions = Reactions("reader", log, react, about)
    first, second = await happen(log, [1, 2])
    await reactions.handle([first])
    await reactions.handle([second])
    assert await log.load_position("reader") == 1, "it was saved just now"
    await reactions.again()
    assert await log.load_position("reader") == 2


async def test_one_that_hangs_keeps_the_place_and_its_own_thing_only_and_ends_with_the_service() -> None:
    log = MemoryEventLog()
    ended: list[int] = []
    hung: list[int] = []
    all_else = asyncio.Event()

    async def react(recorded: Recorded) -> None:
        if recorded.position == 1:
            try:
                await asyncio.Event().wait()
            finally:
                hung.append(recorded.position)
        ended.append(recorded.position)
        if ended == [2, 4]:
            all_else.set()

    reactions = Reactions("reader", log, react, about)
    handling = asyncio.create_task(reactions.handle(await happen(log, [1, 2, 1, 2])))
    async with asyncio.timeout(60):
        await all_else.wait()
    handling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await handling
    assert (hung, ended) == ([1], [2, 4])
    await reactions.again()
    assert await log.load_position("reader") == 0
