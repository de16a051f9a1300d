"""What can be asked about the reports of a trial: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.metrics.thinning import LEAST, stretches_for_each
from resolute.proto.states import CheckpointState

PAGE = 250
"""Rows that are read at a time: a reader that is slow to take them keeps so many in memory, with all their metrics."""

BEFORE_ALL_STEPS = -(2**31)
"""System metrics, which have no steps, are kept below zero."""
AFTER_ALL_STEPS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Stored:
    """A report as it is read back. Of a step that several runs reported, it is the latest run's."""

    id: int
    trial_id: int
    run_id: int
    kind: str
    """The group."""
    steps: int
    metrics: dict[str, Any]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Point:
    steps: int
    metrics: Mapping[str, Any]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Series:
    """Which points of a group are wanted. What is 0 or empty asks for nothing."""

    first: int = 0
    """Steps."""
    last: int = 0
    names: tuple[str, ...] = ()
    """Metrics, of which a point has at least one."""
    most: int = 200
    """How many points: the extremes of the curve among them (`thinning.kept_together`)."""


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    uuid: str
    state: CheckpointState
    steps: int
    resources: Mapping[str, int]
    metadata: Mapping[str, Any]
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class Workloads:
    """Which workloads of a trial are wanted."""

    groups: tuple[str, ...]
    """Of training and validation."""
    checkpoints: bool
    newest_first: bool = False


class MetricQueries(Protocol):
    """A trial that has reported nothing, or that does not exist, has no groups, reports or points."""

    async def groups(self, trial_id: int) -> Sequence[str]:
        """In the order of their names."""

    def reports(self, trial_id: int, group: str, page: int = PAGE) -> AsyncIterator[Sequence[Stored]]:
        """In order of steps, in pages of so many."""

    async def series(self, trial_id: int, group: str, wanted: Series) -> Sequence[Point]:
        """In order of steps."""

    async def workloads(self, trial_id: int, wanted: Workloads, window: Window) -> Listed[Stored | CheckpointRow]:
        """What a trial did, in order of steps; of the same step training comes first, then the validation, then
        checkpoints as they were reported."""


# ---------------------------------------------------------------- Postgres

# Of each step the latest run; by trial, group and step.
REPORTS = """SELECT DISTINCT ON (trial_id, steps) id, trial_id, run_id, kind, steps, metrics, reported_at
FROM measures.metrics WHERE trial_id = $1 AND kind = $2 AND steps > $3
ORDER BY trial_id, steps, run_id DESC LIMIT $4"""

# From each group to the next one in the index, however many rows each has.
GROUPS = """WITH RECURSIVE kinds AS (
    SELECT min(kind) AS kind FROM measures.metrics WHERE trial_id = $1
    UNION ALL
    SELECT (SELECT min(m.kind) FROM measures.metrics m WHERE m.trial_id = $1 AND m.kind > kinds.kind) FROM kinds
    WHERE kinds.kind IS NOT NULL)
SELECT kind FROM kinds WHERE kind IS NOT NULL ORDER BY kind"""

# A curve of a group, thinned as `thinning.kept_together` says; $6 is how many points at most. Of each metric the lowest
# and the highest value of each stretch are kept, and both ends of the curve.
SERIES = f"""WITH curve AS MATERIALIZED (
    SELECT m.*, row_number() OVER (ORDER BY steps) - 1 AS place, count(*) OVER () AS points FROM (
        SELECT DISTINCT ON (steps) steps, metrics, reported_at FROM measures.metrics
        WHERE trial_id = $1 AND kind = $2 AND ($3 = 0 OR steps >= $3) AND ($4 = 0 OR steps <= $4)
        ORDER BY steps, run_id DESC) m
    WHERE cardinality($5::text[]) = 0 OR metrics ?| $5),
numbers AS MATERIALIZED (
    SELECT place, points, name, value::text::float8 AS value FROM curve, jsonb_each(metrics) AS each (name, value)
    WHERE points > $6 AND $6 >= {LEAST} AND jsonb_typeof(value) = 'number'
        AND (cardinality($5::text[]) = 0 OR name = ANY($5))),
stretches AS (SELECT greatest(($6 - 2) / (2 * greatest(count(DISTINCT name), 1)), 1) AS number FROM numbers),
kept AS (
    SELECT place FROM curve WHERE points <= $6 OR place = points - 1 OR (place = 0 AND $6 > 1)
    UNION
    (SELECT DISTINCT ON (name, n.place * s.number / n.points) n.place FROM numbers n, stretches s
     ORDER BY name, n.place * s.number / n.points, value, n.place)
    UNION
    (SELECT DISTINCT ON (name, n.place * s.number / n.points) n.place FROM numbers n, stretches s
     ORDER BY name, n.place * s.number / n.points, value DESC, n.place))
SELECT steps, metrics, reported_at FROM curve WHERE place IN (SELECT place FROM kept) ORDER BY steps"""

# The same of a long curve that is kept in stretches (`measures/curves.py`): how many there are of each metric.
STRETCHES = """SELECT name, count(*) AS stretches FROM measures.stretches
WHERE trial_id = $1 AND kind = $2 AND first >= $3 AND last <= $4
    AND (cardinality($5::text[]) = 0 OR name = ANY($5)) GROUP BY name"""

# And its points. What lies before and after the stretches is read from the reports. The curve is cut by the reports
# that each stretch stands for, so that the parts are as long as in `SERIES`, to a stretch.
ALONG_STRETCHES = """WITH kept AS MATERIALIZED (
    SELECT name, first, last, reports, low, low_steps, high, high_steps FROM measures.stretches
    WHERE trial_id = $1 AND kind = $2 AND first >= $3 AND last <= $4
        AND (cardinality($5::text[]) = 0 OR name = ANY($5))),
bounds AS MATERIALIZED (SELECT min(first) AS first, max(last) AS last FROM kept),
edges AS MATERIALIZED (
    (SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
     WHERE trial_id = $1 AND kind = $2 AND steps >= $3 AND steps < (SELECT first FROM bounds)
     ORDER BY steps, run_id DESC)
    UNION ALL
    (SELECT DISTINCT ON (steps) steps, metrics FROM measures.metrics
     WHERE trial_id = $1 AND kind = $2 AND steps <= $4 AND steps > (SELECT last FROM bounds)
     ORDER BY steps, run_id DESC)),
pieces AS (
    SELECT name, first, reports, low, low_steps, high, high_steps FROM kept
    UNION ALL
    SELECT name, steps, 1, value, steps, value, steps FROM (
        SELECT steps, name, value::text::float8 AS value FROM edges, jsonb_each(metrics) AS each (name, value)
        WHERE jsonb_typeof(value) = 'number' AND (cardinality($5::text[]) = 0 OR name = ANY($5))) e),
placed AS MATERIALIZED (
    SELECT name, low, low_steps, high, high_steps, (sum(reports) OVER (PARTITION BY name ORDER BY first) - 1) * $6::int
        / sum(reports) OVER (PARTITION BY name) AS part FROM pieces),
chosen AS (
    (SELECT DISTINCT ON (name, part) low_steps AS steps FROM placed ORDER BY name, part, low, low_steps)
    UNION
    (SELECT DISTINCT ON (name, part) high_steps FROM placed ORDER BY name, part, high DESC, high_steps)
    UNION
    (SELECT steps FROM measures.metrics WHERE trial_id = $1 AND kind = $2 AND steps >= $3
         AND steps <= $4 AND (cardinality($5::text[]) = 0 OR metrics ?| $5) ORDER BY steps LIMIT 1)
    UNION
    (SELECT steps FROM measures.metrics WHERE trial_id = $1 AND kind = $2 AND steps >= $3
         AND steps <= $4 AND (cardinality($5::text[]) = 0 OR metrics ?| $5) ORDER BY steps DESC LIMIT 1))
SELECT c.steps, m.metrics, m.reported_at FROM chosen c CROSS JOIN LATERAL (
    SELECT metrics, reported_at FROM measures.metrics r WHERE r.trial_id = $1 AND r.kind = $2 AND r.steps = c.steps
    ORDER BY run_id DESC LIMIT 1) m
ORDER BY c.steps"""

# What a trial did, without its numbers: what is asked for is a page of many.
WORKLOADS = """
FROM (SELECT kind, steps, run_id, CASE kind WHEN 'training' THEN 0 ELSE 1 END AS rank, 0 AS place FROM (
          SELECT DISTINCT ON (kind, steps) kind, steps, run_id FROM measures.metrics
          WHERE trial_id = $1 AND kind = ANY($2::text[]) ORDER BY kind, steps, run_id DESC) m
      UNION ALL
      SELECT 'checkpoint', steps, 0, 2, place - 1 FROM unnest($3::int[]) WITH ORDINALITY AS c (steps, place)) w
"""

OLDEST_FIRST = f"SELECT kind, steps, run_id, place {WORKLOADS} ORDER BY steps, rank, place OFFSET $4 LIMIT $5"
NEWEST_FIRST = (
    f"SELECT kind, steps, run_id, place {WORKLOADS} ORDER BY steps DESC, rank DESC, place DESC OFFSET $4 LIMIT $5"
)

ROWS = """SELECT m.id, m.trial_id, m.run_id, m.kind, m.steps, m.metrics, m.reported_at
FROM unnest($2::text[], $3::int[], $4::int[]) AS w (kind, steps, run_id)
JOIN measures.metrics m ON m.trial_id = $1 AND m.kind = w.kind AND m.steps = w.steps AND m.run_id = w.run_id"""

CHECKPOINTS = """SELECT uuid, state, steps_completed, resources, metadata, reported_at FROM read_checkpoints.checkpoints
WHERE trial_id = $1 ORDER BY steps_completed, reported_at, uuid"""


class PostgresMetrics:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def groups(self, trial_id: int) -> Sequence[str]:
        return [row["kind"] for row in await self._tables.rows(GROUPS, trial_id)]

    async def reports(self, trial_id: int, group: str, page: int = PAGE) -> AsyncIterator[Sequence[Stored]]:
        after = BEFORE_ALL_STEPS
        while True:
            rows = await self._tables.rows(REPORTS, trial_id, group, after, page)
            if rows:
                yield list(map(stored, rows))
                after = rows[-1]["steps"]
            if len(rows) < page:
                return

    async def series(self, trial_id: int, group: str, wanted: Series) -> Sequence[Point]:
        names = list(wanted.names)
        within = wanted.first or BEFORE_ALL_STEPS, wanted.last or AFTER_ALL_STEPS
        kept = {
            row["name"]: row["stretches"] for row in await self._tables.rows(STRETCHES, trial_id, group, *within, names)
        }
        parts = stretches_for_each(wanted.most, len(kept))
        if kept and kept.keys() >= set(wanted.names) and 0 < parts <= max(kept.values()):
            rows = await self._tables.rows(ALONG_STRETCHES, trial_id, group, *within, names, parts)
        else:
            rows = await self._tables.rows(SERIES, trial_id, group, wanted.first, wanted.last, names, wanted.most)
        return [Point(row["steps"], orjson.loads(row["metrics"]), row["reported_at"]) for row in rows]

    async def workloads(self, trial_id: int, wanted: Workloads, window: Window) -> Listed[Stored | CheckpointRow]:
        checkpoints = await self._checkpoints(trial_id) if wanted.checkpoints else []
        asked = trial_id, list(wanted.groups), [one.steps for one in checkpoints]
        page = window.of(await self._tables.value(f"SELECT count(*) {WORKLOADS}", *asked))
        statement = NEWEST_FIRST if wanted.newest_first else OLDEST_FIRST
        keys = await self._tables.rows(statement, *asked, page.start, page.end - page.start)
        reports = await self._reports(trial_id, [key for key in keys if key["kind"] != "checkpoint"])
        found = [
            checkpoints[key["place"]] if key["kind"] == "checkpoint" else reports[key["kind"], key["steps"]]
            for key in keys
        ]
        return Listed(found, page)

    async def _checkpoints(self, trial_id: int) -> Sequence[CheckpointRow]:
        return [
            CheckpointRow(
                uuid=row["uuid"],
                state=CheckpointState(row["state"]),
                steps=row["steps_completed"],
                resources=orjson.loads(row["resources"]),
                metadata=orjson.loads(row["metadata"]),
                reported_at=row["reported_at"],
            )
            for row in await self._tables.rows(CHECKPOINTS, trial_id)
        ]

    async def _reports(self, trial_id: int, keys: Sequence[asyncpg.Record]) -> Mapping[tuple[str, int], Stored]:
        columns = ([key[name] for key in keys] for name in ("kind", "steps", "run_id"))
        rows = await self._tables.rows(ROWS, trial_id, *columns)
        return {(row["kind"], row["steps"]): stored(row) for row in rows}


def stored(row: asyncpg.Record) -> Stored:
    return Stored(
        id=row["id"],
        trial_id=row["trial_id"],
        run_id=row["run_id"],
        kind=row["kind"],
        steps=row["steps"],
        metrics=orjson.loads(row["metrics"]),
        reported_at=row["reported_at"],
    )


QUERIES: Port[MetricQueries] = Port(PostgresMetrics)
