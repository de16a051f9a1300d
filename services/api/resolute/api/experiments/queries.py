"""What can be asked about experiments: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import asyncpg

from resolute.api.experiments.messages import SortExperimentsBy
from resolute.api.experiments.projection import WORKSPACE_OF_PROJECT
from resolute.api.kernel.building import by_name
from resolute.api.kernel.listing import Where, listed_by_key, ordering, pattern
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.shown_states import AllocationState, Phase, sql_list
from resolute.proto.states import WITH_FILES, ExperimentState


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """All there is to show of an experiment."""

    id: int
    job_id: str
    name: str
    description: str
    notes: str
    labels: tuple[str, ...]
    state: str
    phase: str
    """The state; of an active experiment, how far the furthest of its allocations has come."""
    reason: str
    archived: bool
    started_at: datetime
    ended_at: datetime | None
    parent_id: int | None
    """The experiment that it was forked from."""
    unmanaged: bool
    external_id: str | None
    resource_pool: str
    searcher_type: str
    searcher_metric: str
    config: str = field(repr=False)
    """The merged configuration with all edits, as JSON. It may hold secrets, sealed or plain."""
    original_config: str = field(repr=False)
    """The YAML as its author wrote it. It may hold secrets, sealed or plain."""
    hyperparameters: str | None
    """Those of the configuration, as JSON."""
    max_trials: str | None
    """That of the searcher in the configuration."""
    search_progress: float | None
    """What a search says of itself; most do not."""
    reported_progress: float | None
    """The sum of what its trials report."""
    trials: int
    best_trial_id: int | None
    best_metric: float | None
    checkpoints: int
    """Those that have files."""
    checkpoint_bytes: int
    model_definition_bytes: int | None
    owner_id: int
    owner: str
    """The owner's name of today."""
    owner_display_name: str
    project_id: int
    project: str
    project_owner_id: int
    workspace_id: int
    """0 where the project is not known, as the numbers and names beside it."""
    workspace: str
    parent_archived: bool
    trial_ids: tuple[int, ...] = ()
    """Rows of lists have none."""


EXPERIMENT = by_name(ExperimentRow)


@dataclass(frozen=True, slots=True)
class Outline:
    """What handlers need of an experiment to do something with it, which costs little to read."""

    id: int
    name: str
    owner_id: int
    workspace_id: int | None
    archived: bool
    unmanaged: bool
    smaller_is_better: bool
    searcher_metric: str
    best_metric: float | None


@dataclass(frozen=True, slots=True)
class ValidationRow:
    trial_id: int
    metric: float
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class IdRange:
    """Experiments by their numbers; None is no bound."""

    above: int | None = None
    least: int | None = None
    below: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which experiments: those that fulfil all of this. What is empty or None is no condition."""

    archived: bool | None = None
    name_part: str = ""
    """In any case of letters, as the part of the description."""
    description_part: str = ""
    labels: Sequence[str] = ()
    """All of which an experiment has."""
    owner_ids: Sequence[int] = ()
    owners: Sequence[str] = ()
    """By their names of today."""
    project_id: int = 0
    states: Sequence[str] = ()
    """As experiments are kept under (`resolute.api.experiments.filters.kept_states`)."""
    ids: Sequence[int] = ()
    excluded_ids: Sequence[int] = ()
    id_range: IdRange = IdRange()


class ExperimentQueries(Protocol):
    """Lists hold what lies within the scope. They are in the order that is asked for, and by id where that leaves two
    alike; what is missing comes last."""

    async def experiments(
        self, scope: Scope, wanted: Wanted, by: SortExperimentsBy, *, descending: bool, window: Window
    ) -> Listed[ExperimentRow]: ...

    async def experiment_ids(self, scope: Scope, wanted: Wanted) -> Sequence[int]:
        """The numbers of all that are wanted, in their order."""

    async def experiment(self, experiment_id: int) -> ExperimentRow | None: ...

    async def outline(self, experiment_id: int) -> Outline | None: ...

    async def archived(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Mapping[int, bool]:
        """By the numbers of those that exist, in this project if it is not 0: whether they are archived."""

    async def trial_ids(self, experiment_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """The trials of each experiment, in their order; experiments without trials are not there."""

    async def labels(self, scope: Scope, project_id: int = 0) -> Sequence[str]:
        """Those in use, in this project if it is not 0: the most used first, and by name where two are used alike."""

    async def validations(self, experiment_id: int) -> Sequence[ValidationRow]:
        """Those that have a metric, as they came."""


# ---------------------------------------------------------------- Postgres

# What people are shown of an active experiment is how far the furthest of its allocations has come.
_RUNS = sql_list((AllocationState.RUNNING, AllocationState.TERMINATING))
PHASE = f"""CASE WHEN e.state <> '{ExperimentState.ACTIVE}' THEN e.state
    WHEN e.unmanaged THEN '{Phase.RUNNING}' ELSE coalesce((
    SELECT CASE max(CASE WHEN a.state IN {_RUNS} THEN 3 WHEN a.state = '{AllocationState.ASSIGNED}' THEN 2 ELSE 1 END)
           WHEN 3 THEN '{Phase.RUNNING}' WHEN 2 THEN '{Phase.STARTING}' ELSE '{Phase.QUEUED}' END
    FROM read_tasks.allocations a WHERE a.experiment_id = e.id AND a.ended_at IS NULL), '{Phase.QUEUED}') END"""

FROM = """FROM read_experiments.experiments e
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
LEFT JOIN read_identity.users u ON u.id = e.owner_id
LEFT JOIN read_trials.standings d ON d.experiment_id = e.id"""

OWNER = "coalesce(u.username, e.owner)"

EXPERIMENTS = f"""SELECT e.id, e.job_id, e.name, e.description, e.notes, e.labels, e.state, {PHASE} AS phase, e.reason,
    e.archived, e.started_at, e.ended_at, e.parent_id, e.unmanaged, e.external_id, e.resource_pool, e.searcher_type,
    e.searcher_metric, e.search_progress, e.owner_id, e.project_id,
    f.config, f.original_config, f.config -> 'hyperparameters' AS hyperparameters,
    f.config #>> '{{searcher,max_trials}}' AS max_trials,
    coalesce(d.trials, 0) AS trials, d.best_trial_id, d.best_metric,
    coalesce(p.name, '') AS project, coalesce(p.owner_id, 0) AS project_owner_id,
    coalesce(p.workspace_id, 0) AS workspace_id, coalesce(w.name, '') AS workspace,
    coalesce(p.archived OR w.archived, false) AS parent_archived,
    coalesce(u.display_name, '') AS owner_display_name, {OWNER} AS owner,
    c.checkpoints, c.bytes AS checkpoint_bytes, g.progress AS reported_progress,
    b.size_bytes AS model_definition_bytes
{FROM}
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id
CROSS JOIN LATERAL (
    SELECT count(*) AS checkpoints, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM read_checkpoints.checkpoints c
    WHERE c.experiment_id = e.id AND c.state IN {sql_list(WITH_FILES)}) c
CROSS JOIN LATERAL (
    SELECT sum(n.progress) AS progress FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    WHERE t.experiment_id = e.id) g
LEFT JOIN LATERAL (SELECT size_bytes FROM api.blobs WHERE sha256 = e.model_definition) b ON true"""

ONE = f"""SELECT x.*,
    ARRAY(SELECT t.id FROM read_trials.trials t WHERE t.experiment_id = x.id ORDER BY t.id) AS trial_ids
FROM ({EXPERIMENTS} WHERE e.id = $1) x"""

OUTLINE = """SELECT e.id, e.name, e.owner_id, p.workspace_id, e.archived, e.unmanaged, e.smaller_is_better,
    e.searcher_metric, d.best_metric
FROM read_experiments.experiments e
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_trials.standings d ON d.experiment_id = e.id
WHERE e.id = $1"""

ARCHIVED = "SELECT id, archived FROM read_experiments.experiments"

TRIAL_IDS = "SELECT experiment_id, id FROM read_trials.trials WHERE experiment_id = ANY($1::bigint[]) ORDER BY id"

LABELS = "SELECT label FROM read_experiments.experiments, unnest(labels) AS label"

VALIDATIONS = """SELECT trial_id, metric, reported_at FROM read_trials.validations
WHERE experiment_id = $1 AND metric IS NOT NULL ORDER BY reported_at, trial_id, steps_completed"""

COLUMNS = {
    SortExperimentsBy.DESCRIPTION: "e.description",
    SortExperimentsBy.NAME: "e.name",
    SortExperimentsBy.START_TIME: "e.started_at",
    SortExperimentsBy.END_TIME: "e.ended_at",
    SortExperimentsBy.STATE: "e.state",
    SortExperimentsBy.NUM_TRIALS: "d.trials",
    SortExperimentsBy.PROGRESS: "g.progress",
    SortExperimentsBy.USER: OWNER,
    SortExperimentsBy.FORKED_FROM: "e.parent_id",
    SortExperimentsBy.RESOURCE_POOL: "e.resource_pool",
    SortExperimentsBy.PROJECT_ID: "e.project_id",
    SortExperimentsBy.CHECKPOINT_SIZE: "k.bytes",
    SortExperimentsBy.CHECKPOINT_COUNT: "k.checkpoints",
    SortExperimentsBy.SEARCHER_METRIC_VAL: "d.best_metric",
}
"""What lists are sorted by, other than the id."""

WITH_CHECKPOINTS = f""" LEFT JOIN (
    SELECT experiment_id, count(*) AS checkpoints, sum(size_bytes) AS bytes FROM read_checkpoints.checkpoints
    WHERE state IN {sql_list(WITH_FILES)} GROUP BY experiment_id) k ON k.experiment_id = e.id"""

WITH_PROGRESS = """ LEFT JOIN (
    SELECT t.experiment_id, sum(n.progress) AS progress
    FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    GROUP BY t.experiment_id) g ON g.experiment_id = e.id"""

JOINS = {
    SortExperimentsBy.CHECKPOINT_SIZE: WITH_CHECKPOINTS,
    SortExperimentsBy.CHECKPOINT_COUNT: WITH_CHECKPOINTS,
    SortExperimentsBy.PROGRESS: WITH_PROGRESS,
}
"""What must be worked out for every experiment before they can be put in that order."""


class PostgresExperiments:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def experiments(
        self, scope: Scope, wanted: Wanted, by: SortExperimentsBy, *, descending: bool, window: Window
    ) -> Listed[ExperimentRow]:
        order = ordering(COLUMNS.get(by, "e.id"), "e.id", descending=descending, never_null=("e.started_at",))
        source, where = FROM + JOINS.get(by, ""), _conditions(scope, wanted)
        found = await listed_by_key(self._tables, EXPERIMENTS, source, where, order, window, key="e.id")
        return Listed([_row(row) for row in found.rows], found.page)

    async def experiment_ids(self, scope: Scope, wanted: Wanted) -> Sequence[int]:
        where = _conditions(scope, wanted)
        found = await self._tables.rows(f"SELECT e.id {FROM}{where.sql} ORDER BY e.id", *where.args)
        return [row["id"] for row in found]

    async def experiment(self, experiment_id: int) -> ExperimentRow | None:
        row = await self._tables.row(ONE, experiment_id)
        return None if row is None else _row(row, row["trial_ids"])

    async def outline(self, experiment_id: int) -> Outline | None:
        row = await self._tables.row(OUTLINE, experiment_id)
        return None if row is None else Outline(**row)

    async def archived(self, scope: Scope, ids: Sequence[int], project_id: int = 0) -> Mapping[int, bool]:
        where = _in_project(scope, project_id)
        where.add("id = ANY(?::bigint[])", ids)
        return {row["id"]: row["archived"] for row in await self._tables.rows(ARCHIVED + where.sql, *where.args)}

    async def trial_ids(self, experiment_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        for row in await self._tables.rows(TRIAL_IDS, experiment_ids):
            found.setdefault(row["experiment_id"], []).append(row["id"])
        return found

    async def labels(self, scope: Scope, project_id: int = 0) -> Sequence[str]:
        where = _in_project(scope, project_id)
        by_use = " GROUP BY label ORDER BY count(*) DESC, label"
        return [row["label"] for row in await self._tables.rows(LABELS + where.sql + by_use, *where.args)]

    async def validations(self, experiment_id: int) -> Sequence[ValidationRow]:
        return [ValidationRow(**row) for row in await self._tables.rows(VALIDATIONS, experiment_id)]


def _row(row: asyncpg.Record, trial_ids: Sequence[int] = ()) -> ExperimentRow:
    columns: dict[str, Any] = dict(row)
    columns["labels"], columns["trial_ids"] = tuple(row["labels"]), tuple(trial_ids)
    return EXPERIMENT(columns)


def _in_project(scope: Scope, project_id: int) -> Where:
    where = Where(scope, WORKSPACE_OF_PROJECT.format("project_id"))
    if project_id:
        where.add("project_id = ?", project_id)
    return where


def _conditions(scope: Scope, wanted: Wanted) -> Where:
    where = Where(scope, "p.workspace_id")
    for clause, value in _clauses(wanted).items():
        if value is not None:
            where.add(clause, value)
    return where


def _clauses(wanted: Wanted) -> Mapping[str, Any]:
    """The conditions, in which `?` stands for the value; None where it is no condition."""
    return {
        "e.archived = ?": wanted.archived,
        "e.name ILIKE ?": pattern(wanted.name_part) if wanted.name_part else None,
        "e.description ILIKE ?": pattern(wanted.description_part) if wanted.description_part else None,
        "e.labels @> ?::text[]": wanted.labels or None,
        "e.owner_id = ANY(?::int[])": wanted.owner_ids or None,
        f"{OWNER} = ANY(?::text[])": wanted.owners or None,
        "e.project_id = ?": wanted.project_id or None,
        "e.state = ANY(?::text[])": wanted.states or None,
        "e.id > ?": wanted.id_range.above,
        "e.id >= ?": wanted.id_range.least,
        "e.id < ?": wanted.id_range.below,
        "e.id <= ?": wanted.id_range.most,
        "e.id = ANY(?::bigint[])": wanted.ids or None,
        "e.id <> ALL(?::bigint[])": wanted.excluded_ids or None,
    }


QUERIES: Port[ExperimentQueries] = Port(PostgresExperiments)
