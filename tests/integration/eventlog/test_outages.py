"""The log when Postgres is killed, frozen or away: nothing acknowledged is lost, and nobody hangs."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import psutil
import pytest

from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.proto.experiment import TrialRunStarted
from resolute.proto.message import Cause
from tests.servers import Postgres


@asynccontextmanager
async def opened(dsn: str, patience_s: float = 20, attempt_s: float = 30) -> AsyncIterator[PostgresEventLog]:
    log = await PostgresEventLog.open(dsn, patience_s=patience_s, attempt_s=attempt_s)
    try:
        yield log
    finally:
        await log.close()


async def one(log: PostgresEventLog, stream: str, version: int) -> int:
    """Append one event, answering its position; its cause says where it belongs."""
    cause = Cause(f"{stream}@{version}")
    return (await log.append(stream, [TrialRunStarted(1, version)], expected_version=version, cause=cause)).position


async def test_killing_postgres_during_appends_loses_nothing_acknowledged(own_postgres: Postgres) -> None:
    acknowledged: dict[tuple[str, int], int] = {}
    in_full_flight = [asyncio.Event(), asyncio.Event()]

    async def write(stream: str, appends: int) -> None:
        for version in range(appends):
            acknowledged[stream, version + 1] = await one(log, stream, version)
            if len(acknowledged) in (300, 1200):
                in_full_flight[len(acknowledged) == 1200].set()

    async with opened(own_postgres.fresh_database(), patience_s=60) as log, asyncio.timeout(100):
        writers = [asyncio.create_task(write(f"experiment-{i}", 300)) for i in range(8)]
        for moment in in_full_flight:
            await moment.wait()
            await asyncio.to_thread(own_postgres.kill)
            await asyncio.to_thread(own_postgres.start)
        await asyncio.gather(*writers)
        written = {(r.stream, r.version): r.position for r in await log.read_all(0, limit=10_000)}
        assert written == acknowledged
        assert len(written) == 8 * 300
        assert await log.verify() is None


async def test_while_postgres_is_away_everything_says_so_and_afterwards_all_is_well(own_postgres: Postgres) -> None:
    async with opened(own_postgres.fresh_database(), patience_s=0.2) as log, asyncio.timeout(60):
        await one(log, "experiment-1", 0)
        await asyncio.to_thread(own_postgres.kill)
        began = time.monotonic()
        for attempt in (
            lambda: one(log, "experiment-1", 1),
            lambda: log.read_stream("experiment-1"),
            lambda: log.read_all(0),
            lambda: log.head(),
            lambda: log.reserve("trial"),
            lambda: log.save_position("relay", 1),
            lambda: log.wait_beyond(1, timeout_s=1),
        ):
            with pytest.raises(Unavailable):
                await attempt()
        assert time.monotonic() - began < 40, "with the patience of `opened` they take more than two minutes"
        await asyncio.to_thread(own_postgres.start)
        assert await one(log, "experiment-1", 1) == 2
        assert [recorded.position for recorded in await log.read_all(0)] == [1, 2]


async def test_a_waiter_hears_of_appends_again_after_postgres_came_back(own_postgres: Postgres) -> None:
    dsn = own_postgres.fresh_database()
    async with opened(dsn) as log, opened(dsn) as other, asyncio.timeout(60):
        await one(other, "experiment-1", 0)
        await asyncio.to_thread(own_postgres.kill)
        await asyncio.to_thread(own_postgres.start)
        waiting = asyncio.create_task(log.wait_beyond(1, timeout_s=20))
        await one(other, "experiment-1", 1)
        assert await waiting


async def test_a_frozen_postgres_is_given_up_on(own_postgres: Postgres) -> None:
    dsn = own_postgres.fresh_database()
    async with opened(dsn):
        """The tables are made, in as much time as that takes."""
    async with opened(dsn, patience_s=0.1, attempt_s=3.0) as log, asyncio.timeout(100):
        assert await until_answered(lambda: one(log, "experiment-1", 0)) == 1
        frozen = psutil.Process(own_postgres.pid).children(recursive=True)
        _signal(frozen, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(Unavailable):
                await one(log, "experiment-1", 1)
            with pytest.raises(Unavailable):
                await log.head()
            assert time.monotonic() - began < 40
        finally:
            _signal(frozen, signal.SIGCONT)
        again = await until_answered(lambda: one(log, "experiment-1", 1))
        assert again == 2, "asking again with the same cause writes once"
        assert await until_answered(log.head) == 2


async def until_answered(ask: Callable[[], Awaitable[int]]) -> int:
    """What `ask` answers, asked again by a log that has hardly any patience of its own."""
    while True:
        try:
            return await ask()
        except Unavailable:
            await asyncio.sleep(0.05)


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        process.send_signal(number)


async def test_a_database_that_is_not_there_is_a_clear_error(postgres_dsn: str) -> None:
    with pytest.raises(InvalidConfig, match='"nowhere" does not exist'):
        await PostgresEventLog.open(re.sub(r"/test_\d+", "/nowhere", postgres_dsn))
    with pytest.raises(InvalidConfig, match="DSN"):
        await PostgresEventLog.open("not a dsn")
    with pytest.raises(Unavailable):
        await PostgresEventLog.open("postgresql://u@/db?host=/nonexistent", patience_s=0.1)


async def test_a_number_is_not_handed_out_again_after_a_crash(own_postgres: Postgres) -> None:
    """Found with a killed Postgres under wal_level = minimal, where sequences had forgotten what they gave."""
    own_postgres.psql("ALTER SYSTEM SET wal_level = minimal;")
    own_postgres.psql("ALTER SYSTEM SET max_wal_senders = 0;")
    own_postgres.kill()
    own_postgres.start()
    log = await PostgresEventLog.open(own_postgres.dsn)
    try:
        given = [number for _ in range(5) for number in await log.reserve("experiment")]
        own_postgres.kill()
        own_postgres.start()
        assert given == [1, 2, 3, 4, 5]
        assert await log.reserve("experiment") == range(6, 7)
    finally:
        await log.close()
