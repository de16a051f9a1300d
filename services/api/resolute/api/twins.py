"""Comparing two read models row by row, in Postgres: the one in use, and the one that was grown anew beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from resolute.api.database import outages
from resolute.api.kernel.readmodel import ReadModel
from resolute.proto.errors import Unavailable

ATTEMPTS = 200
PAUSE_S = 0.05
"""Two read models of a running cluster show the same position often, and not always."""

SHOWN_ROWS = 10
"""Differing rows of one table that are named."""

LONGEST_ROW = 200
"""Characters of a row that are named."""

# A row as text has each value as it would be written: what is the same there is the same in every answer.
MISSING = """SELECT row FROM
    (SELECT t::text AS row FROM {one}.{table} t EXCEPT ALL SELECT t::text FROM {other}.{table} t) missing
 ORDER BY row LIMIT $1"""


@dataclass(frozen=True, slots=True)
class TablesDiffer:
    """Rows of one table that the other read model does not have."""

    table: str
    shown: tuple[str, ...]
    rebuilt: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"  shown:   {row[:LONGEST_ROW]}" for row in self.shown]
        lines += [f"  rebuilt: {row[:LONGEST_ROW]}" for row in self.rebuilt]
        return "\n".join([f"rows of {self.table}", *lines])


async def compare_tables(
    pool: asyncpg.Pool, shown: ReadModel, rebuilt: ReadModel, note: Callable[[str, int, int], None]
) -> tuple[int, list[TablesDiffer]]:
    """How many rows the tables in use have, and which tables differ, both as of one position."""
    rows, differing = 0, list[TablesDiffer]()
    with outages():
        async with pool.acquire() as connection, _at_one_position(connection, shown, rebuilt):
            await connection.execute("SET LOCAL work_mem = '128MB'; SET LOCAL jit = off")
            pairs = list(_pairs(shown, rebuilt))
            for place, (table, one, other) in enumerate(pairs):
                note("tables compared", place, len(pairs))
                rows += await connection.fetchval(f"SELECT count(*) FROM {one}.{table}")
                surplus = await _missing(connection, table, one, other)
                lacking = await _missing(connection, table, other, one)
                if surplus or lacking:
                    differing.append(TablesDiffer(table, surplus, lacking))
            note("tables compared", len(pairs), len(pairs))
    return rows, differing


def _pairs(shown: ReadModel, rebuilt: ReadModel) -> Iterator[tuple[str, str, str]]:
    """Each table, with the schemas that it is in."""
    for one, other in zip(shown.tables, rebuilt.tables, strict=True):
        for table in one.projection.tables:
            yield table.name, one.schema, other.schema


async def _missing(connection: asyncpg.Connection, table: str, one: str, other: str) -> tuple[str, ...]:
    sql = MISSING.format(one=one, other=other, table=table)
    return tuple(row for (row,) in await connection.fetch(sql, SHOWN_ROWS, timeout=None))


@asynccontextmanager
async def _at_one_position(connection: asyncpg.Connection, shown: ReadModel, rebuilt: ReadModel) -> AsyncIterator[None]:
    """Within this, the connection sees both read models as they were when they showed the same events."""
    for _ in range(ATTEMPTS):
        await shown.catch_up()
        await rebuilt.reached(shown.shown)
        transaction = connection.transaction(isolation="repeatable_read")
        await transaction.start()
        try:
            if len({*await _positions(connection, shown), *await _positions(connection, rebuilt)}) == 1:
                yield
                return
        finally:
            await transaction.rollback()
        await asyncio.sleep(PAUSE_S)
    raise Unavailable("so many events come that the tables never showed the same position; try when less happens")


async def _positions(connection: asyncpg.Connection, read: ReadModel) -> list[int]:
    return [await connection.fetchval(f"SELECT position FROM {one.schema}.progress") for one in read.tables]
