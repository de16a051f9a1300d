"""Checkpoints in the short form that the workloads of a trial have."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from resolute.api.checkpoints.shown import files_of, with_steps
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.wire import int64, timestamp
from resolute.proto.states import CheckpointState

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
        "resources": {path: int64(size) for path, size in files_of(state, orjson.loads(resources)).items()},
        "metadata": with_steps(orjson.loads(metadata), steps),
    }
