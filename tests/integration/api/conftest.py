"""Databases for the gateway's tests: copies of one that has all of its tables, which are quicker than making them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from resolute.api.settings import ApiSettings
from resolute.api.shell import connect, opened
from resolute.bus import MemoryBus
from resolute.eventlog import MemoryEventLog
from resolute.eventlog.postgres import PostgresEventLog
from resolute.service import Context
from tests.servers import Postgres


@pytest.fixture(scope="session")
def database_with_tables(postgres_server: Postgres) -> str:
    """The DSN of a database with the tables of the log and of the gateway, all of them empty; only ever copied."""
    dsn = postgres_server.fresh_database()
    asyncio.run(_make_tables(dsn))
    return dsn


async def _make_tables(dsn: str) -> None:
    log = await PostgresEventLog.open(dsn)
    await log.close()
    settings = ApiSettings(database_url=dsn, secret=SecretStr("of a database that no gateway serves"))
    async with await connect(settings) as pool:
        await opened(Context(MemoryEventLog(), MemoryBus()), settings, pool)


@pytest.fixture
def postgres_dsn(postgres_server: Postgres, database_with_tables: str) -> Iterator[str]:
    """The DSN of a database with empty tables, this test's own."""
    dsn = postgres_server.fresh_database(like=database_with_tables)
    yield dsn
    postgres_server.forget_database(dsn)
