"""What can be asked about runs and searches by filters: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.building import by_name
from resolute.api.kernel.listing import Where
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.runs.column_queries import RUN_ARCHIVED, RUN_PARENT_ARCHIVED, WORKSPACES
from resolute.api.runs.filter_queries import RUNS, SEARCHES, Statement, Table, ordering, statement
from resolute.api.runs.filters import EVERYTHING, Kind, Metric, Order, Wanted
from resolute.api.scope import Scope
from resolute.api.shown_states import sql_list
from resolute.api.trials.queries import PHASE
from resolute.proto.states import WITH_FILES, ExperimentState


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and in which order."""

    wanted: Wanted = EVERYTHING
    orders: tuple[Order, ...] = ()
    project_id: int = 0
    """0 is every project."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """All there is to show of a run."""

    id: int
    experiment_id: int
    phase: str
    """As of a trial: the state, or how far its allocation has come."""
    started_at: datetime
    ended_at: datetime | None
    archived: bool
    """By itself, or with its search."""
    parent_archived: bool
    """Whether its search, its project or its workspace is archived."""
    search_archived: bool
    project_id: int
    project: str
    workspace_id: int
    workspace: str
    owner_id: int
    labels: tuple[str, ...]
    hparams: Mapping[str, Any]
    metadata: Mapping[str, Any] | None
    best_metric: float | None
    log_policy_matched: str | None
    checkpoints: int
    checkpoint_bytes: int
    experiment: str
    description: str
    searcher_type: str
    searcher_metric: str
    resource_pool: str
    experiment_state: str
    search_progress: float | None
    reported_progress: float | None
    """The sum of what the trials of the search report."""
    max_trials: str | None
    trials: int
    """Those of the search."""
    unmanaged: bool
    external_id: str | None
    parent_id: int | None
    metrics: Mapping[str, Mapping[str, Any]]
    """By group and name."""


RUN = by_name(RunRow)


@dataclass(frozen=True, slots=True)
class SearchRow:
    id: int
    best_trial_id: int | None


@dataclass(frozen=True, slots=True)
class MetricName:
    group: str
    name: str
    kind: Kind | None
    """None where some of its values are numbers and others are not."""


@dataclass(frozen=True, slots=True)
class Range:
    group: str
    name: str
    statistic: str
    least: float
    most: float


VALUES_MAX = 1000


class RunQueries(Protocol):
    """Answers hold what lies within the scope."""

    async def runs(self, scope: Scope, search: Search, window: Window) -> Listed[RunRow]: ...

    async def run_ids(self, scope: Scope, search: Search) -> Sequence[int]:
        """The ids of all that are wanted, by id."""

    async def runs_of(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Sequence[RunRow]:
        """Those of these that exist, in this project if it is not 0, by id."""

    async def searches(self, scope: Scope, search: Search, window: Window) -> Listed[SearchRow]: ...

    async def metric_names(self, scope: Scope, project_id: int) -> Sequence[MetricName]:
        """The metrics that runs of the project reported, by group and name."""

    async def hyperparameters(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        """Those of the configurations in the project, each different set once."""

    async def metadata(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        """The metadata of the runs of the project, each different set once."""

    async def ranges(self, scope: Scope, project_id: int) -> Sequence[Range]:
        """Between which values the best runs of the searches of the project are, by group, name and statistic."""

    async def best_range(self, scope: Scope, project_id: int) -> tuple[float, float] | None:
        """The least and the largest value of the searchers' metrics; None where there is none."""

    async def metadata_values(self, scope: Scope, project_id: int, path: Sequence[str]) -> Sequence[str]:
        """The texts at this path of metadata, each once and in their order; at most `VALUES_MAX`."""


# ---------------------------------------------------------------- Postgres

FEW = 5_000
"""When no more rows than this are found, they are sorted. Of more rows, a page by a metric is read along its index."""

ROWS = f"""SELECT t.id, t.experiment_id, {PHASE} AS phase, t.started_at, t.ended_at,
    {RUN_ARCHIVED} AS archived, {RUN_PARENT_ARCHIVED} AS parent_archived, e.archived AS search_archived,
    e.project_id, coalesce(p.name, '') AS project, coalesce(p.workspace_id, 0) AS workspace_id,
    coalesce(w.name, '') AS workspace, e.owner_id, e.labels, t.hparams, t.metadata, t.best_metric,
    t.log_policy_matched, k.checkpoints, k.checkpoint_bytes, e.name AS experiment,
    e.description, e.searcher_type, e.searcher_metric, e.resource_pool, e.state AS experiment_state, e.search_progress,
    CASE WHEN e.state <> '{ExperimentState.COMPLETED}' AND e.search_progress IS NULL THEN (
        SELECT sum(n.progress) FROM read_trials.trials o JOIN measures.trial_notes n ON n.trial_id = o.id
        WHERE o.experiment_id = e.id) END AS reported_progress,
    f.config #>> '{{searcher,max_trials}}' AS max_trials, coalesce(d.trials, 0) AS trials, e.unmanaged, e.external_id,
    e.parent_id
{RUNS.source} {WORKSPACES}
LEFT JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id
LEFT JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
LEFT JOIN read_tasks.allocations a ON a.allocation_id = r.allocation_id AND a.ended_at IS NULL
CROSS JOIN LATERAL (
    SELECT count(*) AS checkpoints, coalesce(sum(c.size_bytes), 0)::bigint AS checkpoint_bytes
    FROM read_checkpoints.checkpoints c WHERE c.trial_id = t.id AND c.state IN {sql_list(WITH_FILES)}) k"""

SUMMARIES = """SELECT trial_id, kind, name, count, sum, min, max, mean, last, last_text FROM measures.summaries
WHERE trial_id = ANY($1::bigint[]) ORDER BY trial_id, kind, name"""

# From each metric to the next in the index; of each, one run of the project is enough.
METRICS = """WITH RECURSIVE named AS (
    (SELECT kind, name FROM measures.summaries ORDER BY kind, name LIMIT 1)
    UNION ALL
    SELECT n.kind, n.name FROM named m, LATERAL (
        SELECT s.kind, s.name FROM measures.summaries s WHERE (s.kind, s.name) > (m.kind, m.name)
        ORDER BY s.kind, s.name LIMIT 1) n),
found AS (SELECT m.kind, m.name, {numbers} AS numbers, {texts} AS texts FROM named m)
SELECT * FROM found WHERE numbers OR texts ORDER BY kind, name"""

REPORTED = """EXISTS (SELECT FROM measures.summaries s JOIN read_trials.trials t ON t.id = s.trial_id
    JOIN read_experiments.experiments e ON e.id = t.experiment_id
    LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
    {where} AND s.kind = m.kind AND s.name = m.name AND s.{column} IS NOT NULL)"""

RANGES = """SELECT s.kind, s.name, min(s.last) AS least_last, max(s.last) AS most_last, min(s.min) AS least_min,
    max(s.min) AS most_min, min(s.max) AS least_max, max(s.max) AS most_max, min(s.mean) AS least_mean,
    max(s.mean) AS most_mean
FROM read_experiments.experiments e JOIN read_trials.standings d ON d.experiment_id = e.id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
JOIN measures.summaries s ON s.trial_id = d.best_trial_id AND s.last IS NOT NULL"""


class PostgresRuns:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def runs(self, scope: Scope, search: Search, window: Window) -> Listed[RunRow]:
        found = await self._page(scope, RUNS, search, window)
        rows = {row.id: row for row in await self._rows("WHERE t.id = ANY($1::bigint[])", found.rows)}
        return Listed([rows[one] for one in found.rows if one in rows], found.page)

    async def run_ids(self, scope: Scope, search: Search) -> Sequence[int]:
        made = statement(scope, RUNS, search.wanted, search.project_id)
        return await self._ids(made, " ORDER BY t.id")

    async def runs_of(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Sequence[RunRow]:
        where = Where(scope, "p.workspace_id")
        where.add("t.id = ANY(?::bigint[])", ids)
        if project_id:
            where.add("e.project_id = ?", project_id)
        return await self._rows(f"{where.sql} ORDER BY t.id", *where.args)

    async def searches(self, scope: Scope, search: Search, window: Window) -> Listed[SearchRow]:
        found = await self._page(scope, SEARCHES, search, window)
        best = "SELECT experiment_id, best_trial_id FROM read_trials.standings WHERE experiment_id = ANY($1::bigint[])"
        trials = {row["experiment_id"]: row["best_trial_id"] for row in await self._tables.rows(best, found.rows)}
        return Listed([SearchRow(one, trials.get(one)) for one in found.rows], found.page)

    # ------------------------------------------------------------ pages

    async def _page(self, scope: Scope, table: Table, search: Search, window: Window) -> Listed[int]:
        made = statement(scope, table, search.wanted, search.project_id)
        count = f"SELECT count(*) {made.source}{made.where.sql}"
        page = window.of(int(await self._tables.value(count, *made.where.args)))
        size = page.end - page.start
        if not size:
            return Listed([], page)
        if page.total > FEW and len(search.orders) == 1 and isinstance(search.orders[0].column, Metric):
            return Listed(await self._along_metric(scope, table, search, page.start, size), page)
        order = ordering(made, search.orders)
        return Listed(await self._ids(made, f"{order} OFFSET {page.start} LIMIT {size}"), page)

    async def _along_metric(self, scope: Scope, table: Table, search: Search, start: int, size: int) -> Sequence[int]:
        """The page of a list by a metric: first those that reported it, in the order of its index, then the others."""
        found = await self._reported(scope, table, search, f"OFFSET {start} LIMIT {size}")
        if len(found) == size:
            return found
        others = statement(scope, table, search.wanted, search.project_id)
        others.where.plain(f"{others.order_of(search.orders[0].column)} IS NULL")
        before = start + len(found)
        if start and not found:
            before = len(await self._reported(scope, table, search, f"LIMIT {start}"))
        skipped = max(start - before, 0)
        order = f" ORDER BY {table.key} OFFSET {skipped} LIMIT {size - len(found)}"
        return [*found, *await self._ids(others, order)]

    async def _reported(self, scope: Scope, table: Table, search: Search, part: str) -> Sequence[int]:
        """Those that reported the metric, in its order. Each row of the index is held against the filter (`OFFSET 0`
        lets the planner do nothing else), until the page is full: that is soon where many rows fulfil it, and the
        planner cannot know how many do."""
        [order], made = search.orders, statement(scope, table, search.wanted, search.project_id)
        assert isinstance(order.column, Metric), "only metrics have such an index"
        column, direction = order.column, "DESC" if order.descending else "ASC"
        made.where.plain(f"{table.trial} = s.trial_id")
        kind, name = made.argument(column.group, "text"), made.argument(column.name, "text")
        sql = f"""SELECT x.id FROM (SELECT trial_id, {column.statistic} AS value FROM measures.summaries
            WHERE kind = {kind} AND name = {name} AND {column.statistic} IS NOT NULL
            ORDER BY {column.statistic} {direction} OFFSET 0) s
        CROSS JOIN LATERAL (SELECT {table.key} AS id {made.source}{made.where.sql} OFFSET 0) x
        ORDER BY s.value {direction}, x.id {part}"""
        return [row["id"] for row in await self._tables.rows(sql, *made.where.args)]

    async def _ids(self, made: Statement, ending: str) -> Sequence[int]:
        sql = f"SELECT {made.table.key} AS id {made.source}{made.where.sql}{ending}"
        return [row["id"] for row in await self._tables.rows(sql, *made.where.args)]

    async def _rows(self, ending: str, *args: Any) -> Sequence[RunRow]:
        found = await self._tables.rows(f"{ROWS} {ending}", *args)
        summaries: dict[int, dict[str, dict[str, Any]]] = {row["id"]: {} for row in found}
        for row in await self._tables.rows(SUMMARIES, list(summaries)):
            group = summaries[row["trial_id"]].setdefault(shown_group(row["kind"]), {})
            group[row["name"]] = _summary(row)
        return [_run(row, summaries[row["id"]]) for row in found]

    # ------------------------------------------------------------ columns

    async def metric_names(self, scope: Scope, project_id: int) -> Sequence[MetricName]:
        where = _in_project(scope, project_id)
        exists = {
            name: REPORTED.format(where=where.sql, column=column)
            for name, column in {"numbers": "last", "texts": "last_text"}.items()
        }
        rows = await self._tables.rows(METRICS.format(**exists), *where.args)
        return [MetricName(row["kind"], row["name"], kind_of(row["numbers"], row["texts"])) for row in rows]

    async def hyperparameters(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        where = _in_project(scope, project_id)
        where.plain("jsonb_typeof(h.config -> 'hyperparameters') = 'object'")
        sql = f"SELECT DISTINCT h.config -> 'hyperparameters' AS document {SEARCHES.source}{where.sql} ORDER BY 1"
        return [orjson.loads(row["document"]) for row in await self._tables.rows(sql, *where.args)]

    async def metadata(self, scope: Scope, project_id: int) -> Sequence[Mapping[str, Any]]:
        where = _in_project(scope, project_id)
        where.plain("t.metadata IS NOT NULL")
        sql = f"SELECT DISTINCT t.metadata AS document {RUNS.source}{where.sql} ORDER BY 1"
        return [orjson.loads(row["document"]) for row in await self._tables.rows(sql, *where.args)]

    async def ranges(self, scope: Scope, project_id: int) -> Sequence[Range]:
        where = _in_project(scope, project_id)
        rows = await self._tables.rows(f"{RANGES}{where.sql} GROUP BY 1, 2 ORDER BY 1, 2", *where.args)
        return [
            Range(row["kind"], row["name"], one, row[f"least_{one}"], row[f"most_{one}"])
            for row in rows
            for one in ("last", "max", "mean", "min")
        ]

    async def best_range(self, scope: Scope, project_id: int) -> tuple[float, float] | None:
        where = _in_project(scope, project_id)
        sql = f"SELECT min(d.best_metric) AS least, max(d.best_metric) AS most {SEARCHES.source}{where.sql}"
        row = await self._tables.row(sql, *where.args)
        return None if row is None or row["least"] is None else (row["least"], row["most"])

    async def metadata_values(self, scope: Scope, project_id: int, path: Sequence[str]) -> Sequence[str]:
        where = _in_project(scope, project_id)
        where.args.append(list(path))
        document = f"(t.metadata #> ${len(where.args)}::text[])"
        where.plain(f"jsonb_typeof({document}) = 'string'")
        sql = f"SELECT DISTINCT {document} #>> '{{}}' AS value {RUNS.source}{where.sql} ORDER BY 1 LIMIT {VALUES_MAX}"
        return [row["value"] for row in await self._tables.rows(sql, *where.args)]


def _in_project(scope: Scope, project_id: int) -> Where:
    where = Where(scope, "p.workspace_id")
    where.add("e.project_id = ?", project_id)
    return where


def kind_of(numbers: bool, texts: bool) -> Kind | None:
    if numbers and texts:
        return None
    return Kind.NUMBER if numbers else Kind.TEXT


def shown_group(group: str) -> str:
    """The name of a group in `summaryMetrics`."""
    return {"training": "avg_metrics", "validation": "validation_metrics"}.get(group, group)


def _summary(row: asyncpg.Record) -> dict[str, Any]:
    if not row["count"]:
        return {"last": row["last_text"], "type": "string"}
    names = ("count", "sum", "min", "max", "mean", "last")
    return {**{name: row[name] for name in names}, "type": "number"}


def _run(row: asyncpg.Record, metrics: Mapping[str, Mapping[str, Any]]) -> RunRow:
    columns: dict[str, Any] = dict(row)
    columns["labels"], columns["hparams"] = tuple(row["labels"]), orjson.loads(row["hparams"])
    columns["metadata"] = None if row["metadata"] is None else orjson.loads(row["metadata"])
    columns["metrics"] = metrics
    return RUN(columns)


QUERIES: Port[RunQueries] = Port(PostgresRuns)
