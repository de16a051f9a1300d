"""Workspaces and projects, as the wire shows them."""

from __future__ import annotations

from typing import Any

import asyncpg
import orjson

from resolute.api.wire import timestamp
from resolute.proto.states import ExperimentState

WORKSPACES = """SELECT w.*, coalesce(u.username, '') AS owner,
    (SELECT count(*) FROM read_v1.projects p WHERE p.workspace_id = w.id) AS projects,
    (SELECT count(*) FROM read_v1.experiments e JOIN read_v1.projects p ON p.id = e.project_id
     WHERE p.workspace_id = w.id) AS experiments
FROM read_v1.workspaces w LEFT JOIN read_v1.users u ON u.id = w.owner_id"""

PROJECTS = f"""SELECT p.*, coalesce(u.username, '') AS owner, w.name AS workspace, e.*
FROM read_v1.projects p JOIN read_v1.workspaces w ON w.id = p.workspace_id
LEFT JOIN read_v1.users u ON u.id = p.owner_id
CROSS JOIN LATERAL (
    SELECT count(*) AS experiments,
           count(*) FILTER (WHERE e.ended_at IS NULL AND e.state <> '{ExperimentState.PAUSED}') AS active,
           coalesce(sum(e.trials), 0) AS runs, max(e.started_at) AS last_started_at
    FROM read_v1.experiments e WHERE e.project_id = p.id) e"""


def workspace_json(row: asyncpg.Record) -> dict[str, Any]:
    group, storage = row["agent_user_group"], row["checkpoint_storage"]
    return {
        "id": row["id"],
        "name": row["name"],
        "archived": row["archived"],
        "immutable": row["immutable"],
        "numProjects": row["projects"],
        "numExperiments": row["experiments"],
        "pinned": False,
        "userId": row["owner_id"],
        "username": row["owner"],
        "state": "WORKSPACE_STATE_UNSPECIFIED",
        "errorMessage": "",
        "defaultComputePool": row["default_compute_pool"],
        "defaultAuxPool": row["default_aux_pool"],
        **({"agentUserGroup": orjson.loads(group)} if group else {}),
        **({"checkpointStorageConfig": orjson.loads(storage)} if storage else {}),
    }


def project_json(row: asyncpg.Record) -> dict[str, Any]:
    return {
        "id": row["id"],
        "key": f"P{row['id']}",
        "name": row["name"],
        "description": row["description"],
        "archived": row["archived"],
        "immutable": row["immutable"],
        "workspaceId": row["workspace_id"],
        "workspaceName": row["workspace"],
        "userId": row["owner_id"],
        "username": row["owner"],
        "numExperiments": row["experiments"],
        "numActiveExperiments": row["active"],
        "numRuns": row["runs"],
        "lastExperimentStartedAt": timestamp(row["last_started_at"]),
        "notes": [],
        "state": "WORKSPACE_STATE_UNSPECIFIED",
        "errorMessage": "",
    }
