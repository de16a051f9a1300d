"""Keeps long curves in stretches: of each metric the lowest and the highest value of a hundred reports.

A chart of a thousand points needs the extremes of a thousand parts of the curve. With stretches it reads these, and of
the reports only those that came after the last stretch (`metrics/queries.py`).

A group of a trial gets a row in `measures.curves` once it is long (`note_long`), and `extend_one` makes stretches of
its reports in order. A report of a step that is in a stretch already removes the stretches from there on, by a trigger
of the table of metrics. The trigger and `extend_one` lock the row of the curve, so that no report is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import asyncpg
import structlog

from resolute.api.database import outages

log_ = structlog.get_logger()

LONG = 20_000
"""Reports of a group, from which on its curve is kept in stretches. Fewer are read quickly enough."""

STRETCH = 100
"""Reports in a stretch."""

AT_ONCE = 5_000
"""Reports that one transaction makes stretches of. The trial's next reports wait for so long, some 50 ms."""

RESTED = timedelta(minutes=1)
"""A curve is begun so long after it was noted: a report whose transaction began before that did not see the note."""

NOTE = f"""INSERT INTO measures.curves AS c (trial_id, kind)
SELECT g.trial_id, g.kind FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::text[]) AS g (trial_id, kind)) g
WHERE EXISTS (SELECT FROM measures.summaries s
              WHERE s.trial_id = g.trial_id AND s.kind = g.kind AND s.count >= {LONG})
ORDER BY 1, 2 ON CONFLICT (trial_id, kind) DO UPDATE SET behind = true WHERE NOT c.behind"""

NEXT = """SELECT trial_id, kind FROM measures.curves WHERE behind AND since <= now() - $1::interval
ORDER BY since LIMIT 1"""

LOCK = "SELECT upto FROM measures.curves WHERE trial_id = $1 AND kind = $2 FOR UPDATE"

# Of each step the latest run's report. What is left after the last whole stretch waits for further reports.
EXTEND = f"""WITH latest AS MATERIALIZED (
    SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
    WHERE trial_id = $1 AND kind = $2 AND steps > $3 ORDER BY steps, run_id DESC LIMIT {AT_ONCE}),
placed AS (SELECT steps, metrics, (row_number() OVER (ORDER BY steps) - 1) / {STRETCH} AS part FROM latest),
parts AS (SELECT part, min(steps) AS first, max(steps) AS last FROM placed GROUP BY part HAVING count(*) = {STRETCH}),
numbers AS (
    SELECT p.first, p.last, l.steps, name, value::text::float8 AS value
    FROM placed l JOIN parts p USING (part), jsonb_each(l.metrics) AS each (name, value)
    WHERE jsonb_typeof(value) = 'number' AND octet_length(name) <= 1000),
made AS (
    INSERT INTO measures.stretches (trial_id, kind, name, first, last, reports, low, low_steps, high, high_steps)
    SELECT $1, $2, name, first, last, count(*), min(value), (min(ARRAY[value, steps]))[2],
        max(value), -(max(ARRAY[value, -steps]))[2]
    FROM numbers GROUP BY name, first, last)
SELECT max(last) FROM parts"""

EXTENDED = """UPDATE measures.curves SET upto = coalesce($3, upto), behind = $4, since = now() - $5::interval
WHERE trial_id = $1 AND kind = $2"""

FORGET = "DELETE FROM measures.curves WHERE trial_id = $1 AND kind = $2"


async def note_long(connection: asyncpg.Connection, groups: Sequence[tuple[int, str]]) -> None:
    """Note those of these groups that are long: they have reports that are in no stretch yet."""
    await connection.execute(NOTE, [trial_id for trial_id, _ in groups], [kind for _, kind in groups])


async def extend_one(pool: asyncpg.Pool, rested: timedelta = RESTED) -> bool:
    """Make stretches of some reports of one curve. False where none has any."""
    with outages():
        async with pool.acquire() as connection:
            found = await connection.fetchrow(NEXT, rested)
            if found is None:
                return False
            try:
                await _extend(connection, found["trial_id"], found["kind"], rested)
            except asyncpg.DataError as error:  # a number is too large: charts read the reports, as of short curves
                log_.warning("a curve cannot be kept", trial_id=found["trial_id"], group=found["kind"], why=repr(error))
                await connection.execute(EXTENDED, found["trial_id"], found["kind"], None, False, rested)
            return True


async def _extend(connection: asyncpg.Connection, trial_id: int, kind: str, rested: timedelta) -> None:
    async with connection.transaction():
        row = await connection.fetchrow(LOCK, trial_id, kind)
        if row is None:
            return  # the trial was deleted meanwhile
        upto = await connection.fetchval(EXTEND, trial_id, kind, row["upto"])
        await connection.execute(EXTENDED, trial_id, kind, upto, upto is not None, rested)
