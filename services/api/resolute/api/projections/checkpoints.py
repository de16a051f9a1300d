"""Checkpoints: event -> rows."""

from __future__ import annotations

from resolute.api.projections.statement import Statement, document, statement, update
from resolute.proto.checkpoint import (
    CheckpointAnnounced,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
    CheckpointMetadataChanged,
)
from resolute.proto.message import Recorded
from resolute.proto.states import CheckpointState

ANNOUNCED = f"""INSERT INTO read_v1.checkpoints
    (uuid, experiment_id, trial_id, task_id, allocation_id, storage, state, reported_at)
VALUES ($1, $2, $3, $4, $5, $6, '{CheckpointState.ACTIVE}', $7) ON CONFLICT (uuid) DO NOTHING"""

COMPLETED = f"""INSERT INTO read_v1.checkpoints
    (uuid, experiment_id, trial_id, task_id, allocation_id, run_id, steps_completed, storage, resources, size_bytes,
     metadata, state, reported_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '{CheckpointState.COMPLETED}', $12)
ON CONFLICT (uuid) DO UPDATE SET run_id = EXCLUDED.run_id, steps_completed = EXCLUDED.steps_completed,
    storage = EXCLUDED.storage, resources = EXCLUDED.resources, size_bytes = EXCLUDED.size_bytes,
    metadata = EXCLUDED.metadata, state = EXCLUDED.state, reported_at = EXCLUDED.reported_at"""


def project(recorded: Recorded) -> list[Statement]:
    match recorded.event:
        case CheckpointAnnounced() as c:
            args = (c.uuid, c.experiment_id, c.trial_id, c.task_id, c.allocation_id, document(c.storage))
            return [statement(ANNOUNCED, *args, recorded.recorded_at, touches=(f"checkpoints:{c.uuid}",))]
        case CheckpointCompleted() as done:
            return [_completed(done, recorded)]
        case CheckpointMetadataChanged(uuid=uuid, metadata=metadata):
            return [update("checkpoints", "uuid", uuid, metadata=document(metadata))]
        case CheckpointDeletionRequested(uuid=uuid, globs=()):
            # From here on nobody may restore from it, whether or not its last file is gone already.
            return [update("checkpoints", "uuid", uuid, state=CheckpointState.DELETED)]
        case CheckpointFilesRemoved(uuid=uuid, resources=resources):
            return [
                update(
                    "checkpoints",
                    "uuid",
                    uuid,
                    resources=document(resources),
                    size_bytes=sum(resources.values()),
                    state=CheckpointState.PARTIALLY_DELETED if resources else CheckpointState.DELETED,
                )
            ]
        case CheckpointDeleted(uuid=uuid):
            return [update("checkpoints", "uuid", uuid, state=CheckpointState.DELETED, resources="{}", size_bytes=0)]
    return []


def _completed(done: CheckpointCompleted, recorded: Recorded) -> Statement:
    return statement(
        COMPLETED,
        done.uuid,
        done.experiment_id,
        done.trial_id,
        done.task_id,
        done.allocation_id,
        done.run_id,
        done.steps_completed,
        document(done.storage),
        document(done.resources),
        sum(done.resources.values()),
        document(done.metadata),
        recorded.recorded_at,
        touches=(f"checkpoints:{done.uuid}",),
    )
