"""The two event logs that keep one contract."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from resolute.eventlog import EventLog, MemoryEventLog
from resolute.eventlog.postgres import PostgresEventLog


@pytest.fixture(params=["memory", "postgres"])
async def log(request: pytest.FixtureRequest) -> AsyncIterator[EventLog]:
    opened: EventLog
    if request.param == "memory":
        opened = MemoryEventLog()
    else:
        opened = await PostgresEventLog.open(request.getfixturevalue("postgres_dsn"))
    yield opened
    await opened.close()
