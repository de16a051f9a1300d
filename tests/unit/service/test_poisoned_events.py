"""Events that end the process that handles them, or take for ever: they are found, and set aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Unavailable
from resolute.proto.experiment import TrialRunStarted
from resolute.proto.message import Cause, Recorded
from resolute.service import Reactions
from resolute.service.attempts import CAREFUL_MAX, DEATHS_MAX, AttemptLock


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether replicas are still at work is looked at for a fifth of a second."""
    monkeypatch.setattr("resolute.service.attempts.LOOK_EVERY_S", 0.004)
    monkeypatch.setattr("resolute.service.attempts.SETTLE_S", 0.2)


class Died(BaseException):
    """The process ends here; nothing of it runs any more."""


class Processes:
    """One service, started again whenever it died, that handles what the log holds."""

    def __init__(self, log: MemoryEventLog, react: Callable[[Recorded], None]) -> None:
        self.log, self._react = log, react
        self.handled: list[int] = []
        self.deaths = 0

    async def run(self, deaths_max: int = 20) -> None:
        while self.deaths <= deaths_max:
            try:
                return await self.live()
            except Died:
                self.deaths += 1
        raise AssertionError("it dies for ever")

    async def live(self) -> None:
        reactions = Reactions("searcher", self.log, self._handle)
        position = await reactions.position()
        while batch := await self.log.read_all(position, 500):
            await reactions.handle(batch)
            position = batch[-1].position
        await reactions.again()

    async def _handle(self, recorded: Recorded) -> None:
        self._react(recorded)
        self.handled.append(recorded.position)


async def happen(log: MemoryEventLog, count: int) -> None:
    head = await log.head()
    events = [TrialRunStarted(1, head + i) for i in range(count)]
    await log.append("experiment-1", events, expected_version=head, cause=Cause(f"at-{head}"))


def deadly(*positions: int) -> Callable[[Recorded], None]:
    def react(recorded: Recorded) -> None:
        if recorded.position in positions:
            raise Died

    return react


async def test_an_event_at_which_the_process_died_three_times_is_set_aside_and_the_rest_goes_on() -> None:
    log = MemoryEventLog()
    await happen(log, 5)
    service = Processes(log, deadly(3))
    await service.run()
    assert service.deaths == DEATHS_MAX
    assert log.aside == [("searcher", 3, "the process died 3 times while it handled this event")]
    assert set(service.handled) == {1, 2, 4, 5}


async def test_every_one_of_several_such_events_is_found() -> None:
    log = MemoryEventLog()
    await happen(log, 12)
    service = Processes(log, deadly(3, 4, 11))
    await service.run()
    assert [position for _, position, _ in log.aside] == [3, 4, 11]
    assert set(service.handled) == {1, 2, 5, 6, 7, 8, 9, 10, 12}


async def test_an_event_far_behind_the_careful_beginning_is_found_as_well() -> None:
    log = MemoryEventLog()
    await happen(log, 2 * CAREFUL_MAX + 700)
    service = Processes(log, deadly(2 * CAREFUL_MAX + 600))
    await service.run()
    assert [position for _, position, _ in log.aside] == [2 * CAREFUL_MAX + 600]
    assert max(service.handled) == 2 * CAREFUL_MAX + 700


async def test_a_process_that_is_killed_again_and_again_beside_its_events_sets_none_aside() -> None:
    log = MemoryEventLog()
    await happen(log, 40)
    deaths = iter([5, 5, 6, 6, 7, 9, 9, 10, 30, 30])
    due = next(deaths)

    def react(recorded: Recorded) -> None:
        nonlocal due
        if recorded.position == due:
            due = next(deaths, 0)
            raise Died

    service = Processes(log, react)
    await service.run()
    assert (service.deaths, log.aside) == (10, [])


async def test_deaths_during_an_outage_are_not_held_against_an_event_that_waits_for_its_end() -> None:
    log = MemoryEventLog()
    await happen(log, 1)
    away = True

    async def react(recorded: Recorded) -> None:
        if away:
            raise Unavailable("no process serves resolute.cmd.scheduler")

    for _ in range(5):
        reactions = Reactions("searcher", log, react)
        handling = asyncio.create_task(reactions.handle(await log.read_all(await reactions.position())))
        await asyncio.sleep(0)  # it waits now, and that is where `kill -9` finds it
        handling.cancel()
        await asyncio.wait({handling})
    away = False
    reactions = Reactions("searcher", log, react)
    await reactions.handle(await log.read_all(await reactions.position()))
    assert log.aside == []


async def test_a_retry_that_ends_the_process_again_is_set_aside_again() -> None:
    log = MemoryEventLog()
    await happen(log, 3)
    react = deadly(2)
    service = Processes(log, lambda recorded: react(recorded))
    await service.run()
    await log.ask_again("searcher", 2)
    await happen(log, 3)
    await service.run()
    assert service.deaths == 2 * DEATHS_MAX
    assert await log.asked_again("searcher") == []
    react = deadly()
    await log.ask_again("searcher", 2)
    await service.run()
    assert (service.deaths, log.aside) == (2 * DEATHS_MAX, [])


async def test_a_reaction_that_takes_for_ever_is_set_aside_at_once() -> None:
    log = MemoryEventLog()
    await happen(log, 3)
    handled: list[int] = []

    async def react(recorded: Recorded) -> None:
        if recorded.position == 2:
            await asyncio.Event().wait()
        handled.append(recorded.position)

    await Reactions("searcher", log, react, limit_s=0.02).handle(await log.read_all(0))
    assert (handled, log.aside) == ([1, 3], [("searcher", 2, "handling it took longer than 0.02 s")])


async def test_waiting_out_an_outage_longer_than_the_limit_sets_nothing_aside() -> None:
    log = MemoryEventLog()
    await happen(log, 1)
    loop = asyncio.get_running_loop()
    back_at = loop.time() + 0.2

    async def react(recorded: Recorded) -> None:
        if loop.time() < back_at:
            raise Unavailable("the scheduler is away")

    await Reactions("searcher", log, react, limit_s=0.05).handle(await log.read_all(0))
    assert log.aside == []


async def test_of_followers_in_one_process_only_one_is_careful_at_a_time() -> None:
    """So that the one beside it is not blamed for a death."""
    log, attempt_lock = MemoryEventLog(), AttemptLock()
    await happen(log, 4)
    running = 0

    async def react(recorded: Recorded) -> None:
        nonlocal running
        running += 1
        await asyncio.sleep(0)
        assert running == 1
        running -= 1

    async def follow(name: str) -> None:
        reactions = Reactions(name, log, react, attempt_lock=attempt_lock)
        await reactions.handle(await log.read_all(await reactions.position()))

    await asyncio.gather(*map(follow, ["searcher", "scheduler", "checkpoint"]))
    assert log.aside == []


async def test_replicas_that_handle_one_event_at_the_same_moment_are_not_taken_for_dead() -> None:
    log = MemoryEventLog()
    await happen(log, 2)
    together = asyncio.Event()
    waiting = 0

    async def react(recorded: Recorded) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == DEATHS_MAX:
            asyncio.get_running_loop().call_later(0.05, together.set)
        await together.wait()

    async def replica() -> None:
        reactions = Reactions("searcher", log, react)
        await reactions.handle(await log.read_all(await reactions.position()))

    await asyncio.gather(*(replica() for _ in range(DEATHS_MAX + 2)))
    assert log.aside == []
