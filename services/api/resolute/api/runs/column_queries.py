"""The fixed columns of runs and of searches: what each is in SQL, and what the statement must join for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from resolute.api.experiments.queries import OWNER
from resolute.api.runs.filters import Columns, Fixed, Kind
from resolute.api.shown_states import sql_list
from resolute.proto.states import STOPPING, WITH_FILES, ExperimentState, TrialState

TEXT, NUMBER, DATE, BOOLEAN = Kind.TEXT, Kind.NUMBER, Kind.DATE, Kind.BOOLEAN


@dataclass(frozen=True, slots=True)
class Sql:
    kind: Kind
    value: str
    join: str = ""
    """What the value is joined from, beyond what every statement joins."""
    order: str = ""
    """What sorts, where that is not the value."""
    order_join: str = ""
    plainly: str = ""
    """The column itself, where all values but `not_plain` are as it has them. The planner knows how many rows have
    each."""
    not_plain: frozenset[str] = frozenset()


PARENT_ARCHIVED = "coalesce(p.archived OR w.archived, false)"

RUN_ARCHIVED, RUN_PARENT_ARCHIVED = "(t.archived OR e.archived)", f"(e.archived OR {PARENT_ARCHIVED})"
"""A run is archived by itself, or with its search."""

SHOWN_OF_SEARCH = frozenset({TrialState.ACTIVE.value, *(state.value for state in (*STOPPING, ExperimentState.PAUSED))})
"""States that a run can have from its search."""

RUN_STATE = f"""CASE WHEN t.state = '{TrialState.ACTIVE}' AND e.state IN
    {sql_list((*STOPPING, ExperimentState.PAUSED))} THEN e.state ELSE t.state END"""
"""An active run of an experiment that is paused or stopping is shown so."""

USERS = "LEFT JOIN read_identity.users u ON u.id = e.owner_id"

_FILES = f"""LEFT JOIN (SELECT {{0}}, count(*) AS checkpoints, sum(size_bytes)::bigint AS bytes
    FROM read_checkpoints.checkpoints WHERE state IN {sql_list(WITH_FILES)} GROUP BY {{0}}) k ON k.{{0}} = {{1}}"""
RUN_FILES = _FILES.format("trial_id", "t.id")
SEARCH_FILES = _FILES.format("experiment_id", "e.id")

WORKSPACES = "LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id"

# As `resolute.api.experiments.progress` has it, from 0 to 100.
CONFIGS = "JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id"
PROGRESS_JOIN = f"""{CONFIGS} LEFT JOIN (
    SELECT pt.experiment_id, sum(pn.progress) AS progress
    FROM read_trials.trials pt JOIN measures.trial_notes pn ON pn.trial_id = pt.id
    GROUP BY pt.experiment_id) g ON g.experiment_id = e.id"""
PROGRESS = f"""100 * CASE WHEN e.state = '{ExperimentState.COMPLETED}' THEN 1
    WHEN e.search_progress IS NOT NULL THEN e.search_progress
    WHEN g.progress IS NOT NULL
        THEN least(g.progress / greatest((f.config #>> '{{searcher,max_trials}}')::int, d.trials, 1), 1) END"""


def _whole_seconds(table: str) -> str:
    return f"trunc(extract(epoch FROM {table}.ended_at - {table}.started_at))::double precision"


SHARED: Mapping[str, Sql] = {
    "tags": Sql(TEXT, "CASE WHEN cardinality(e.labels) > 0 THEN to_jsonb(e.labels)::text END"),
    "user": Sql(NUMBER, "e.owner_id", order=OWNER, order_join=USERS),
    "searcherType": Sql(TEXT, "e.searcher_type"),
    "searcherMetric": Sql(TEXT, "e.searcher_metric"),
    "resourcePool": Sql(TEXT, "e.resource_pool"),
    "forkedFrom": Sql(NUMBER, "e.parent_id"),
    "projectId": Sql(NUMBER, "e.project_id"),
    "externalExperimentId": Sql(TEXT, "e.external_id"),
    "parentArchived": Sql(BOOLEAN, PARENT_ARCHIVED, WORKSPACES),
}

OF_RUNS: Mapping[str, Sql] = {
    **SHARED,
    "id": Sql(NUMBER, "t.id"),
    "state": Sql(TEXT, RUN_STATE, plainly="t.state", not_plain=SHOWN_OF_SEARCH),
    "startTime": Sql(DATE, "t.started_at"),
    "endTime": Sql(DATE, "t.ended_at"),
    "duration": Sql(NUMBER, _whole_seconds("t")),
    "searcherMetricsVal": Sql(NUMBER, "t.best_metric"),
    "checkpointCount": Sql(NUMBER, "coalesce(k.checkpoints, 0)", RUN_FILES),
    "checkpointSize": Sql(NUMBER, "coalesce(k.bytes, 0)", RUN_FILES),
    "experimentId": Sql(NUMBER, "e.id"),
    "experimentName": Sql(TEXT, "e.name"),
    "experimentDescription": Sql(TEXT, "e.description"),
    "experimentProgress": Sql(NUMBER, PROGRESS, PROGRESS_JOIN),
    "externalRunId": Sql(TEXT, "NULL::text"),
    "isExpMultitrial": Sql(BOOLEAN, "coalesce(d.trials > 1, false)"),
    "archived": Sql(BOOLEAN, RUN_ARCHIVED),
    "parentArchived": Sql(BOOLEAN, RUN_PARENT_ARCHIVED, WORKSPACES),
}

OF_SEARCHES: Mapping[str, Sql] = {
    **SHARED,
    "id": Sql(NUMBER, "e.id"),
    "name": Sql(TEXT, "e.name"),
    "description": Sql(TEXT, "e.description"),
    "state": Sql(TEXT, "e.state"),
    "startTime": Sql(DATE, "e.started_at"),
    "endTime": Sql(DATE, "e.ended_at"),
    "duration": Sql(NUMBER, _whole_seconds("e")),
    "searcherMetricsVal": Sql(NUMBER, "d.best_metric"),
    "checkpointCount": Sql(NUMBER, "coalesce(k.checkpoints, 0)", SEARCH_FILES),
    "checkpointSize": Sql(NUMBER, "coalesce(k.bytes, 0)", SEARCH_FILES),
    "numTrials": Sql(NUMBER, "coalesce(d.trials, 0)"),
    "progress": Sql(NUMBER, PROGRESS, PROGRESS_JOIN),
    "externalTrialId": Sql(TEXT, "NULL::text"),
    "archived": Sql(BOOLEAN, "e.archived"),
}

UNSORTABLE = frozenset({"tags"})


def fixed(columns: Mapping[str, Sql]) -> Columns:
    return {name: Fixed(name, sql.kind) for name, sql in columns.items()}


RUN_COLUMNS, SEARCH_COLUMNS = fixed(OF_RUNS), fixed(OF_SEARCHES)
