"""Checkpoints, as the wire shows them: the record, and the metrics its trial reported at that step."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import orjson

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.views.shown import shown_config
from resolute.api.wire import int64, number, timestamp
from resolute.proto.errors import NotFound
from resolute.proto.states import CheckpointState

FROM = """FROM read_checkpoints.checkpoints c
LEFT JOIN read_trials.trials t ON t.id = c.trial_id
LEFT JOIN read_experiments.experiments e ON e.id = c.experiment_id
LEFT JOIN read_trials.validations v ON v.trial_id = c.trial_id AND v.steps_completed = c.steps_completed"""

SELECT = f"""SELECT c.*, t.hparams, f.config, v.metric {FROM}
LEFT JOIN read_experiments.experiment_configs f ON f.experiment_id = c.experiment_id"""

COUNT = f"SELECT count(*) {FROM}"

# Of the step of each checkpoint, the latest run's report.
METRICS = """SELECT DISTINCT ON (m.trial_id, m.steps, m.kind) m.trial_id, m.steps, m.kind, m.metrics
FROM unnest($1::bigint[], $2::int[]) AS wanted (trial_id, steps)
JOIN measures.metrics m ON m.trial_id = wanted.trial_id AND m.steps = wanted.steps
WHERE m.kind IN ('training', 'validation')
ORDER BY m.trial_id, m.steps, m.kind, m.run_id DESC"""

STATES = tuple(CheckpointState)

Metrics = Mapping[tuple[int, int, str], dict[str, Any]]


async def checkpoint_of(read: ReadModel, uuid: str) -> dict[str, Any]:
    row = await read.row(f"{SELECT} WHERE c.uuid = $1", uuid)
    if row is None:
        raise NotFound(f"checkpoint {uuid} not found")
    [shown] = await checkpoints_json(read, [row])
    return shown


async def checkpoints_json(read: ReadModel, rows: Sequence[asyncpg.Record]) -> list[dict[str, Any]]:
    found = await read.rows(METRICS, [row["trial_id"] for row in rows], [row["steps_completed"] for row in rows])
    metrics = {(m["trial_id"], m["steps"], m["kind"]): orjson.loads(m["metrics"]) for m in found}
    return [_checkpoint_json(row, metrics) for row in rows]


def _checkpoint_json(row: asyncpg.Record, metrics: Metrics) -> dict[str, Any]:
    place = (row["trial_id"], row["steps_completed"])
    training: dict[str, Any] = {
        "trialId": row["trial_id"],
        "experimentId": row["experiment_id"],
        "experimentConfig": shown_config(row["config"]) if row["config"] else None,
        "hparams": orjson.loads(row["hparams"]) if row["hparams"] else None,
        "trainingMetrics": _metrics(metrics.get((*place, "training"))),
        "validationMetrics": _metrics(metrics.get((*place, "validation"))),
    }
    if row["metric"] is not None:
        training["searcherMetric"] = number(row["metric"])
    return {
        "uuid": row["uuid"],
        "taskId": row["task_id"],
        "allocationId": row["allocation_id"],
        "reportTime": timestamp(row["reported_at"]),
        "state": f"STATE_{row['state']}",
        "storageId": storage_id(orjson.loads(row["storage"])),
        "resources": _resources(row["state"], row["resources"]),
        "metadata": _metadata(row["metadata"], row["steps_completed"]),
        "training": training,
    }


def _metrics(values: dict[str, Any] | None) -> dict[str, Any]:
    return {"avgMetrics": values or {}, "batchMetrics": []}


def storage_id(storage: Mapping[str, Any]) -> int:
    """A number for the place where files lie: the same wherever `checkpoint_storage` names the same place, whatever it
    says of how many checkpoints to keep."""
    place = {name: value for name, value in storage.items() if value is not None and not name.startswith("save_")}
    return zlib.crc32(orjson.dumps(place, option=orjson.OPT_SORT_KEYS)) & 0x7FFFFFFF


def _resources(state: str, document: str) -> dict[str, str]:
    """None of one that is deleted, also while its last files are still being removed."""
    if state == CheckpointState.DELETED:
        return {}
    return {path: int64(size) for path, size in sorted(orjson.loads(document).items())}


def _metadata(document: str, steps: int) -> dict[str, Any]:
    """Never empty: clients take an empty one for a checkpoint that is not there."""
    return {"steps_completed": steps, **orjson.loads(document)}


# ---------------------------------------------------------------- the short form, among a trial's workloads

WORKLOADS = """SELECT uuid, state, steps_completed, resources, metadata, reported_at FROM read_checkpoints.checkpoints
WHERE trial_id = $1 ORDER BY steps_completed, reported_at, uuid"""


async def checkpoint_workloads(read: ReadModel, trial_id: int) -> list[dict[str, Any]]:
    return [
        workload_json(
            uuid=row["uuid"],
            state=row["state"],
            steps=row["steps_completed"],
            resources=row["resources"],
            metadata=row["metadata"],
            reported_at=row["reported_at"],
        )
        for row in await read.rows(WORKLOADS, trial_id)
    ]


def workload_json(
    *, uuid: str, state: str, steps: int, resources: str, metadata: str, reported_at: datetime
) -> dict[str, Any]:
    # Clients know no PARTIALLY_DELETED here.
    return {
        "uuid": uuid,
        "state": f"STATE_{CheckpointState.COMPLETED if state == CheckpointState.PARTIALLY_DELETED else state}",
        "totalBatches": steps,
        "endTime": timestamp(reported_at),
        "resources": _resources(state, resources),
        "metadata": _metadata(metadata, steps),
    }
