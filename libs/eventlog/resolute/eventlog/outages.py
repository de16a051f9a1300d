"""What an error of Postgres means: an outage, which is waited out, or a value that the database cannot hold, which is
the caller's mistake. One function decides, for the log and for the gateway alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable

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


VALUES: tuple[type[BaseException], ...] = (
    asyncpg.DataError,  # out of range, an invalid byte sequence, NUL in a text, a broken regular expression
    asyncpg.ProgramLimitExceededError,  # an index row that is too large, a statement that is too complex
)


def is_about_a_value(error: BaseException) -> bool:
    """Whether Postgres, or asyncpg before it sent anything, refused a value that a statement was given."""
    # asyncpg's own DataError (a value that does not fit its column's type) is an InterfaceError, as a closed
    # connection is; that it is a ValueError too tells them apart.
    return isinstance(error, VALUES) or (isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError))


def classified(error: BaseException) -> ResoluteError | None:
    """InvalidConfig for a value that the database cannot hold, Unavailable for an outage; None for a bug."""
    if is_about_a_value(error):
        return InvalidConfig(f"a value is not one that the database can hold or look for: {error}")
    if isinstance(error, asyncpg.ClientConfigurationError | asyncpg.UnsupportedClientFeatureError):
        return None  # subclasses of InterfaceError, but waiting does not help
    if isinstance(error, OUTAGES):
        return Unavailable(f"the database is away: {type(error).__name__}: {error}")
    return None


async def patiently(work: Callable[[], Awaitable[T]], patience_s: float, attempt_s: float) -> T:
    """Returns the result of `work`. During an outage `work` is tried again, with growing pauses, for `patience_s`.

    An attempt is cancelled after `attempt_s`. Only for work that may be done twice. Raises Unavailable when the outage
    lasts longer, and InvalidConfig at once for a value that the database cannot hold.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    pause_s = 0.02
    while True:
        try:
            async with asyncio.timeout(attempt_s):
                return await work()
        except Exception as error:
            meant = classified(error)
            if meant is None:
                raise
            if not isinstance(meant, Unavailable) or loop.time() + pause_s > deadline:
                raise meant from error
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, 1.0)
