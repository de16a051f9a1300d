"""Growing the tables of one slice anew beside those that answers come from, which they then replace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import structlog

from resolute.api.kernel.feed import Feed, caught_up, known_errors
from resolute.api.kernel.tables import SliceTables
from resolute.eventlog import EventLog

log_ = structlog.get_logger()

LOCK = 0x7265_6164  # "read": one gateway makes schemas, or grows the tables in one, while the others wait

TRY_ALONE = "SELECT pg_try_advisory_lock($1, hashtext($2))"

PAGE = 2_000

ANEW = "_anew"

LOCK_TIMEOUT_MS = 200

TRY_EVERY_S = 0.2

SETTLE = "UPDATE {schema}.progress SET position = position"


@asynccontextmanager
async def alone(pool: asyncpg.Pool, works: Sequence[str]) -> AsyncIterator[list[str]]:
    """Yields those of the named works that no other process does. The locks are released when the context is left."""
    with known_errors():
        async with pool.acquire() as connection:
            try:
                yield [work for work in works if await connection.fetchval(TRY_ALONE, LOCK, work)]
            finally:
                connection.terminate()


async def settle(pool: asyncpg.Pool, tables: SliceTables) -> None:
    """Make durable all that was shown so far, and let the database learn how large the tables have become."""
    with known_errors():
        await pool.execute(SETTLE.format(schema=tables.schema))
        for table in tables.projection.tables:
            await pool.execute(f"ANALYZE {tables.schema}.{table.name}")


async def regrown(
    pool: asyncpg.Pool, log: EventLog, tables: SliceTables, asked: Sequence[int], turn: asyncio.Lock
) -> None:
    """Show events that were set aside and are asked for again. `turn`: whoever holds it may write to the tables."""
    async with alone(pool, [f"{tables.schema} again"]) as mine:
        if not mine:
            return
        suffix = tables.schema.removeprefix(tables.projection.schema) + ANEW
        anew = SliceTables(tables.projection, suffix, tables.asides)
        await _made(pool, anew)
        feed = Feed(pool, log, [anew], growing=True)
        await caught_up(feed, log, await log.head(), PAGE, asyncio.Lock())
        await settle(pool, anew)
        await _replaced(pool, log, tables, anew, feed, turn)
        for position in set(asked) - anew.refused:
            await log.settle(tables.asides, position)
        log_.info("the tables of a slice were grown anew", schema=tables.schema, asked_for=list(asked))


async def _made(pool: asyncpg.Pool, anew: SliceTables) -> None:
    with known_errors():
        await pool.execute(f"DROP SCHEMA IF EXISTS {anew.schema} CASCADE")
        await pool.execute(anew.ddl())
        anew.grown = await pool.fetchval(f"SELECT grown::text FROM {anew.schema}.progress")
    anew.forget()


async def _replaced(
    pool: asyncpg.Pool, log: EventLog, tables: SliceTables, anew: SliceTables, feed: Feed, turn: asyncio.Lock
) -> None:
    """Put the new tables in the place of the others, as soon as nobody uses those for a moment.

    Whoever asks for a lock on tables makes all later readers wait behind it. So it is asked for briefly and for all
    tables at once, and again after a pause: a backup may read them for an hour.
    """
    while True:
        await caught_up(feed, log, await log.head(), PAGE, asyncio.Lock())
        async with turn:
            if await _swapped(pool, tables, anew):
                tables.position, tables.grown = anew.position, anew.grown
                tables.forget()
                return
        await asyncio.sleep(TRY_EVERY_S)


async def _swapped(pool: asyncpg.Pool, tables: SliceTables, anew: SliceTables) -> bool:
    """Whether the new tables have taken the place of the others: not while those are in use, or show more."""
    names = ", ".join(
        f"{tables.schema}.{name}" for name in ("progress", *(one.name for one in tables.projection.tables))
    )
    with known_errors():
        async with pool.acquire() as connection:
            try:
                async with connection.transaction():
                    await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_MS}ms'")
                    await connection.execute(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
                    shown: int = await connection.fetchval(f"SELECT position FROM {tables.schema}.progress")
                    if shown > anew.position:
                        return False
                    await connection.execute(f"DROP SCHEMA {tables.schema} CASCADE")
                    await connection.execute(f"ALTER SCHEMA {anew.schema} RENAME TO {tables.schema}")
            except asyncpg.LockNotAvailableError:
                return False
    return True
