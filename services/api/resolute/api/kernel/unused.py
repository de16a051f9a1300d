"""Which versions of the slices' tables are in use, and the end of those that are not.

Each gateway notes the schemas that it uses. Gateways of releases that note nothing are known by their work: tables in
use follow the log. Tables that no gateway has used for a while are dropped; they grow again if a gateway of their
version ever comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import structlog

from resolute.api.database import outages
from resolute.api.kernel.regrowth import LOCK

log_ = structlog.get_logger()

IN_USE = """INSERT INTO api.read_models (schema, position, used_at) VALUES ($1, $2, now())
ON CONFLICT (schema) DO UPDATE SET position = EXCLUDED.position, used_at = now()"""

# Before slices had versions of their own, all tables stood in one schema, `read_v4`. Tables that were grown beside
# others are left behind by a process that was killed.
OTHERS = """SELECT nspname FROM pg_namespace
WHERE nspname ~ '^read_([a-z_]+_)?v[0-9]+(_anew|_replay)?$' AND nspname <> ALL($1::text[]) ORDER BY nspname"""

# Tables that have come further, or show all there is, may have a gateway.
LOOKED_AT = """INSERT INTO api.read_models AS known (schema, position, used_at) VALUES ($1, $2, now())
ON CONFLICT (schema) DO UPDATE SET position = EXCLUDED.position, used_at =
    CASE WHEN EXCLUDED.position <> known.position OR EXCLUDED.position >= $3 THEN now() ELSE known.used_at END
RETURNING used_at < now() - $4::interval"""


async def note_use(pool: asyncpg.Pool, schema: str, position: int) -> None:
    """Say that a gateway uses these tables now, which stand at this position."""
    with outages():
        await pool.execute(IN_USE, schema, position)


async def drop_unused(pool: asyncpg.Pool, own: Sequence[str], head: int, unused_for: timedelta) -> list[str]:
    """Drop the tables in schemas other than `own` that no gateway has used for so long; the names of the schemas."""
    with outages():
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            others = [row["nspname"] for row in await connection.fetch(OTHERS, list(own))]
            return [one for one in others if await _dropped(connection, one, head, unused_for)]


async def _dropped(connection: asyncpg.Connection, schema: str, head: int, unused_for: timedelta) -> bool:
    if await connection.fetchval("SELECT to_regclass($1)", f"{schema}.progress") is None:
        return False  # not made by a gateway
    position = await connection.fetchval(f"SELECT position FROM {schema}.progress") or 0
    if not await connection.fetchval(LOOKED_AT, schema, position, head, unused_for):
        return False
    await connection.execute(f"DROP SCHEMA {schema} CASCADE")
    await connection.execute("DELETE FROM api.read_models WHERE schema = $1", schema)
    log_.warning("tables that no gateway uses any more were dropped", schema=schema, unused_days=unused_for.days)
    return True
