"""Migrations: applied once, in order, by one of many starters; and data of a newer release are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from resolute.eventlog.migrate import KNOWN_TO_ALL, migrate
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import Refused


@pytest.fixture
async def connection(postgres_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "0001_words.sql").write_text("CREATE TABLE house.words (word text);")
    (tmp_path / "0002_numbers.sql").write_text("ALTER TABLE house.words ADD number int; -- a second thought")
    (tmp_path / "README.md").write_text("not a migration")
    return tmp_path


async def test_what_is_missing_is_applied_in_order_and_once(connection: asyncpg.Connection, folder: Path) -> None:
    assert [str(m) for m in await migrate(connection, folder, "house")] == ["0001_words", "0002_numbers"]
    assert await migrate(connection, folder, "house") == []
    (folder / "0003_more.sql").write_text("ALTER TABLE house.words ADD more int;")
    assert [m.number for m in await migrate(connection, folder, "house")] == [3]
    await connection.execute("INSERT INTO house.words (word, number, more) VALUES ('a', 1, 2)")


async def test_a_migration_that_fails_leaves_nothing_half_done(connection: asyncpg.Connection, folder: Path) -> None:
    (folder / "0003_wrong.sql").write_text("CREATE TABLE house.extra (a int); SELECT nonsense;")
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(connection, folder, "house")
    assert await connection.fetchval("SELECT to_regclass('house.words')") is None


async def test_many_may_start_at_once(postgres_dsn: str) -> None:
    logs = await asyncio.gather(*(PostgresEventLog.open(postgres_dsn) for _ in range(4)))
    assert [await log.head() for log in logs] == [0] * 4
    await asyncio.gather(*(log.close() for log in logs))


async def test_additive_migrations_of_a_newer_release_stop_no_older_one(
    connection: asyncpg.Connection, folder: Path
) -> None:
    await migrate(connection, folder, "house")
    (folder / "0002_numbers.sql").unlink()
    assert await migrate(connection, folder, "house") == []
    await connection.execute("INSERT INTO house.words (word) VALUES ('the older release goes on')")


async def test_a_breaking_migration_of_a_newer_release_is_refused_by_name(
    connection: asyncpg.Connection, folder: Path
) -> None:
    (folder / "0003_fewer.sql").write_text("-- breaking\nALTER TABLE house.words DROP number;")
    await migrate(connection, folder, "house")
    (folder / "0003_fewer.sql").unlink()
    with pytest.raises(Refused, match=r"newer release .* 0003_fewer, and this one knows up to 0002_numbers"):
        await migrate(connection, folder, "house")


async def test_the_first_releases_find_nothing_they_do_not_know(postgres_dsn: str) -> None:
    """They read `migrations` alone, and refuse to start when there is more in it than they know."""
    log = await PostgresEventLog.open(postgres_dsn)
    await log.close()
    connection = await asyncpg.connect(postgres_dsn)
    for package, schema in (("resolute.api", "api"), ("resolute.api.measures", "measures")):
        await migrate(connection, package, schema)
    for schema, newest in KNOWN_TO_ALL.items():
        assert await connection.fetchval(f"SELECT max(number) FROM {schema}.migrations") == newest
    await connection.close()


async def test_a_migration_edited_after_it_was_applied_is_refused(connection: asyncpg.Connection, folder: Path) -> None:
    await migrate(connection, folder, "house")
    (folder / "0001_words.sql").write_text("CREATE TABLE house.words (word varchar);")
    with pytest.raises(Refused, match="another 0001_words"):
        await migrate(connection, folder, "house")
