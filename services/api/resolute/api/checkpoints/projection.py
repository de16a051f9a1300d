"""Checkpoints: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.experiments.projection import WHOSE, whose
from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.proto import streams
from resolute.proto.checkpoint import (
    CheckpointAnnounced,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
    CheckpointMetadataChanged,
)
from resolute.proto.experiment import ExperimentDeleted
from resolute.proto.message import Recorded
from resolute.proto.states import CheckpointState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    run_id: int
    steps_completed: int
    state: str
    storage: Document
    """The `checkpoint_storage` section that it is written under."""
    resources: Document
    """File paths within the checkpoint, with their sizes in bytes."""
    size_bytes: int
    metadata: Document
    reported_at: datetime


CHECKPOINTS = Table("checkpoints", Checkpoint, key=("uuid",), lookups=("experiment_id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _announced(announced: CheckpointAnnounced, recorded: Recorded, rows: Rows) -> None:
    if rows.get(CHECKPOINTS, announced.uuid) is not None:
        return  # announced again, by a run that repeats its steps, perhaps after it was completed
    checkpoint = Checkpoint(
        uuid=announced.uuid,
        experiment_id=announced.experiment_id,
        trial_id=announced.trial_id,
        task_id=announced.task_id,
        allocation_id=announced.allocation_id,
        run_id=0,
        steps_completed=0,
        state=CheckpointState.ACTIVE,
        storage=announced.storage,
        resources={},
        size_bytes=0,
        metadata={},
        reported_at=recorded.recorded_at,
    )
    rows.put(CHECKPOINTS, checkpoint)


def _completed(done: CheckpointCompleted, recorded: Recorded, rows: Rows) -> None:
    """The checkpoint stays that of the trial and of the allocation which announced it."""
    announced = rows.get(CHECKPOINTS, done.uuid) or done
    checkpoint = Checkpoint(
        uuid=done.uuid,
        experiment_id=announced.experiment_id,
        trial_id=announced.trial_id,
        task_id=announced.task_id,
        allocation_id=announced.allocation_id,
        run_id=done.run_id,
        steps_completed=done.steps_completed,
        state=CheckpointState.COMPLETED,
        storage=done.storage,
        resources=done.resources,
        size_bytes=sum(done.resources.values()),
        metadata=done.metadata,
        reported_at=recorded.recorded_at,
    )
    rows.put(CHECKPOINTS, checkpoint)


def _metadata_changed(changed: CheckpointMetadataChanged, _: Recorded, rows: Rows) -> None:
    rows.change(CHECKPOINTS, changed.uuid, metadata=changed.metadata)


def _deletion_requested(requested: CheckpointDeletionRequested, _: Recorded, rows: Rows) -> None:
    """From here on nothing may be restored from it, whether or not its last file is gone already. When only some of
    its files are to be deleted, it stays what it is until they are."""
    if not requested.globs:
        rows.change(CHECKPOINTS, requested.uuid, state=CheckpointState.DELETED)


def _files_removed(removed: CheckpointFilesRemoved, _: Recorded, rows: Rows) -> None:
    left = removed.resources
    state = CheckpointState.PARTIALLY_DELETED if left else CheckpointState.DELETED
    rows.change(CHECKPOINTS, removed.uuid, resources=left, size_bytes=sum(left.values()), state=state)


def _deleted(deleted: CheckpointDeleted, _: Recorded, rows: Rows) -> None:
    rows.change(CHECKPOINTS, deleted.uuid, state=CheckpointState.DELETED, resources={}, size_bytes=0)


def _experiment_deleted(_: ExperimentDeleted, recorded: Recorded, rows: Rows) -> None:
    for checkpoint in rows.where(CHECKPOINTS, "experiment_id", int(recorded.key)):
        rows.remove(CHECKPOINTS, checkpoint.uuid)


SHOWS: Mapping[type, Callable[[Any, Recorded, Rows], None]] = {
    CheckpointAnnounced: _announced,
    CheckpointCompleted: _completed,
    CheckpointMetadataChanged: _metadata_changed,
    CheckpointDeletionRequested: _deletion_requested,
    CheckpointFilesRemoved: _files_removed,
    CheckpointDeleted: _deleted,
    ExperimentDeleted: _experiment_deleted,
}
"""How each type of event is shown; others change nothing here."""


def _whose_checkpoint(rows: WholeRows, uuid: str) -> Place | None:
    row = rows.get(CHECKPOINTS, uuid)
    return None if row is None else whose(rows, row.experiment_id)


OF_EXPERIMENT = Thing(
    f"{WHOSE}(SELECT experiment_id FROM read_checkpoints.checkpoints WHERE uuid = $1)", twin=_whose_checkpoint
)

PROJECTION = Projection(
    slice="checkpoints",
    version=1,
    tables=(CHECKPOINTS,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.CHECKPOINTS.name, streams.EXPERIMENT.name}),
    project=project,
    things={
        "checkpoint": OF_EXPERIMENT,
        "readable checkpoint": OF_EXPERIMENT,
    },
    ids={"checkpointUuid": (CHECKPOINTS, "uuid")},
)
