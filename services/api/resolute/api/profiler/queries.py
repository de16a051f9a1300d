"""What can be asked about the system metrics of a trial: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from resolute.api.kernel.ports import Port, Tables
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.profiler.series import GROUPS, Series
from resolute.proto.states import is_over


@dataclass(frozen=True, slots=True)
class Point:
    second: int
    """The step under which the report is stored. It grows with time."""
    at: datetime
    value: float
    batches: int


class ProfilerQueries(Protocol):
    """A trial that has no system metrics has no series."""

    async def series(self, trial_id: int, after: int = BEFORE_ALL_STEPS) -> Sequence[Series]:
        """Those that have values after this second, by group, agent and path."""

    async def points(self, trial_id: int, series: Series, after: int, most: int) -> Sequence[Point]:
        """Up to so many points after this second, in order of time. Of a second that several runs reported, it is the
        latest run's."""

    async def newest(self, trial_id: int) -> int:
        """The newest second of any series."""

    async def is_over(self, trial_id: int) -> bool:
        """Whether the trial has ended, or does not exist."""


# ---------------------------------------------------------------- Postgres

SERIES = """SELECT DISTINCT m.kind, agent.key AS agent_id, outer_.key AS name, inner_.key AS inner_name
FROM measures.metrics m
CROSS JOIN LATERAL jsonb_each(m.metrics) AS agent
CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(agent.value) WHEN 'object' THEN agent.value ELSE '{}' END) AS outer_
LEFT JOIN LATERAL jsonb_each(CASE jsonb_typeof(outer_.value) WHEN 'object' THEN outer_.value ELSE '{}' END) AS inner_
    ON jsonb_typeof(inner_.value) = 'number'
WHERE m.trial_id = $1 AND m.kind = ANY($2::text[]) AND m.steps > $3 AND m.steps < 0
    AND (jsonb_typeof(outer_.value) = 'number' OR inner_.key IS NOT NULL)"""

POINTS = """SELECT steps, reported_at, (metrics #>> $4::text[])::float8 AS value,
    coalesce((batch_metrics -> 0 ->> 'batches')::int, 0) AS batches
FROM (
    SELECT DISTINCT ON (steps) steps, reported_at, metrics, batch_metrics FROM measures.metrics
    WHERE trial_id = $1 AND kind = $2 AND steps > $3 AND steps < 0 AND jsonb_typeof(metrics #> $4::text[]) = 'number'
    ORDER BY steps, run_id DESC LIMIT $5) found
ORDER BY steps"""

NEWEST = """SELECT max(m.steps) FROM unnest($2::text[]) AS g (kind), LATERAL (
    SELECT steps FROM measures.metrics WHERE trial_id = $1 AND kind = g.kind AND steps < 0
    ORDER BY steps DESC LIMIT 1) m"""

STATE = "SELECT state FROM read_trials.trials WHERE id = $1"


class PostgresProfiler:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def series(self, trial_id: int, after: int = BEFORE_ALL_STEPS) -> Sequence[Series]:
        rows = await self._tables.rows(SERIES, trial_id, list(GROUPS), after)
        return in_order([Series(row["kind"], row["agent_id"], _path(row["name"], row["inner_name"])) for row in rows])

    async def points(self, trial_id: int, series: Series, after: int, most: int) -> Sequence[Point]:
        path = [series.agent_id, *series.path]
        rows = await self._tables.rows(POINTS, trial_id, series.group, after, path, most)
        return [Point(row["steps"], row["reported_at"], row["value"], row["batches"]) for row in rows]

    async def newest(self, trial_id: int) -> int:
        found: int | None = await self._tables.value(NEWEST, trial_id, list(GROUPS))
        return BEFORE_ALL_STEPS if found is None else found

    async def is_over(self, trial_id: int) -> bool:
        state = await self._tables.value(STATE, trial_id)
        return state is None or is_over(state)


def _path(name: str, inner_name: str | None) -> tuple[str, ...]:
    return (name,) if inner_name is None else (name, inner_name)


def in_order(series: Sequence[Series]) -> list[Series]:
    return sorted(series, key=lambda one: (one.group, one.agent_id, one.path))


QUERIES: Port[ProfilerQueries] = Port(PostgresProfiler)
