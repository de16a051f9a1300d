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

SETTLE = "UPDATE {schema}.progress SET position = position"


@asynccontextmanager
async def alone(pool: asyncpg.Pool, works: Sequence[str]) -> AsyncIterator[list[str]]:
    """Those of these works that this process alone does, while within. The locks go with their connection."""
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
        async with turn:
            await _replaced(pool, log, tables, anew, feed)
        for position in set(asked) - anew.refused:
            await log.settle(tables.asides, position)
        log_.info("the tables of a slice were grown anew", schema=tables.schema, asked_for=list(asked))


async def _made(pool: asyncpg.Pool, anew: SliceTables) -> None:
    with known_errors():
        await pool.execute(f"DROP SCHEMA IF EXISTS {anew.schema} CASCADE")
        await pool.execute(anew.ddl())
        anew.grown = await pool.fetchval(f"SELECT grown::text FROM {anew.schema}.progress")
    anew.forget()


async def _replaced(pool: asyncpg.Pool, log: EventLog, tables: SliceTables, anew: SliceTables, feed: Feed) -> None:
    while True:
        with known_errors():
            async with pool.acquire() as connection, connection.transaction():
                shown: int = await connection.fetchval(f"SELECT position FROM {tables.schema}.progress FOR UPDATE")
                if shown <= anew.position:
                    await connection.execute(f"DROP SCHEMA {tables.schema} CASCADE")
                    await connection.execute(f"ALTER SCHEMA {anew.schema} RENAME TO {tables.schema}")
                    break
        await caught_up(feed, log, shown, PAGE, asyncio.Lock())  # another gateway went on meanwhile
    tables.position, tables.grown = anew.position, anew.grown
    tables.forget()
