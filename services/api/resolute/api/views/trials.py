"""Trials, as the wire shows them: the searcher's story joined with what the trial reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import asyncpg
import orjson

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.measures.metrics import MetricStore, Stored, TrialSummary
from resolute.api.shown_states import AllocationState, Phase, sql_list
from resolute.api.views.checkpoints import workload_json
from resolute.api.wire import int64, number, timestamp
from resolute.proto.errors import NotFound
from resolute.proto.states import STOPPING, WITH_FILES, CheckpointState, ExperimentState, TrialState

# What people are shown of an active trial is how far its allocation has come. One that has reached its target and given
# its slots back waits for the search, and for no slots.
PHASE = f"""CASE
    WHEN t.state <> '{TrialState.ACTIVE}' THEN t.state
    WHEN e.state IN {sql_list((*STOPPING, ExperimentState.PAUSED))} THEN e.state
    WHEN a.state = '{AllocationState.RUNNING}' THEN '{Phase.RUNNING}'
    WHEN a.state = '{AllocationState.ASSIGNED}' THEN '{Phase.STARTING}'
    WHEN a.state = '{AllocationState.TERMINATING}' THEN '{TrialState.STOPPING_CANCELED}'
    WHEN t.target_reached AND r.ended_at IS NOT NULL THEN '{TrialState.PAUSED}'
    ELSE '{Phase.QUEUED}' END"""

FROM = """FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
LEFT JOIN read_trials.runs r ON r.trial_id = t.id AND r.run_id = t.run_id
LEFT JOIN read_tasks.allocations a ON a.allocation_id = r.allocation_id AND a.ended_at IS NULL"""

SELECT = f"""SELECT t.*, {PHASE} AS phase, e.searcher_metric, e.smaller_is_better,
    e.log_retention_days AS experiments_log_retention_days, c.*, k.checkpoints, k.bytes, w.wall_s
{FROM}
LEFT JOIN LATERAL (
    SELECT c.uuid AS best_uuid, c.steps_completed AS checkpoint_steps, c.resources AS checkpoint_resources,
           c.metadata AS checkpoint_metadata, c.state AS checkpoint_state, c.reported_at AS checkpoint_at
    FROM read_checkpoints.checkpoints c
    LEFT JOIN read_trials.validations v ON v.trial_id = c.trial_id AND v.steps_completed = c.steps_completed
    WHERE c.trial_id = t.id AND c.state = '{CheckpointState.COMPLETED}'
    ORDER BY v.metric * CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END NULLS LAST, c.steps_completed DESC, c.uuid
    LIMIT 1) c ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS checkpoints, coalesce(sum(size_bytes), 0) AS bytes FROM read_checkpoints.checkpoints k
    WHERE k.trial_id = t.id AND k.state IN {sql_list(WITH_FILES)}) k
CROSS JOIN LATERAL (
    SELECT coalesce(sum(extract(epoch FROM r.ended_at - coalesce(r.started_at, r.ended_at))), 0) AS wall_s
    FROM read_trials.runs r WHERE r.trial_id = t.id) w"""

COUNT = f"SELECT count(*) {FROM}"

STATES = (
    *(TrialState.ACTIVE, TrialState.PAUSED, TrialState.STOPPING_CANCELED, TrialState.STOPPING_KILLED),
    *(TrialState.STOPPING_COMPLETED, ExperimentState.STOPPING_ERROR),
    *(TrialState.CANCELED, TrialState.COMPLETED, TrialState.ERROR, *Phase),
)


async def trial_of(read: ReadModel, measured: MetricStore, trial_id: int) -> dict[str, Any]:
    """One trial in full, with the summary of all its metrics."""
    row = await read.row(f"{SELECT} WHERE t.id = $1", trial_id)
    if row is None:
        raise NotFound(f"trial {trial_id} not found")
    [shown] = await trials_json(measured, [row])
    shown["summaryMetrics"] = await measured.columns(trial_id)
    return shown


async def trials_json(measured: MetricStore, rows: Sequence[asyncpg.Record]) -> list[dict[str, Any]]:
    summaries = await _summaries(measured, rows)
    return [_trial_json(row, summaries.get(row["id"], TrialSummary())) for row in rows]


async def _summaries(measured: MetricStore, rows: Sequence[asyncpg.Record]) -> Mapping[int, TrialSummary]:
    """By trial; one question for each searcher metric among them, which is one for the trials of an experiment."""
    found: dict[int, TrialSummary] = {}

    def metric(row: asyncpg.Record) -> tuple[str, bool]:
        return row["searcher_metric"], row["smaller_is_better"]

    for (name, smaller), group in groupby(sorted(rows, key=metric), key=metric):
        found.update(await measured.summaries([row["id"] for row in group], name, smaller))
    return found


def _trial_json(row: asyncpg.Record, summary: TrialSummary) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": row["id"],
        "experimentId": row["experiment_id"],
        "startTime": timestamp(row["started_at"]),
        "endTime": timestamp(row["ended_at"]),
        "state": f"STATE_{row['phase']}",
        "restarts": row["restarts"],
        "hparams": orjson.loads(row["hparams"]),
        "totalBatchesProcessed": summary.total_batches,
        "bestValidation": _workload(summary.best),
        "latestValidation": _workload(summary.latest),
        "bestCheckpoint": _best_checkpoint(row),
        "runnerState": summary.runner_state,
        "wallClockTime": float(row["wall_s"]),
        "warmStartCheckpointUuid": row["warm_start"] or "",
        "taskId": row["task_id"],
        "taskIds": [row["task_id"]],
        "totalCheckpointSize": int64(int(row["bytes"])),
        "checkpointCount": row["checkpoints"],
        "summaryMetrics": None,
        "searcherMetricValue": number(row["best_metric"]),
    }
    if row["reason"]:
        shown["stateReason"] = row["reason"]  # not of Determined's wire: other clients ignore it
    own, experiments = row["log_retention_days"], row["experiments_log_retention_days"]
    if (days := experiments if own is None else own) is not None:
        shown["logRetentionDays"] = days
    if row["logs_removed_at"] is not None:
        shown["logsRemovedAt"] = timestamp(row["logs_removed_at"])  # not of Determined's wire either
    if row["log_policy_matched"] is not None:
        shown["logPolicyMatched"] = row["log_policy_matched"]
    if (metadata := metadata_of(row["metadata"], summary)) is not None:
        shown["metadata"] = metadata
    return {key: value for key, value in shown.items() if key != "searcherMetricValue" or value is not None}


def metadata_of(recorded: str | None, summary: TrialSummary) -> dict[str, Any] | None:
    """As the log has them; else those of an earlier release that are not carried over into the log yet."""
    if recorded is None:
        return summary.metadata
    metadata: dict[str, Any] = orjson.loads(recorded)
    return metadata


def _workload(stored: Stored | None) -> dict[str, Any] | None:
    if stored is None:
        return None
    return {
        "metrics": {"avgMetrics": stored.metrics, "batchMetrics": []},
        "numInputs": 0,
        "totalBatches": stored.steps,
        "endTime": timestamp(stored.reported_at),
    }


def _best_checkpoint(row: asyncpg.Record) -> dict[str, Any] | None:
    if row["best_uuid"] is None:
        return None
    return workload_json(
        uuid=row["best_uuid"],
        state=row["checkpoint_state"],
        steps=row["checkpoint_steps"],
        resources=row["checkpoint_resources"],
        metadata=row["checkpoint_metadata"],
        reported_at=row["checkpoint_at"],
    )
