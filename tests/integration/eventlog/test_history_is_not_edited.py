"""The database refuses to edit history; and where someone forces it, the hash chain shows the place."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import ExperimentEdited, TrialRunStarted
from resolute.proto.message import Cause


@pytest.fixture
async def log(postgres_dsn: str) -> AsyncIterator[PostgresEventLog]:
    log = await PostgresEventLog.open(postgres_dsn)
    for version in range(4):
        for stream in ("experiment-1", "experiment-2"):
            event = ExperimentEdited({"b": version, "a": ["ü", 1.5]}) if version % 2 else TrialRunStarted(1, version)
            await log.append(stream, [event], expected_version=version, cause=Cause(f"c{version}", actor="determined"))
    yield log
    await log.close()


@pytest.fixture
async def connection(postgres_dsn: str, log: PostgresEventLog) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE eventlog.events SET actor = 'nobody' WHERE position = 1",
        "DELETE FROM eventlog.events WHERE position = 1",
        "DELETE FROM eventlog.events WHERE position = 100",
        "TRUNCATE eventlog.events",
    ],
)
async def test_the_database_refuses_to_change_history(connection: asyncpg.Connection, statement: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="insert-only"):
        await connection.execute(statement)
    assert await connection.fetchval("SELECT count(*) FROM eventlog.events") == 8


async def test_an_honest_log_verifies(log: PostgresEventLog) -> None:
    assert await log.verify() is None


@pytest.mark.parametrize(
    "change",
    [
        'data = \'{"trial_id": 2, "run_id": 0}\'',
        "actor = 'nobody'",
        "recorded_at = recorded_at + interval '1 microsecond'",
        "type = 'TrialRunEnded'",
        "schema_version = 2",
        "caused_by = 'another'",
        "correlation_id = 'another'",
        "traceparent = '00-1-1-00'",
    ],
)
async def test_an_edited_event_breaks_the_chain_at_the_one_that_follows(
    log: PostgresEventLog, connection: asyncpg.Connection, change: str
) -> None:
    await _force(connection, f"UPDATE eventlog.events SET {change} WHERE stream = 'experiment-1' AND version = 3")
    broken = await log.verify()
    assert broken is not None
    assert (broken.stream, broken.version) == ("experiment-1", 4)
    assert "does not follow from version 3" in str(broken)


async def test_an_edited_last_event_shows_against_the_head_of_its_stream(
    log: PostgresEventLog, connection: asyncpg.Connection
) -> None:
    await _force(connection, "UPDATE eventlog.events SET data = '{\"changes\": {}}' WHERE position = 8")
    broken = await log.verify()
    assert broken is not None
    assert (broken.stream, broken.version) == ("experiment-2", 4)
    assert "last event" in broken.why


async def test_a_missing_event_shows(log: PostgresEventLog, connection: asyncpg.Connection) -> None:
    await _force(connection, "DELETE FROM eventlog.events WHERE position = 5")
    broken = await log.verify()
    assert broken is not None
    assert broken.position == 6
    assert "missing" in broken.why


async def test_a_missing_end_shows(log: PostgresEventLog, connection: asyncpg.Connection) -> None:
    await _force(connection, "DELETE FROM eventlog.events WHERE position = 8")
    broken = await log.verify()
    assert broken is not None
    assert (broken.stream, broken.version) == ("experiment-2", 3)


async def _force(connection: asyncpg.Connection, statement: str) -> None:
    """As a superuser who means harm."""
    await connection.execute("SET session_replication_role = replica")
    await connection.execute(statement)
