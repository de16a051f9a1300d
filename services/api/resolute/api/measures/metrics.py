"""The store of metrics: what trials report, by trial, kind, step and run.

A restarted trial repeats the steps after its last checkpoint; of a step reported by several runs, readers are shown
the latest run's.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import orjson

from resolute.api.database import outages
from resolute.api.measures.group_writer import GroupWriter


@dataclass(frozen=True, slots=True)
class MetricRow:
    trial_id: int
    run_id: int
    kind: str
    steps: int
    metrics: dict[str, Any]
    batch_metrics: list[dict[str, Any]] | None
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Stored:
    """A row as it is read back."""

    id: int
    trial_id: int
    run_id: int
    kind: str
    steps: int
    metrics: dict[str, Any]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """What a trial's metrics say in short."""

    total_batches: int = 0
    latest: Stored | None = None
    best: Stored | None = None
    progress: float | None = None
    runner_state: str = ""
    metadata: dict[str, Any] | None = None


INSERT = """
INSERT INTO measures.metrics (trial_id, run_id, kind, steps, metrics, batch_metrics, reported_at)
SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::jsonb[], $6::jsonb[], $7::timestamptz[])
ON CONFLICT DO NOTHING
"""

# Of each step the latest run; by trial, kind and step.
READ = """
SELECT DISTINCT ON (trial_id, steps) id, trial_id, run_id, kind, steps, metrics, reported_at
FROM measures.metrics WHERE trial_id = $1 AND kind = $2 AND steps > $3
ORDER BY trial_id, steps, run_id DESC LIMIT $4
"""

TOTAL_BATCHES = """
SELECT trial_id, max(steps) AS steps FROM measures.metrics
WHERE trial_id = ANY($1::bigint[]) AND kind IN ('training', 'validation') GROUP BY trial_id
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

NOTE = """
INSERT INTO measures.trial_notes (trial_id, progress, runner_state, metadata) VALUES ($1, $2, $3, $4)
ON CONFLICT (trial_id) DO UPDATE SET
    progress = coalesce(EXCLUDED.progress, measures.trial_notes.progress),
    runner_state = coalesce(EXCLUDED.runner_state, measures.trial_notes.runner_state),
    metadata = coalesce(EXCLUDED.metadata, measures.trial_notes.metadata)
"""

COLUMNS = """
SELECT name, count(*) AS count, sum(value) AS sum, min(value) AS min, max(value) AS max,
       (array_agg(value ORDER BY steps DESC))[1] AS last
FROM (SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
      WHERE trial_id = $1 AND kind = $2 ORDER BY steps, run_id DESC) m,
     LATERAL (SELECT key AS name, (val #>> '{}')::double precision AS value
              FROM jsonb_each(m.metrics) AS e (key, val) WHERE jsonb_typeof(val) = 'number') v
GROUP BY name ORDER BY name
"""


class MetricStore:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._writer: GroupWriter[MetricRow] = GroupWriter(self._insert)

    async def add(self, rows: Sequence[MetricRow]) -> None:
        """Durable when it returns; a row that is there already is left as it is."""
        await self._writer.add(rows)

    async def _insert(self, rows: Sequence[MetricRow]) -> None:
        columns = (
            [row.trial_id for row in rows],
            [row.run_id for row in rows],
            [row.kind for row in rows],
            [row.steps for row in rows],
            [_json(row.metrics) for row in rows],
            [None if row.batch_metrics is None else _json(row.batch_metrics) for row in rows],
            [row.reported_at for row in rows],
        )
        with outages():
            await self._pool.execute(INSERT, *columns)

    async def read(self, trial_id: int, kind: str, page: int = 1000) -> AsyncIterator[list[Stored]]:
        """A trial's rows of one kind in order of steps, in pages."""
        after = -1
        while True:
            with outages():
                rows = await self._pool.fetch(READ, trial_id, kind, after, page)
            if rows:
                yield [_stored(row) for row in rows]
                after = rows[-1]["steps"]
            if len(rows) < page:
                return

    async def kinds(self, trial_id: int) -> list[str]:
        with outages():
            rows = await self._pool.fetch(
                "SELECT DISTINCT kind FROM measures.metrics WHERE trial_id = $1 ORDER BY kind", trial_id
            )
        return [row["kind"] for row in rows]

    async def summaries(
        self, trial_ids: Sequence[int], metric: str, smaller_is_better: bool
    ) -> dict[int, TrialSummary]:
        """For each trial: batches done, its latest validation, and its best by `metric`."""
        ids = list(trial_ids)
        with outages():
            async with self._pool.acquire() as connection:
                totals = {r["trial_id"]: r["steps"] for r in await connection.fetch(TOTAL_BATCHES, ids)}
                latest = {r["wanted"]: _stored(r) for r in await connection.fetch(LATEST_VALIDATION, ids)}
                sign = 1.0 if smaller_is_better else -1.0
                best = {r["wanted"]: _stored(r) for r in await connection.fetch(BEST_VALIDATION, ids, metric, sign)}
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

    async def columns(self, trial_id: int) -> dict[str, dict[str, dict[str, Any]]]:
        """The trial's `summaryMetrics`: by group, then by name: count, sum, min, max and last."""
        summary: dict[str, dict[str, dict[str, Any]]] = {}
        for kind in await self.kinds(trial_id):
            with outages():
                rows = await self._pool.fetch(COLUMNS, trial_id, kind)
            group = {"training": "avg_metrics", "validation": "validation_metrics"}.get(kind, kind)
            summary[group] = {
                row["name"]: {
                    "count": row["count"],
                    "sum": row["sum"],
                    "min": row["min"],
                    "max": row["max"],
                    "mean": row["sum"] / row["count"],
                    "last": row["last"],
                    "type": "number",
                }
                for row in rows
            }
        return summary

    async def note(
        self,
        trial_id: int,
        *,
        progress: float | None = None,
        runner_state: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Keep what a trial says of itself; what is left out stays as it was."""
        document = None if metadata is None else _json(metadata)
        with outages():
            await self._pool.execute(NOTE, trial_id, progress, runner_state, document)

    async def delete(self, trial_ids: Sequence[int]) -> None:
        """Forget these trials' metrics: their experiment was deleted."""
        with outages():
            for table in ("metrics", "trial_notes"):
                await self._pool.execute(
                    f"DELETE FROM measures.{table} WHERE trial_id = ANY($1::bigint[])",
                    list(trial_ids),
                )


def _stored(row: asyncpg.Record) -> Stored:
    return Stored(
        row["id"],
        row["trial_id"],
        row["run_id"],
        row["kind"],
        row["steps"],
        _loads(row["metrics"]) or {},
        row["reported_at"],
    )


def _loads(document: Any) -> Any:
    return orjson.loads(document) if isinstance(document, str) else document


def _json(value: Any) -> str:
    """JSON as jsonb can hold it: with the three numbers it lacks as strings, which is how the wire writes them."""
    text = orjson.dumps(value).decode()
    if "null" in text:  # what orjson makes of NaN; few documents have one, and only those are walked
        text = orjson.dumps(finite(value)).decode()
    return _NUL.sub(r"\1\\ufffd", text) if r"\u0000" in text else text


_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""The character that Postgres' text cannot hold, as JSON escapes it; not a backslash that u0000 follows."""


def finite(value: Any) -> Any:
    """`value` with NaN and the infinities, at any depth, as the strings "NaN", "Infinity", "-Infinity"."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case dict():
            return {key: finite(item) for key, item in value.items()}
        case list() | tuple():
            return [finite(item) for item in value]
    return value
