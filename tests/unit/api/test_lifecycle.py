"""Following the log into the logs of tasks: through outages, restarts, and events that nothing can be made of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from resolute.api import lifecycle
from resolute.api.kernel.cache import memory_rows
from resolute.api.lifecycle import NAME, PAUSE_S, LifecycleLines
from resolute.api.logs.lifecycle_memory import MemoryLifecycle
from resolute.api.pools.projection import AGENTS, SLOTS
from resolute.api.tasks.tables import ALLOCATIONS, PLACEMENTS
from resolute.api.trials.tables import RUNS, TRIALS
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Unavailable
from resolute.proto.message import Cause, Event
from resolute.proto.pool import AgentJoined, AllocationRequested, AllocationStarted, LogLine

AT = datetime(2026, 1, 2, tzinfo=UTC)


NO_ROWS = memory_rows([ALLOCATIONS, PLACEMENTS, TRIALS, RUNS, AGENTS, SLOTS])


class NoTables:
    """A read model that shows nothing."""

    async def catch_up(self) -> None:
        pass


class Stage:
    def __init__(self) -> None:
        self.log = MemoryEventLog()
        self.stored: list[LogLine] = []
        self.unavailable = False
        self.lines = self.begun_anew()

    def begun_anew(self) -> LifecycleLines:
        self.lines = LifecycleLines(self.log, NoTables(), MemoryLifecycle(NO_ROWS), self.store)  # type: ignore[arg-type]
        return self.lines

    async def store(self, lines: Sequence[LogLine]) -> None:
        if self.unavailable:
            raise Unavailable("the database is away")
        self.stored += lines

    async def happens(self, *events: Event) -> None:
        head = await self.log.head()
        await self.log.append("pool-default", events, expected_version=head, cause=Cause(f"cause-{head}"))

    async def follow(self) -> None:
        await self.lines.handle(await self.log.read_all(await self.lines.position(), 100))

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.stored]


def requested(number: int) -> AllocationRequested:
    name = f"Trial {number} (Experiment 1)"
    return AllocationRequested(f"t{number}.1", f"t{number}", "TRIAL", "j", name, "ann", 1, 42, 1.0, None, 60, 1, number)


async def test_a_gateway_begins_with_what_happens_from_then_on_and_a_later_one_goes_on() -> None:
    stage = Stage()
    await stage.happens(requested(1))
    assert await stage.lines.position() == 1
    await stage.happens(requested(2))
    await stage.begun_anew().position()
    await stage.follow()
    assert stage.texts == ["Scheduling Trial 2 (Experiment 1) (id: t2.1)"]


async def test_what_could_not_be_stored_is_stored_later() -> None:
    stage = Stage()
    await stage.lines.position()
    await stage.happens(AgentJoined("a", (), "host", "1"), requested(1))
    stage.unavailable = True
    with pytest.raises(Unavailable):
        await stage.lines.handle(await stage.log.read_all(0, 100))
    stage.unavailable = False
    await stage.lines.handle(await stage.log.read_all(0, 100))
    assert len(stage.stored) == 1


async def test_after_lines_there_is_a_pause_in_which_the_next_gather_and_otherwise_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    await stage.lines.position()
    pauses: list[float] = []

    async def note(pause_s: float) -> None:
        pauses.append(pause_s)

    monkeypatch.setattr(asyncio, "sleep", note)
    await stage.happens(AgentJoined("a", (), "host", "1"))
    await stage.lines.handle(await stage.log.read_all(0, 100))
    assert not pauses
    await stage.happens(requested(1), AllocationStarted("t1.1"))
    await stage.lines.handle(await stage.log.read_all(1, 100))
    assert pauses == [PAUSE_S]
    assert len(stage.stored) == 2


async def test_an_event_that_no_line_can_be_made_of_is_set_aside_and_told_when_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    await stage.lines.position()
    await stage.happens(requested(1), AllocationStarted("t1.1"), requested(2))
    made = lifecycle.lifecycle_lines.lines_of

    def broken(recorded: Any, *args: Any) -> list[LogLine]:
        if isinstance(recorded.event, AllocationStarted):
            raise ValueError("a bug")
        return made(recorded, *args)

    with monkeypatch.context() as patched:
        patched.setattr(lifecycle.lifecycle_lines, "lines_of", broken)
        await stage.lines.handle(await stage.log.read_all(0, 100))
    assert [text.split()[0] for text in stage.texts] == ["Scheduling", "Scheduling"]
    assert await stage.log.ask_again(NAME, 2)
    await stage.lines.again()
    assert stage.texts[-1] == "Resources for Trial 1 (Experiment 1) have started"
    assert await stage.log.asked_again(NAME) == []
    assert await stage.lines.position() == 3


async def test_whoever_waits_for_lines_is_let_go_when_they_are_stored() -> None:
    stage = Stage()
    await stage.lines.reached(10, limit_s=5)  # nothing follows yet, so nothing is waited for
    await stage.lines.position()
    await stage.happens(requested(1))
    await stage.lines.reached(1, limit_s=0.01)
    assert stage.texts == []
    await stage.follow()
    await stage.lines.reached(1, limit_s=5)
    assert len(stage.texts) == 1


async def test_of_a_trial_that_was_deleted_nothing_is_written() -> None:
    stage = Stage()
    await stage.lines.position()
    await stage.happens(AllocationStarted("gone.1"))
    await stage.lines.handle(await stage.log.read_all(0, 100))
    assert stage.texts == []
