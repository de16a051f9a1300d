"""Makes the summaries of trials again whose runs repeated steps: of each step, only the latest run's report counts.

All other reports are added to the summaries as they are stored, by a trigger of the table of metrics. Reports that were
there before the table of summaries are noted by `note_earlier`, page by page, and summarised in the same way.

A summary is computed from one snapshot of the database, without locks, so that reports go on coming. Then its rows are
locked for a moment. If none of them changed since the snapshot, they are replaced; else the group is tried again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
import structlog

from resolute.api.database import outages
from resolute.proto.errors import Unavailable

log_ = structlog.get_logger()

LOOK_EVERY_S = 1.0

SHARE = 0.1
"""Of the time, at most so much is spent on making summaries again: a trial that repeats many steps has them made again
many times."""

LEASE = timedelta(hours=1)
"""So long a group is left to the gateway that took it, in case that gateway dies."""
FAILED = timedelta(minutes=10)
"""So long a group is left alone that could not be summarised."""
CHANGED = timedelta(seconds=5)
"""So long a group is left alone that got reports while it was summarised."""
COMPUTE_S = LEASE.total_seconds() / 2
"""The limit for reading all reports of one group."""

PAGE = 500
"""Groups of earlier reports that are noted at a time."""

TAKE = """UPDATE measures.outdated_summaries SET not_before = now() + $1 WHERE (trial_id, kind) IN (
    SELECT trial_id, kind FROM measures.outdated_summaries WHERE not_before <= now()
    ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING trial_id, kind"""

PUT_OFF = "UPDATE measures.outdated_summaries SET not_before = now() + $3 WHERE trial_id = $1 AND kind = $2"

DONE = "DELETE FROM measures.outdated_summaries WHERE trial_id = $1 AND kind = $2"

# Each change of a row makes another version of it, which has another xmin.
VERSIONS = "SELECT name, xmin::text AS version FROM measures.summaries WHERE trial_id = $1 AND kind = $2"

LOCK = f"{VERSIONS} ORDER BY name FOR UPDATE"

COMPUTE = """SELECT m.name, count(m.number) AS count,
    coalesce(sum(least(greatest(m.number, -1e290), 1e290)), 0) AS sum, min(m.number) AS min, max(m.number) AS max,
    (max(ARRAY[r.steps::double precision, m.number]) FILTER (WHERE m.number IS NOT NULL))[2] AS last,
    max(r.steps) FILTER (WHERE m.number IS NOT NULL) AS last_steps,
    (max(ARRAY[lpad((r.steps::bigint + 2147483648)::text, 10, '0'), m.words])
        FILTER (WHERE m.words IS NOT NULL))[2] AS last_text,
    max(r.steps) FILTER (WHERE m.words IS NOT NULL) AS last_text_steps
FROM (SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
      WHERE trial_id = $1 AND kind = $2 ORDER BY steps, run_id DESC) r,
    LATERAL measures.metrics_of(r.metrics) m
WHERE (m.number IS NOT NULL OR m.words IS NOT NULL) AND octet_length($2) <= 1000
GROUP BY m.name ORDER BY m.name"""

REMOVE = "DELETE FROM measures.summaries WHERE trial_id = $1 AND kind = $2 AND NOT name = ANY($3::text[])"

PUT = """INSERT INTO measures.summaries AS s
    (trial_id, kind, name, count, sum, min, max, last, last_steps, last_text, last_text_steps)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (kind, name, trial_id) DO UPDATE SET """

# In place of a row that is locked.
REPLACE = f"""{PUT} count = EXCLUDED.count, sum = EXCLUDED.sum, min = EXCLUDED.min, max = EXCLUDED.max,
    last = EXCLUDED.last, last_steps = EXCLUDED.last_steps,
    last_text = EXCLUDED.last_text, last_text_steps = EXCLUDED.last_text_steps"""

# Of a name that had no row yet: one that is there by now has the reports that came since the snapshot.
ADD = f"""{PUT} count = s.count + EXCLUDED.count,
    sum = least(greatest(s.sum + EXCLUDED.sum, -1e300), 1e300),
    min = least(s.min, EXCLUDED.min), max = greatest(s.max, EXCLUDED.max),
    last = CASE WHEN s.last_steps >= EXCLUDED.last_steps THEN s.last ELSE coalesce(EXCLUDED.last, s.last) END,
    last_steps = greatest(s.last_steps, EXCLUDED.last_steps),
    last_text = CASE WHEN s.last_text_steps >= EXCLUDED.last_text_steps THEN s.last_text
                     ELSE coalesce(EXCLUDED.last_text, s.last_text) END,
    last_text_steps = greatest(s.last_text_steps, EXCLUDED.last_text_steps)"""

# The groups of a page, found from each to the next one in the index.
EARLIER = """WITH RECURSIVE noted AS (
    SELECT trial_id, kind, 0 AS place FROM measures.summaries_to_note
    UNION ALL
    SELECT n.trial_id, n.kind, g.place + 1 FROM noted g, LATERAL (
        SELECT m.trial_id, m.kind FROM measures.metrics m WHERE (m.trial_id, m.kind) > (g.trial_id, g.kind)
        ORDER BY m.trial_id, m.kind LIMIT 1) n WHERE g.place < $1)
SELECT trial_id, kind FROM noted WHERE place > 0 ORDER BY place"""

NOTE = """INSERT INTO measures.outdated_summaries (trial_id, kind)
SELECT * FROM unnest($1::bigint[], $2::text[]) ORDER BY 1, 2 ON CONFLICT DO NOTHING"""


@dataclass(frozen=True, slots=True)
class Group:
    trial_id: int
    kind: str


async def keep_summaries(pool: asyncpg.Pool) -> None:
    """Make again what is outdated, until cancelled."""
    while True:
        try:
            more = await note_earlier(pool)
            await remake_outdated(pool)
        except Unavailable as error:
            more = False
            log_.info("making summaries of metrics again waits", why=error.message)
        if not more:
            await asyncio.sleep(LOOK_EVERY_S)


async def note_earlier(pool: asyncpg.Pool) -> bool:
    """Note a page of the groups that were there before the table of summaries. False once all are noted."""
    with outages():
        async with pool.acquire() as connection, connection.transaction():
            if await connection.fetchrow("SELECT FROM measures.summaries_to_note FOR UPDATE SKIP LOCKED") is None:
                return False
            page = await connection.fetch(EARLIER, PAGE)
            if not page:
                await connection.execute("DELETE FROM measures.summaries_to_note")
                return False
            await connection.execute(NOTE, [row["trial_id"] for row in page], [row["kind"] for row in page])
            last = page[-1]
            move = "UPDATE measures.summaries_to_note SET trial_id = $1, kind = $2"
            await connection.execute(move, last["trial_id"], last["kind"])
            return True


async def remake_outdated(pool: asyncpg.Pool) -> None:
    """Make all those again whose turn it is, with rests."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while await remake_one(pool):
        took_s = loop.time() - began
        await asyncio.sleep(took_s * (1 - SHARE) / SHARE)
        began = loop.time()


async def remake_one(pool: asyncpg.Pool) -> bool:
    """Whether there was one whose turn it was, and that no other gateway is making."""
    with outages():
        taken = await pool.fetchrow(TAKE, LEASE)
    if taken is None:
        return False
    group = Group(taken["trial_id"], taken["kind"])
    try:
        with outages():
            replaced = await _remake(pool, group)
        again_in = CHANGED
    except Exception as error:  # noqa: BLE001  (one group that cannot be summarised must not keep the others waiting)
        log_.warning("a summary cannot be made", trial_id=group.trial_id, group=group.kind, why=repr(error))
        replaced, again_in = False, FAILED
    if not replaced:
        with outages():
            await pool.execute(PUT_OFF, group.trial_id, group.kind, again_in)
    return True


async def _remake(pool: asyncpg.Pool, group: Group) -> bool:
    """False where a report came meanwhile."""
    key = group.trial_id, group.kind
    async with pool.acquire() as connection:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            before = {row["name"]: row["version"] for row in await connection.fetch(VERSIONS, *key)}
            made = await connection.fetch(COMPUTE, *key, timeout=COMPUTE_S)
        async with connection.transaction():
            locked = {row["name"]: row["version"] for row in await connection.fetch(LOCK, *key)}
            if locked != before:
                return False
            await _write(connection, group, made, before.keys())
            await connection.execute(DONE, *key)
            return True


async def _write(
    connection: asyncpg.Connection, group: Group, made: Sequence[asyncpg.Record], known: Iterable[str]
) -> None:
    await connection.execute(REMOVE, group.trial_id, group.kind, [row["name"] for row in made])
    known = frozenset(known)
    for statement, rows in (
        (REPLACE, [row for row in made if row["name"] in known]),
        (ADD, [row for row in made if row["name"] not in known]),
    ):
        await connection.executemany(statement, [(group.trial_id, group.kind, *row) for row in rows])
