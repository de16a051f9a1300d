"""An event that a newer release wrote: an older one neither folds without it nor passes it over; it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from resolute.bus import MemoryBus
from resolute.eventlog.postgres import PostgresEventLog
from resolute.eventlog.rows import Unreadable
from resolute.proto.experiment import ExperimentActivated, ExperimentEvent
from resolute.proto.message import EVENTS, Cause, Event, Recorded
from resolute.service import Follower
from resolute.service.aggregates import Aggregates


@dataclass(frozen=True, slots=True)
class ExperimentTeleported(ExperimentEvent):
    where: str


# Defining the class made the type known to every test of this run; only the tests below know it, while they run.
del EVENTS["ExperimentTeleported"]


@pytest.fixture(autouse=True)
def _known_to_the_newer_release_alone() -> Iterator[None]:
    yield
    EVENTS.pop("ExperimentTeleported", None)


async def written_by_a_newer_release(log: PostgresEventLog) -> None:
    EVENTS["ExperimentTeleported"] = ExperimentTeleported
    events = [ExperimentActivated(), ExperimentTeleported("mars"), ExperimentActivated()]
    await log.append("experiment-1", events, expected_version=0, cause=Cause("newer"))
    await log.append("experiment-2", [ExperimentActivated()], expected_version=0, cause=Cause("newer"))
    del EVENTS["ExperimentTeleported"]


def decide(count: int) -> Sequence[Event]:
    return [ExperimentActivated()]


async def test_nothing_is_decided_on_its_stream_and_other_streams_go_on(postgres_dsn: str) -> None:
    log = await PostgresEventLog.open(postgres_dsn)
    await written_by_a_newer_release(log)
    counts = Aggregates[int](log, int, lambda count, event: count + 1)
    with pytest.raises(Unreadable, match=r"event 2 of experiment-1, at position 2: ExperimentTeleported.* upgrade"):
        await counts.execute("experiment-1", decide, Cause("older"))
    await counts.execute("experiment-2", decide, Cause("older"))
    assert await log.head() == 5
    await log.close()


class Reader:
    def __init__(self) -> None:
        self.read: list[int] = []
        self.came = asyncio.Condition()

    async def position(self) -> int:
        return len(self.read)

    async def handle(self, batch: Sequence[Recorded]) -> None:
        async with self.came:
            self.read += [recorded.position for recorded in batch]
            self.came.notify_all()

    async def until(self, position: int) -> None:
        async with asyncio.timeout(60), self.came:
            await self.came.wait_for(lambda: len(self.read) >= position)


async def test_a_follower_waits_for_its_upgrade_and_then_reads_the_event(postgres_dsn: str) -> None:
    log = await PostgresEventLog.open(postgres_dsn)
    await written_by_a_newer_release(log)
    reader = Reader()
    following = asyncio.create_task(Follower(reader, log, MemoryBus(), batch=1).run())
    await reader.until(1)
    with pytest.raises(Unreadable):
        await log.read_all(1, 1)
    assert reader.read == [1]
    EVENTS["ExperimentTeleported"] = ExperimentTeleported
    await reader.until(4)
    assert reader.read == [1, 2, 3, 4]
    assert await log.asides() == []
    following.cancel()
    await asyncio.wait({following})
    await log.close()
