"""A command of which processes die is refused; whatever else they were carrying out then is not."""

from __future__ import annotations

import asyncio

import pytest

from resolute.bus import Subscription
from resolute.bus.memory import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Refused, SetAside, Unavailable
from resolute.proto.experiment import ArchiveExperiment, PauseExperiment
from resolute.proto.message import Cause, Command, Reply
from resolute.service import Context, poison_guard, serve_commands
from tests.unit.service.lives import answered

POISON, GOOD = PauseExperiment(666), PauseExperiment(7)


class Life:
    """One life of a searcher's process. The poison ends it: its answer never comes, and nothing is tidied up."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.log, self.bus, self.carried_out = log, MemoryBus(), list[Command]()
        self.died = asyncio.Event()
        self.serving: Subscription

    async def begin(self) -> Life:
        self.serving = await serve_commands(Context(self.log, self.bus), "searcher", self.decide)
        return self

    async def decide(self, command: Command, cause: Cause) -> Reply:
        self.carried_out.append(command)
        if command == POISON:
            self.died.set()
            await asyncio.Event().wait()
        if isinstance(command, ArchiveExperiment):
            raise Refused("cannot archive experiment 7: it has not ended")
        return Reply(position=1)

    async def ask(self, command: Command, cause: str) -> Reply:
        """Raises Unavailable where the process dies."""
        return await answered(self.bus.request(command, Cause(cause), timeout_s=60), self.died)


async def dies(log: MemoryEventLog) -> Life:
    life = await Life(log).begin()
    with pytest.raises(Unavailable):
        await life.ask(POISON, "poison")
    return life


async def test_a_command_of_which_processes_died_again_and_again_is_refused_by_name() -> None:
    log = MemoryEventLog()
    for _ in range(4):  # at the first death nobody was careful
        life = await dies(log)
        assert life.carried_out == [POISON]
    life = await Life(log).begin()
    with pytest.raises(SetAside, match="cannot carry out PauseExperiment: processes of the searcher died 3 times"):
        await life.ask(POISON, "poison")
    assert life.carried_out == []
    assert await life.ask(GOOD, "good") == Reply(position=1)
    with pytest.raises(Unavailable):
        await life.ask(POISON, "another wish")
    assert life.carried_out == [GOOD, POISON], "the same command for another cause is another wish"


async def test_a_command_that_processes_survive_is_held_to_no_account_for_the_deaths_beside_it() -> None:
    log = MemoryEventLog()
    for _ in range(5):
        life = await Life(log).begin()
        assert await life.ask(GOOD, "good") == Reply(position=1)
        with pytest.raises(Refused, match="has not ended"):
            await life.ask(ArchiveExperiment(7), "refused")
        with pytest.raises((Unavailable, SetAside)):
            await life.ask(POISON, "poison")


async def test_a_process_that_was_stopped_in_order_makes_nobody_careful(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryEventLog()
    life = await Life(log).begin()
    await life.serving.close()
    life = await Life(log).begin()
    before = set(log._attempts)
    with pytest.raises(Unavailable):
        await life.ask(POISON, "poison")
    assert set(log._attempts) == before, "a command costs no note"


async def test_after_a_minute_without_a_death_nobody_is_careful_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryEventLog()
    await dies(log)
    monkeypatch.setattr(poison_guard, "CAREFUL_S", 0.0)
    life = await Life(log).begin()
    before = set(log._attempts)
    with pytest.raises(Unavailable):
        await life.ask(POISON, "poison")
    assert set(log._attempts) == before


async def test_a_long_careful_command_holds_the_others_up_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poison_guard, "TURN_S", 0.001)
    log = MemoryEventLog()
    await dies(log)
    life = await Life(log).begin()
    with pytest.raises(Unavailable):
        await life.ask(POISON, "long")
    assert await life.ask(GOOD, "good") == Reply(position=1)
