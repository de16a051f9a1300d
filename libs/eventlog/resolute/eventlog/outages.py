"""Outages are weather: what counts as one, and waiting one out with growing patience."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from resolute.proto.errors import Unavailable

T = TypeVar("T")

OUTAGES: tuple[type[BaseException], ...] = (
    OSError,  # includes TimeoutError and every kind of refused or broken connection
    EOFError,
    asyncpg.InterfaceError,  # "connection is closed", "pool is closing"
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidTransactionStateError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,  # disk full, too many connections
    asyncpg.OperatorInterventionError,  # shutdown, crash, still starting, cancelled
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby that is about to be promoted
)


def as_unavailable(error: BaseException) -> Unavailable:
    return Unavailable(f"Postgres is away: {type(error).__name__}: {error}")


async def patiently(work: Callable[[], Awaitable[T]], patience_s: float, attempt_s: float) -> T:
    """What `work` answers; it is tried again through an outage, with growing pauses, for `patience_s`.

    No attempt takes longer than `attempt_s`. Only for work that may be done twice. Raises Unavailable when patience
    ends.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    pause_s = 0.02
    while True:
        try:
            async with asyncio.timeout(attempt_s):
                return await work()
        except OUTAGES as error:
            if isinstance(error, asyncpg.ClientConfigurationError | asyncpg.UnsupportedClientFeatureError):
                raise  # an InterfaceError by birth, though no waiting mends it
            if loop.time() + pause_s > deadline:
                raise as_unavailable(error) from error
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, 1.0)
