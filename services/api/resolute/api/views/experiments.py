"""Experiments, as the wire shows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import asyncpg
import orjson

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.shown_states import AllocationState, Phase, sql_list
from resolute.api.views.listing import Where, pattern
from resolute.api.views.shown import Shown, shown_both
from resolute.api.wire import int64, number, timestamp
from resolute.proto.errors import NotFound
from resolute.proto.states import WITH_FILES, ExperimentState

# What people are shown of an active experiment is how far the furthest of its allocations has come.
_RUNS = sql_list((AllocationState.RUNNING, AllocationState.TERMINATING))
PHASE = f"""CASE WHEN e.state <> '{ExperimentState.ACTIVE}' THEN e.state ELSE coalesce((
    SELECT CASE max(CASE WHEN a.state IN {_RUNS} THEN 3 WHEN a.state = '{AllocationState.ASSIGNED}' THEN 2 ELSE 1 END)
           WHEN 3 THEN '{Phase.RUNNING}' WHEN 2 THEN '{Phase.STARTING}' ELSE '{Phase.QUEUED}' END
    FROM read_tasks.allocations a WHERE a.experiment_id = e.id AND a.ended_at IS NULL), '{Phase.QUEUED}') END"""

FROM = """FROM read_experiments.experiments e
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_workspaces.workspaces w ON w.id = p.workspace_id
LEFT JOIN read_identity.users u ON u.id = e.owner_id
LEFT JOIN read_trials.standings d ON d.experiment_id = e.id"""

SELECT = f"""SELECT e.*, f.config, f.original_config, f.config -> 'hyperparameters' AS hyperparameters,
    f.config #>> '{{searcher,max_trials}}' AS max_trials, {PHASE} AS phase,
    coalesce(d.trials, 0) AS trials, d.best_trial_id, d.best_metric,
    p.name AS project, p.owner_id AS project_owner_id, p.workspace_id,
    w.name AS workspace, coalesce(p.archived OR w.archived, false) AS parent_archived,
    coalesce(u.display_name, '') AS display_name, coalesce(u.username, e.owner) AS username,
    c.checkpoints, c.bytes, g.progress, b.size_bytes AS model_definition_bytes
{FROM}
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id
CROSS JOIN LATERAL (
    SELECT count(*) AS checkpoints, coalesce(sum(size_bytes), 0) AS bytes FROM read_checkpoints.checkpoints c
    WHERE c.experiment_id = e.id AND c.state IN {sql_list(WITH_FILES)}) c
CROSS JOIN LATERAL (
    SELECT sum(n.progress) AS progress FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    WHERE t.experiment_id = e.id) g
LEFT JOIN LATERAL (SELECT size_bytes FROM api.blobs WHERE sha256 = e.model_definition) b ON true"""

ONE = f"""SELECT x.*,
    ARRAY(SELECT t.id FROM read_trials.trials t WHERE t.experiment_id = x.id ORDER BY t.id) AS trial_ids
FROM ({SELECT} WHERE e.id = $1) x"""

COUNT = f"SELECT count(*) {FROM}"

STATES = (*(state for state in ExperimentState if state is not ExperimentState.ABSENT), *Phase)

TRIAL_IDS = "SELECT id FROM read_trials.trials WHERE experiment_id = $1 ORDER BY id"


TEXTS = ("name", "description")
"""Columns of which a part may be looked for."""


def kept_as(states: Collection[str]) -> list[str]:
    """The states that experiments are kept under: how far the trials of an active one have come is not among them."""
    return sorted({ExperimentState.ACTIVE if name in tuple(Phase) else name for name in states})


def narrow(
    where: Where, texts: Mapping[str, str | None], labels: Sequence[str] | None, user_ids: Sequence[int] | None
) -> None:
    """The conditions that lists of experiments and actions on many have in common. `texts`: parts of the name and of
    the description. What is empty is no condition."""
    for column, text in texts.items():
        if text:
            where.add(f"e.{column} ILIKE ?", pattern(text))
    if labels:
        where.add("e.labels @> ?::text[]", labels)
    if user_ids:
        where.add("e.owner_id = ANY(?::int[])", user_ids)


async def row_of(read: ReadModel, experiment_id: int) -> asyncpg.Record:
    row = await read.row(f"{SELECT} WHERE e.id = $1", experiment_id)
    if row is None:
        raise NotFound(f"experiment {experiment_id} not found")
    return row


Reveal: TypeAlias = Callable[[asyncpg.Record], Awaitable[Shown | None]]
"""What a caller may see of the configuration of an experiment beyond what everybody sees, if anything."""


async def experiment_of(read: ReadModel, experiment_id: int, reveal: Reveal | None = None) -> dict[str, Any]:
    row = await read.row(ONE, experiment_id)
    if row is None:
        raise NotFound(f"experiment {experiment_id} not found")
    shown = await reveal(row) if reveal is not None else None
    return {**experiment_json(row, shown), "trialIds": row["trial_ids"]}


def experiment_json(row: asyncpg.Record, shown: Shown | None = None) -> dict[str, Any]:
    """`shown`: the configuration, where the caller may see more of it than everybody."""
    config, original = shown or shown_both(row["config"], row["original_config"])
    hyperparameters = row["hyperparameters"]
    found: dict[str, Any] = {
        "id": row["id"],
        "jobId": row["job_id"],
        "name": row["name"],
        "description": row["description"],
        "notes": row["notes"],
        "labels": row["labels"],
        "state": f"STATE_{row['phase']}",
        "archived": row["archived"],
        "startTime": timestamp(row["started_at"]),
        "endTime": timestamp(row["ended_at"]),
        "numTrials": row["trials"],
        "trialIds": [],
        "progress": progress_of(row),
        "forkedFrom": row["parent_id"],
        "resourcePool": row["resource_pool"],
        "searcherType": row["searcher_type"],
        "searcherMetric": row["searcher_metric"],
        "hyperparameters": orjson.Fragment(hyperparameters) if hyperparameters else {},
        "config": config,
        "originalConfig": original,
        "unmanaged": row["unmanaged"],
        "checkpointCount": row["checkpoints"],
        "checkpointSize": int64(int(row["bytes"])),
        **_whose(row),
    }
    if row["best_trial_id"] is not None:
        found["bestTrialId"] = row["best_trial_id"]
        found["bestTrialSearcherMetric"] = number(row["best_metric"])
    if row["ended_at"] is not None:
        found["duration"] = int((row["ended_at"] - row["started_at"]).total_seconds())
    if row["reason"]:
        found["stateReason"] = row["reason"]  # not of Determined's wire: other clients ignore it
    if row["external_id"] is not None:
        found["externalExperimentId"] = row["external_id"]
    if row["model_definition_bytes"] is not None:
        found["modelDefinitionSize"] = row["model_definition_bytes"]
    return found


def _whose(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "username": row["username"],
        "displayName": row["display_name"],
        "userId": row["owner_id"],
        "projectId": row["project_id"],
        "projectName": row["project"] or "",
        "projectOwnerId": row["project_owner_id"] or 0,
        "workspaceId": row["workspace_id"] or 0,
        "workspaceName": row["workspace"] or "",
        "parentArchived": row["parent_archived"],
    }


def progress_of(row: asyncpg.Record) -> float | None:
    """The mean progress of all the trials there will be, or what the search says itself; 1 once it has completed."""
    if row["state"] == ExperimentState.COMPLETED:
        return 1.0
    if row["search_progress"] is not None:
        return float(row["search_progress"])
    if row["progress"] is None:
        return None
    expected = max(int(row["max_trials"] or 1), int(row["trials"]), 1)
    return min(float(row["progress"]) / expected, 1.0)
