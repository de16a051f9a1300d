"""The job queue, as the wire shows it: who is served next in each pool, and who waits before whom.

A job is all that one experiment (or one task) asks for in one pool. Its place is that of `queue_order`; under fair
share this is an estimate, since shares move with what others hold.
"""

from __future__ import annotations

from typing import Any

import asyncpg

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.settings import ApiSettings
from resolute.api.shown_states import AllocationState
from resolute.api.views.experiments import progress_of
from resolute.api.views.queue_order import KEYED, by_keys, policies
from resolute.api.wire import timestamp

RANKED = f"""WITH {KEYED},
ranked AS (
    SELECT k.*,
        count(*) FILTER (WHERE NOT scheduled) OVER (
            PARTITION BY pool, requested = 0 ORDER BY {by_keys("k")}
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ahead,
        row_number() OVER (ORDER BY k.pool, k.scheduled DESC, {by_keys("k")}) AS number
    FROM keyed k)"""

OF_EXPERIMENT = "SELECT job_id FROM read_experiments.experiments WHERE id = $1"

LIVE = f"""SELECT bool_or(state <> '{AllocationState.QUEUED}') AS scheduled FROM read_tasks.allocations
WHERE job_id = $1 AND ended_at IS NULL HAVING count(*) > 0"""

COUNT = f"{RANKED} SELECT count(*) FROM ranked q"

_SHOWN = """
SELECT q.*, e.name AS experiment, e.state, d.trials, e.started_at AS submitted_at, p.workspace_id, u.id AS owner_id,
    f.config #>> '{searcher,max_trials}' AS max_trials, g.progress, e.search_progress
FROM page q
LEFT JOIN read_experiments.experiments e ON e.id = q.experiment_id
LEFT JOIN read_experiments.experiment_configs f ON f.experiment_id = q.experiment_id
LEFT JOIN read_trials.standings d ON d.experiment_id = q.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id
LEFT JOIN read_identity.users u ON u.username = q.owner
LEFT JOIN LATERAL (
    SELECT sum(n.progress) AS progress FROM read_trials.trials t JOIN measures.trial_notes n ON n.trial_id = t.id
    WHERE t.experiment_id = q.experiment_id) g ON true"""


async def job_of(read: ReadModel, text: str) -> str:
    """The id of a job; that of an experiment's where `text` is a number, which is easier to remember."""
    if not text.isdecimal() or len(text) > 9:
        return text
    return await read.value(OF_EXPERIMENT, int(text)) or text


def selecting(condition: str, window: str = "ORDER BY q.number") -> str:
    """The statement for the jobs that `condition` lets through; only those of the page are put together."""
    return f"{RANKED}, page AS (SELECT * FROM ranked q {condition} {window}) {_SHOWN} ORDER BY q.number"


# The mean time in the queue of what was given its slots, by pool and day.
WAITED = """SELECT pool, to_char(assigned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
    avg(extract(epoch FROM assigned_at - requested_at))::float8 AS seconds
FROM read_tasks.allocations WHERE assigned_at >= $1 GROUP BY pool, day ORDER BY pool, day"""


async def job_summary(read: ReadModel, settings: ApiSettings, job_id: str) -> dict[str, Any] | None:
    """How a job stands in the queue; None when it asks for nothing now. Only who waits is looked for among others."""
    row = await read.row(LIVE, job_id)
    if row is None or row["scheduled"]:
        return None if row is None else summary_json(row)
    row = await read.row(f"{RANKED} SELECT scheduled, ahead FROM ranked WHERE job_id = $4", *policies(settings), job_id)
    return None if row is None else summary_json(row)


def summary_json(row: asyncpg.Record) -> dict[str, Any]:
    if row["scheduled"]:
        return {"state": "STATE_SCHEDULED", "jobsAhead": 0}
    return {"state": "STATE_QUEUED", "jobsAhead": row["ahead"]}


def job_json(row: asyncpg.Record) -> dict[str, Any]:
    is_experiment = row["experiment_id"] is not None
    return {
        "summary": summary_json(row),
        "type": "TYPE_EXPERIMENT" if is_experiment else f"TYPE_{row['kind']}",
        "submissionTime": timestamp(row["submitted_at"] or row["requested_at"]),
        "username": row["owner"],
        "userId": row["owner_id"] or 0,
        "resourcePool": row["pool"],
        "isPreemptible": is_experiment,
        "priority": row["priority"],
        "weight": row["weight"],
        "entityId": str(row["experiment_id"]) if is_experiment else row["task_id"],
        "jobId": row["job_id"],
        "requestedSlots": row["requested"],
        "allocatedSlots": row["allocated"],
        "name": row["experiment"] or row["name"],
        "progress": (progress_of(row) if row["state"] else None) or 0,
        "workspaceId": row["workspace_id"] or 0,
    }
