"""Keeps the summaries of metrics: counts new reports, and makes again what a repeated step has outdated.

Reports of validations are counted in the transaction that stores them, by a trigger of the table of metrics. Of all
other groups, which trials report far more often, that transaction only notes which reports came, in
`measures.uncounted_reports`. `count_new` adds many of these to the summaries at once, a moment later.

Of a step that several runs of a trial reported, only the latest run's report counts. The trigger notes such groups as
outdated, and `remake_one` computes their summaries again from all reports. Reports that were there before the table of
summaries are noted by `note_earlier`, page by page, and summarised in the same way.

A summary is computed from one snapshot of the database, without locks, so that reports go on coming. Then the notes of
uncounted reports that the snapshot had are removed, and the rows of the summary are locked for a moment. If none of
these changed since the snapshot, the rows are replaced; else the group is tried again later.

Everyone takes locks in one order: uncounted reports, summaries, outdated summaries, curves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
import structlog

from resolute.api.database import outages
from resolute.api.measures.curves import extend_one, note_long
from resolute.proto.errors import Unavailable

log_ = structlog.get_logger()

LOOK_EVERY_S = 1.0

COUNTED = 200
"""Rows of uncounted reports that are counted in one transaction. Each names what one statement stored of a group."""

SHARE_OF_COUNTING = 0.2
"""Of the time, at most so much is spent on counting. Reports that come faster wait, and are counted afterwards."""

SHARE_OF_REMAKING = 0.1
"""Of the time, at most so much is spent on making summaries again: a trial that repeats many steps has them made again
many times."""

SHARE_OF_CURVES = 0.1
"""Of the time, at most so much is spent on the stretches of long curves."""

SHARE_OF_NOTING = 0.5

FAILED_REST_S = 10.0
"""The rest after an error that is no outage of the database."""

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

UNCOUNTED = "SELECT id, trial_id, kind FROM measures.uncounted_reports ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED"

TAKE = """UPDATE measures.outdated_summaries SET not_before = now() + $1 WHERE (trial_id, kind) IN (
    SELECT trial_id, kind FROM measures.outdated_summaries WHERE not_before <= now()
    ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING trial_id, kind"""

PUT_OFF = "UPDATE measures.outdated_summaries SET not_before = now() + $3 WHERE trial_id = $1 AND kind = $2"

DONE = "DELETE FROM measures.outdated_summaries WHERE trial_id = $1 AND kind = $2"

# Each change of a row makes another version of it, which has another xmin.
VERSIONS = "SELECT name, xmin::text AS version FROM measures.summaries WHERE trial_id = $1 AND kind = $2"

UNCOUNTED_OF_GROUP = "SELECT id FROM measures.uncounted_reports WHERE trial_id = $1 AND kind = $2"

REMOVE_UNCOUNTED = "DELETE FROM measures.uncounted_reports WHERE id = ANY($1::bigint[])"

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


class Changed(Exception):
    """Reports of the group were counted while its summary was computed."""


async def keep_summaries(pool: asyncpg.Pool) -> None:
    """Count what is reported and make again what is outdated, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_with_rests(count_new, pool, SHARE_OF_COUNTING))
        tasks.create_task(_with_rests(note_earlier, pool, SHARE_OF_NOTING))
        tasks.create_task(_with_rests(remake_one, pool, SHARE_OF_REMAKING))
        tasks.create_task(_with_rests(extend_one, pool, SHARE_OF_CURVES))


async def _with_rests(work: Callable[[asyncpg.Pool], Awaitable[bool]], pool: asyncpg.Pool, share: float) -> None:
    """Do `work`, which answers whether there was any, again and again, for at most `share` of the time."""
    loop = asyncio.get_running_loop()
    while True:
        began = loop.time()
        try:
            worked = await work(pool)
        except Unavailable as error:
            log_.info("keeping summaries of metrics waits", work=work.__name__, why=error.message)
            rest_s = LOOK_EVERY_S
        except Exception as error:  # noqa: BLE001  (a gateway must not end because a summary is late)
            log_.warning("keeping summaries of metrics failed", work=work.__name__, why=repr(error))
            rest_s = FAILED_REST_S
        else:
            rest_s = (loop.time() - began) * (1 - share) / share if worked else LOOK_EVERY_S
        await asyncio.sleep(rest_s)


async def count_new(pool: asyncpg.Pool) -> bool:
    """Count some reports that no summary counts yet. False where there are none that no other gateway is counting."""
    with outages():
        async with pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(UNCOUNTED, COUNTED)
            if rows:
                await connection.execute("SELECT measures.count_reports($1::bigint[])", [row["id"] for row in rows])
                await note_long(connection, [(row["trial_id"], row["kind"]) for row in rows])
    return bool(rows)


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


async def remake_one(pool: asyncpg.Pool) -> bool:
    """Whether there was one whose turn it was, and that no other gateway is making."""
    with outages():
        taken = await pool.fetchrow(TAKE, LEASE)
    if taken is None:
        return False
    group = Group(taken["trial_id"], taken["kind"])
    try:
        with outages():
            await _remake(pool, group)
    except Exception as error:  # noqa: BLE001  (one group that cannot be summarised must not keep the others waiting)
        if not isinstance(error, Changed):
            log_.warning("a summary cannot be made", trial_id=group.trial_id, group=group.kind, why=repr(error))
        again_in = CHANGED if isinstance(error, Changed) else FAILED
        with outages():
            await pool.execute(PUT_OFF, group.trial_id, group.kind, again_in)
    return True


async def _remake(pool: asyncpg.Pool, group: Group) -> None:
    """Raises Changed; nothing is written then."""
    key = group.trial_id, group.kind
    async with pool.acquire() as connection:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            uncounted = [row["id"] for row in await connection.fetch(UNCOUNTED_OF_GROUP, *key)]
            before = {row["name"]: row["version"] for row in await connection.fetch(VERSIONS, *key)}
            made = await connection.fetch(COMPUTE, *key, timeout=COMPUTE_S)
        async with connection.transaction():
            removed: str = await connection.execute(REMOVE_UNCOUNTED, uncounted)
            if int(removed.split()[-1]) != len(uncounted):
                raise Changed
            locked = {row["name"]: row["version"] for row in await connection.fetch(LOCK, *key)}
            if locked != before:
                raise Changed
            await _write(connection, group, made, before.keys())
            await connection.execute(DONE, *key)


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
