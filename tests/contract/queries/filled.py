"""Tables filled with the same rows, in memory and in Postgres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import asyncpg

from resolute.api.kernel.cache import CachedRows, memory_rows
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.kernel.rows import Table
from resolute.api.slices import read_model
from resolute.eventlog import MemoryEventLog

Rows = Mapping[Table[Any], Sequence[Any]]


def in_memory(rows: Rows) -> CachedRows:
    filled = memory_rows(rows)
    for table, of_table in rows.items():
        for row in of_table:
            filled.put(table, row)
    return filled


async def in_postgres(pool: asyncpg.Pool, rows: Rows) -> ReadModel:
    read = read_model(pool, MemoryEventLog())
    await read.prepare()
    for one in read.tables:
        for table in set(rows) & set(one.projection.tables):
            for row in rows[table]:
                one.rows.put(table, row)
        async with pool.acquire() as connection:
            await one.write(connection)
    return read
