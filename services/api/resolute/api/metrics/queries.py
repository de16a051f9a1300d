"""What can be asked about the reports of a trial: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.ports import Port, Tables

PAGE = 250
"""Rows that are read at a time: a reader that is slow to take them keeps so many in memory, with all their metrics."""

BEFORE_ALL_STEPS = -(2**31)
"""System metrics, which have no steps, are kept below zero."""


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
    """How many points: evenly spaced ones, with the first and the last among them."""


class MetricQueries(Protocol):
    """A trial that has reported nothing, or that does not exist, has no groups, reports or points."""

    async def groups(self, trial_id: int) -> Sequence[str]:
        """In the order of their names."""

    def reports(self, trial_id: int, group: str, page: int = PAGE) -> AsyncIterator[Sequence[Stored]]:
        """In order of steps, in pages of so many."""

    async def series(self, trial_id: int, group: str, wanted: Series) -> Sequence[Point]:
        """In order of steps."""


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

# Evenly spaced points, the first and the last among them; $6 is how many at most. With more points than that, the
# i-th stands at round(i * spacing), so a place is one of them when the i nearest to it leads back to it.
SERIES = """SELECT steps, metrics, reported_at FROM (
    SELECT m.*, row_number() OVER (ORDER BY steps) - 1 AS place, count(*) OVER () AS points FROM (
        SELECT DISTINCT ON (steps) steps, metrics, reported_at FROM measures.metrics
        WHERE trial_id = $1 AND kind = $2 AND ($3 = 0 OR steps >= $3) AND ($4 = 0 OR steps <= $4)
        ORDER BY steps, run_id DESC) m
    WHERE cardinality($5::text[]) = 0 OR metrics ?| $5) p
WHERE points <= $6 OR ($6 = 1 AND place = points - 1)
   OR ($6 > 1 AND place = round(round(place * ($6 - 1) / (points - 1.0)::float8) * (points - 1) / ($6 - 1.0)::float8))
ORDER BY steps"""


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
        bounds = wanted.first, wanted.last, list(wanted.names), wanted.most
        rows = await self._tables.rows(SERIES, trial_id, group, *bounds)
        return [Point(row["steps"], orjson.loads(row["metrics"]), row["reported_at"]) for row in rows]


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
