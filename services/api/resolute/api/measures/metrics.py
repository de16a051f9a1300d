"""The store of metrics: what trials report, by trial, kind, step and run.

A restarted trial repeats the steps after its last checkpoint; of a step reported by several runs, readers are shown
the latest run's.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg
import orjson

from resolute.api import wire
from resolute.api.database import outages
from resolute.api.measures.curves import LONG
from resolute.api.measures.group_writer import GroupWriter
from resolute.api.metrics.queries import GROUPS, stored
from resolute.api.metrics.queries import Stored as Stored


@dataclass(frozen=True, slots=True)
class MetricRow:
    trial_id: int
    run_id: int
    kind: str
    steps: int
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    reported_at: datetime


ColumnSummaries = dict[str, dict[str, Any]]
"""By the metric's name."""


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """What a trial's metrics say in short."""

    total_batches: int = 0
    latest: Stored | None = None
    best: Stored | None = None
    progress: float | None = None
    runner_state: str = ""
    metadata: dict[str, Any] | None = None
    """As a release kept them that did not record them in the log; see `earlier_rows.py`."""


INSERT = """
INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, batch_metrics, reported_at)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::jsonb[], $6::jsonb[], $7::timestamptz[])
ON CONFLICT DO NOTHING
"""

# What is known of a machine stays as it is, and what else the report has is added.
MERGE = """
INSERT INTO measures.metrics AS m (trial_id, run_id, kind, steps, metrics, batch_metrics, reported_at)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::jsonb[], $6::jsonb[], $7::timestamptz[])
ON CONFLICT (trial_id, kind, steps, run_id) DO UPDATE SET metrics = (
    SELECT jsonb_object_agg(coalesce(known.key, added.key), CASE
        WHEN jsonb_typeof(known.value) = 'object' AND jsonb_typeof(added.value) = 'object'
        THEN added.value || known.value ELSE coalesce(known.value, added.value) END)
    FROM jsonb_each(m.metrics) AS known FULL JOIN jsonb_each(EXCLUDED.metrics) AS added ON known.key = added.key)
WHERE NOT m.metrics @> EXCLUDED.metrics
"""

# By trial, the last step of either kind, found at the end of its index.
TOTAL_BATCHES = """
SELECT t.trial_id, max(m.steps) AS steps
FROM unnest($1::bigint[]) AS t (trial_id), unnest(ARRAY['training', 'validation']) AS k (kind), LATERAL (
    SELECT steps FROM measures.metrics WHERE trial_id = t.trial_id AND kind = k.kind ORDER BY steps DESC LIMIT 1) m
GROUP BY t.trial_id
"""

LATEST_VALIDATION = """
SELECT t.trial_id AS wanted, m.* FROM unnest($1::bigint[]) AS t (trial_id), LATERAL (
    SELECT id, trial_id, run_id, kind, steps, metrics, reported_at FROM measures.metrics
    WHERE trial_id = t.trial_id AND kind = 'validation' ORDER BY steps DESC, run_id DESC LIMIT 1) m
"""

BEST_VALIDATION = """
SELECT t.trial_id AS wanted, m.* FROM unnest($1::bigint[]) AS t (trial_id), LATERAL (
    SELECT id, trial_id, run_id, kind, steps, metrics, reported_at FROM measures.metrics
    WHERE trial_id = t.trial_id AND kind = 'validation' AND jsonb_typeof(metrics -> $2) = 'number'
    ORDER BY (metrics ->> $2)::double precision * $3, steps, run_id DESC LIMIT 1) m
"""

NOTES = "SELECT trial_id, progress, runner_state, metadata FROM measures.trial_notes WHERE trial_id = ANY($1::bigint[])"

DELETE_SOME = """DELETE FROM measures.metrics WHERE trial_id = $1 AND (kind, steps, run_id) IN (
    SELECT kind, steps, run_id FROM measures.metrics WHERE trial_id = $1 LIMIT $2)"""

NOTE = """
INSERT INTO measures.trial_notes (trial_id, progress, runner_state) VALUES ($1, $2, $3)
ON CONFLICT (trial_id) DO UPDATE SET
    progress = coalesce(EXCLUDED.progress, measures.trial_notes.progress),
    runner_state = coalesce(EXCLUDED.runner_state, measures.trial_notes.runner_state)
"""

COLUMNS = """
SELECT name, count(*) AS count, sum(value) AS sum, min(value) AS min, max(value) AS max,
       (max(ARRAY[steps::double precision, value]))[2] AS last
FROM (SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
      WHERE trial_id = $1 AND kind = $2 ORDER BY steps, run_id DESC) m,
     LATERAL (SELECT key AS name, CASE WHEN jsonb_typeof(val) = 'number' THEN val::double precision END AS value
              FROM jsonb_each(m.metrics) AS e (key, val)) v
WHERE value IS NOT NULL GROUP BY name ORDER BY name
"""

# The same as it was added up when the reports came in, of a group that is long; none while it has to be made again.
LONG_COLUMNS = f"""
SELECT name, count, sum, min, max, last FROM measures.summaries
WHERE trial_id = $1 AND kind = $2 AND count > 0
    AND EXISTS (SELECT FROM measures.summaries l WHERE l.trial_id = $1 AND l.kind = $2 AND l.count >= {LONG})
    AND NOT EXISTS (SELECT FROM measures.outdated_summaries o WHERE o.trial_id = $1 AND o.kind = $2)
ORDER BY name
"""

COUNT = "SELECT count(*) FROM measures.metrics WHERE trial_id = $1 AND kind = $2"

SUMMARIES_KEPT = 1_000


class MetricStore:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._writer: GroupWriter[MetricRow] = GroupWriter(self._insert)
        self._summaries: OrderedDict[tuple[int, str], tuple[int, ColumnSummaries]] = OrderedDict()

    async def add(self, rows: Sequence[MetricRow], size_bytes: int = 0) -> None:
        """Durable when it returns; a row that is there already is left as it is. `size_bytes`: of all rows, about."""
        await self._writer.add(rows, size_bytes)

    async def _insert(self, rows: Sequence[MetricRow]) -> None:
        of_machines = [row for row in rows if row.steps < 0 and is_of_machines(row)]
        with outages():
            if not of_machines:
                await self._pool.execute(INSERT, *_columns(rows))
                return
            others = [row for row in rows if not (row.steps < 0 and is_of_machines(row))]
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(INSERT, *_columns(others))
                await connection.execute(MERGE, *_columns(merged(of_machines)))

    async def summaries(
        self, trial_ids: Sequence[int], metric: str, smaller_is_better: bool
    ) -> dict[int, TrialSummary]:
        """For each trial: batches done, its latest validation, and its best by `metric`."""
        ids = list(trial_ids)
        with outages():
            async with self._pool.acquire() as connection:
                totals = {r["trial_id"]: r["steps"] for r in await connection.fetch(TOTAL_BATCHES, ids)}
                latest = {r["wanted"]: stored(r) for r in await connection.fetch(LATEST_VALIDATION, ids)}
                sign = 1.0 if smaller_is_better else -1.0
                best = {r["wanted"]: stored(r) for r in await connection.fetch(BEST_VALIDATION, ids, metric, sign)}
                notes = {r["trial_id"]: r for r in await connection.fetch(NOTES, ids)}
        return {
            trial: TrialSummary(
                total_batches=totals.get(trial, 0),
                latest=latest.get(trial),
                best=best.get(trial),
                progress=notes[trial]["progress"] if trial in notes else None,
                runner_state=(notes[trial]["runner_state"] or "") if trial in notes else "",
                metadata=_loads(notes[trial]["metadata"]) if trial in notes else None,
            )
            for trial in ids
        }

    async def columns(self, trial_id: int) -> dict[str, ColumnSummaries]:
        """The trial's `summaryMetrics`: by group, then by name: count, sum, min, max and last."""
        summary: dict[str, ColumnSummaries] = {}
        with outages():
            kinds = [row["kind"] for row in await self._pool.fetch(GROUPS, trial_id)]
        for kind in kinds:
            group = {"training": "avg_metrics", "validation": "validation_metrics"}.get(kind, kind)
            summary[group] = await self._columns_of(trial_id, kind)
        return summary

    async def _columns_of(self, trial_id: int, kind: str) -> ColumnSummaries:
        """Rows are never changed, so as long as there are as many as before, they come to the same. Long groups have
        their summary kept, and it is a moment old."""
        with outages():
            if kept := await self._pool.fetch(LONG_COLUMNS, trial_id, kind):
                return {row["name"]: _summary(row) for row in kept}
            count = await self._pool.fetchval(COUNT, trial_id, kind)
            known = self._summaries.get((trial_id, kind))
            if known is not None and known[0] == count:
                return known[1]
            rows = await self._pool.fetch(COLUMNS, trial_id, kind)
        found = {row["name"]: _summary(row) for row in rows}
        self._summaries[trial_id, kind] = (count, found)
        self._summaries.move_to_end((trial_id, kind))
        if len(self._summaries) > SUMMARIES_KEPT:
            self._summaries.popitem(last=False)
        return found

    async def note(self, trial_id: int, *, progress: float | None = None, runner_state: str | None = None) -> None:
        """Keep what a trial says of itself; what is left out stays as it was."""
        with outages():
            await self._pool.execute(NOTE, trial_id, progress, runner_state)

    async def delete_some(self, trial_id: int, limit: int) -> int:
        """Delete up to `limit` of the trial's reports, whose experiment was deleted; answers how many went."""
        with outages():
            await self._pool.execute("DELETE FROM measures.trial_notes WHERE trial_id = $1", trial_id)
            await self._pool.execute("DELETE FROM measures.heartbeats WHERE trial_id = $1", trial_id)
            await self._pool.execute("DELETE FROM measures.uncounted_reports WHERE trial_id = $1", trial_id)
            await self._pool.execute("DELETE FROM measures.summaries WHERE trial_id = $1", trial_id)
            await self._pool.execute("DELETE FROM measures.curves WHERE trial_id = $1", trial_id)
            await self._pool.execute("DELETE FROM measures.stretches WHERE trial_id = $1", trial_id)
            status: str = await self._pool.execute(DELETE_SOME, trial_id, limit)
        return int(status.split()[-1])


def _columns(rows: Sequence[MetricRow]) -> tuple[list[Any], ...]:
    return (
        [row.trial_id for row in rows],
        [row.run_id for row in rows],
        [row.kind for row in rows],
        [row.steps for row in rows],
        [json_text(row.metrics) for row in rows],
        [None if row.batch_metrics is None else json_text(row.batch_metrics) for row in rows],
        [row.reported_at for row in rows],
    )


def is_of_machines(row: MetricRow) -> bool:
    """Whether the report holds metrics by machine, as system metrics do."""
    return bool(row.metrics) and all(isinstance(value, dict) for value in row.metrics.values())


def merged(rows: Sequence[MetricRow]) -> list[MetricRow]:
    """The reports of several machines in the same second as one report. Of a value that is there twice the first
    counts."""
    found: dict[tuple[int, str, int, int], MetricRow] = {}
    for row in rows:
        key = row.trial_id, row.kind, row.steps, row.run_id
        known = found.get(key)
        found[key] = row if known is None else replace(known, metrics=_together(known.metrics, row.metrics))
    return [found[key] for key in sorted(found)]


def _together(known: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    return {name: {**added.get(name, {}), **known.get(name, {})} for name in {**known, **added}}


def _summary(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "count": row["count"],
        "sum": row["sum"],
        "min": row["min"],
        "max": row["max"],
        "mean": row["sum"] / row["count"],
        "last": row["last"],
        "type": "number",
    }


def _loads(document: Any) -> Any:
    return orjson.loads(document) if isinstance(document, str) else document


def json_text(value: Any) -> str:
    """JSON as jsonb can hold it: with the three numbers it lacks as strings, which is how the wire writes them."""
    text = orjson.dumps(value).decode()
    if "null" in text:  # what orjson makes of NaN; few documents have one, and only those are walked
        text = orjson.dumps(wire.finite(value)).decode()
    return _NUL.sub(r"\1\\ufffd", text) if r"\u0000" in text else text


_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""The character that Postgres' text cannot hold, as JSON escapes it; not a backslash that u0000 follows."""
