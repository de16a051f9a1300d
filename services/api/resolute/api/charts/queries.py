"""What can be asked to chart a search: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import orjson

from resolute.api.kernel.ports import Port, Tables
from resolute.api.metrics.queries import BEFORE_ALL_STEPS
from resolute.api.metrics.thinning import stretches_for


@dataclass(frozen=True, slots=True)
class ChartedExperiment:
    id: int
    state: str
    searcher_type: str
    searcher_metric: str
    smaller_is_better: bool


@dataclass(frozen=True, slots=True)
class ChartedTrial:
    id: int
    experiment_id: int
    run_id: int
    """Of its latest run."""
    hparams: Mapping[str, Any]
    best_metric: float | None
    """Of the searcher's metric."""
    steps: int
    """Up to which it was validated; 0 before."""


@dataclass(frozen=True, slots=True)
class NamedMetrics:
    """Names that a trial reported in one group, from some step on."""

    trial_id: int
    group: str
    names: tuple[str, ...]
    last: int
    """The last of these steps."""


@dataclass(frozen=True, slots=True)
class Metric:
    group: str
    name: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which part of a curve is wanted."""

    after: int = BEFORE_ALL_STEPS
    first: int = 0
    """Steps; 0 is no bound, as of `last`."""
    last: int = 0
    most: int = 1000
    """How many points (`thinning.kept`)."""


@dataclass(frozen=True, slots=True)
class ChartPoint:
    steps: int
    value: float
    reported_at: datetime = field(compare=False)


class ChartQueries(Protocol):
    """Of a step that several runs of a trial reported, the latest run's report counts."""

    async def experiments(self, ids: Sequence[int]) -> Sequence[ChartedExperiment]:
        """Those of these that there are, by number."""

    async def trials(self, experiment_ids: Sequence[int]) -> Sequence[ChartedTrial]:
        """By number."""

    async def names(self, trial_ids: Sequence[int], after: Mapping[tuple[int, str], int]) -> Sequence[NamedMetrics]:
        """What these trials reported, by trial and group; `after`: of a trial's group only beyond this step."""

    async def batches(self, metric: Metric, after: Mapping[int, int], most: int) -> Sequence[tuple[int, int]]:
        """Trials and steps at which they reported the metric, by trial beyond the step that `after` has for it, up to
        so many. Those of one trial are in order."""

    async def points(self, trial_id: int, metric: Metric, wanted: Stretch) -> Sequence[ChartPoint]:
        """In order of steps. Values that are no numbers are left out."""

    async def nearest(
        self, trial_ids: Sequence[int], metric: Metric, steps: int, margin: int
    ) -> Mapping[int, ChartPoint]:
        """By trial, its report of the metric that is nearest to `steps`, and of two as near the earlier one, where
        there is one within the margin. Reports of values that are no numbers do not count."""


# ---------------------------------------------------------------- Postgres

EXPERIMENTS = """SELECT id, state, searcher_type, searcher_metric, smaller_is_better FROM read_experiments.experiments
WHERE id = ANY($1::bigint[]) ORDER BY id"""

TRIALS = """SELECT id, experiment_id, run_id, hparams, best_metric, coalesce(latest_steps, 0) AS steps
FROM read_trials.trials WHERE experiment_id = ANY($1::bigint[]) ORDER BY id"""

# The groups of each trial are found from one to the next in the index, as in `metrics.queries.GROUPS`.
NAMES = """SELECT t.trial_id, g.kind, found.names, found.last
FROM unnest($1::bigint[]) AS t (trial_id) CROSS JOIN LATERAL (
    WITH RECURSIVE kinds AS (
        SELECT (SELECT min(m.kind) FROM measures.metrics m WHERE m.trial_id = t.trial_id) AS kind
        UNION ALL
        SELECT (SELECT min(m.kind) FROM measures.metrics m WHERE m.trial_id = t.trial_id AND m.kind > kinds.kind)
        FROM kinds WHERE kinds.kind IS NOT NULL)
    SELECT kind FROM kinds WHERE kind IS NOT NULL) g
LEFT JOIN unnest($2::bigint[], $3::text[], $4::int[]) AS known (trial_id, kind, steps)
    ON known.trial_id = t.trial_id AND known.kind = g.kind
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT name ORDER BY name) AS names, max(steps) AS last
    FROM measures.metrics m, jsonb_object_keys(m.metrics) AS name
    WHERE m.trial_id = t.trial_id AND m.kind = g.kind AND (known.steps IS NULL OR m.steps > known.steps)) found
WHERE found.names IS NOT NULL ORDER BY t.trial_id, g.kind"""

BATCHES = """SELECT t.trial_id, m.steps FROM unnest($1::bigint[], $2::int[]) AS t (trial_id, after), LATERAL (
    SELECT DISTINCT steps FROM measures.metrics
    WHERE trial_id = t.trial_id AND kind = $3 AND steps > t.after AND metrics ? $4
    ORDER BY steps LIMIT $5) m LIMIT $5"""

LATEST = """SELECT steps, reported_at, (metrics ->> {name})::float8 AS value FROM (
    SELECT DISTINCT ON (steps) steps, metrics, reported_at FROM measures.metrics
    WHERE {where} ORDER BY steps, run_id DESC) latest
WHERE jsonb_typeof(metrics -> {name}) = 'number'"""

# Of each stretch the lowest and the highest, and both ends of the curve: the places that `thinning.kept` gives.
POINTS = f"""WITH curve AS MATERIALIZED (
    SELECT c.*, row_number() OVER (ORDER BY steps) - 1 AS place, count(*) OVER () AS points FROM (
    {
    LATEST.format(
        name="$3::text",
        where="trial_id = $1 AND kind = $2 AND steps > $4 AND ($5 = 0 OR steps >= $5) AND ($6 = 0 OR steps <= $6)",
    )
}) c)
SELECT steps, value, reported_at FROM curve WHERE points <= $7
UNION
SELECT steps, value, reported_at FROM curve WHERE points > $7 AND (place = points - 1 OR (place = 0 AND $7 > 1))
UNION
(SELECT DISTINCT ON (place * $8 / points) steps, value, reported_at FROM curve WHERE points > $7 AND $8 > 0
 ORDER BY place * $8 / points, value, place)
UNION
(SELECT DISTINCT ON (place * $8 / points) steps, value, reported_at FROM curve WHERE points > $7 AND $8 > 0
 ORDER BY place * $8 / points, value DESC, place)
ORDER BY steps"""

NEAREST = f"""SELECT t.trial_id, m.* FROM unnest($1::bigint[]) AS t (trial_id), LATERAL (
    SELECT * FROM (
    {LATEST.format(name="$3::text", where="trial_id = t.trial_id AND kind = $2 AND abs(steps - $4::bigint) <= $5")}
    ) around ORDER BY abs(steps - $4::bigint), steps LIMIT 1) m"""


class PostgresCharts:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def experiments(self, ids: Sequence[int]) -> Sequence[ChartedExperiment]:
        return [ChartedExperiment(**row) for row in await self._tables.rows(EXPERIMENTS, list(ids))]

    async def trials(self, experiment_ids: Sequence[int]) -> Sequence[ChartedTrial]:
        rows = await self._tables.rows(TRIALS, list(experiment_ids))
        return [ChartedTrial(**{**row, "hparams": orjson.loads(row["hparams"])}) for row in rows]

    async def names(self, trial_ids: Sequence[int], after: Mapping[tuple[int, str], int]) -> Sequence[NamedMetrics]:
        known = [trial for trial, _ in after], [group for _, group in after], list(after.values())
        rows = await self._tables.rows(NAMES, list(trial_ids), *known)
        return [NamedMetrics(row["trial_id"], row["kind"], tuple(row["names"]), row["last"]) for row in rows]

    async def batches(self, metric: Metric, after: Mapping[int, int], most: int) -> Sequence[tuple[int, int]]:
        rows = await self._tables.rows(BATCHES, list(after), list(after.values()), metric.group, metric.name, most)
        return [(row["trial_id"], row["steps"]) for row in rows]

    async def points(self, trial_id: int, metric: Metric, wanted: Stretch) -> Sequence[ChartPoint]:
        bounds = wanted.after, wanted.first, wanted.last, wanted.most, stretches_for(wanted.most)
        rows = await self._tables.rows(POINTS, trial_id, metric.group, metric.name, *bounds)
        return [ChartPoint(row["steps"], row["value"], row["reported_at"]) for row in rows]

    async def nearest(
        self, trial_ids: Sequence[int], metric: Metric, steps: int, margin: int
    ) -> Mapping[int, ChartPoint]:
        rows = await self._tables.rows(NEAREST, list(trial_ids), metric.group, metric.name, steps, margin)
        return {row["trial_id"]: ChartPoint(row["steps"], row["value"], row["reported_at"]) for row in rows}


QUERIES: Port[ChartQueries] = Port(PostgresCharts)
