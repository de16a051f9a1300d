"""Postgres, as the gateway meets it: a pool, and outages told as outages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from resolute.proto.errors import Unavailable

AWAY = (
    OSError,
    TimeoutError,
    asyncpg.exceptions.PostgresConnectionError,
    asyncpg.exceptions.CannotConnectNowError,
    asyncpg.exceptions.AdminShutdownError,
    asyncpg.exceptions.CrashShutdownError,
    asyncpg.exceptions.TooManyConnectionsError,
    asyncpg.exceptions.InterfaceError,
)


@contextmanager
def outages() -> Iterator[None]:
    """Raises Unavailable for whatever means that the database is away; the statement may or may not have run."""
    try:
        yield
    except AWAY as error:
        raise Unavailable(f"the database is away: {error}") from error
