"""The checkpoints of one experiment and their states: the aggregate of the checkpoint store.

A trial may restore a checkpoint only while it is COMPLETED. A checkpoint whose upload was cut off stays ANNOUNCED, and
one that has lost files is PARTIAL. Deleting has two phases: the request is recorded, then the files are removed, then
the end is recorded. A crash between these steps repeats the removal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from resolute.checkpoint.retention import Candidate
from resolute.proto.checkpoint import (
    CheckpointAnnounced,
    CheckpointCompleted,
    CheckpointDeleted,
    CheckpointDeletionRequested,
    CheckpointFilesRemoved,
    CheckpointHeld,
    CheckpointMetadataChanged,
    CheckpointReleased,
    CheckpointUsed,
    RetentionApplied,
    TensorBoardFilesDeleted,
)
from resolute.proto.message import Event, Object

State = Enum("State", "ABSENT ANNOUNCED COMPLETED PARTIAL DELETING DELETED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, CheckpointAnnounced): State.ANNOUNCED,
    (State.ABSENT, CheckpointCompleted): State.COMPLETED,
    (State.ANNOUNCED, CheckpointCompleted): State.COMPLETED,
    (State.ANNOUNCED, CheckpointDeletionRequested): State.DELETING,
    (State.COMPLETED, CheckpointMetadataChanged): State.COMPLETED,
    (State.COMPLETED, CheckpointUsed): State.COMPLETED,
    (State.COMPLETED, CheckpointDeletionRequested): State.DELETING,
    (State.COMPLETED, CheckpointFilesRemoved): State.PARTIAL,
    (State.COMPLETED, CheckpointDeleted): State.DELETED,
    (State.PARTIAL, CheckpointMetadataChanged): State.PARTIAL,
    (State.PARTIAL, CheckpointUsed): State.PARTIAL,
    (State.PARTIAL, CheckpointDeletionRequested): State.DELETING,
    (State.PARTIAL, CheckpointFilesRemoved): State.PARTIAL,
    (State.PARTIAL, CheckpointDeleted): State.DELETED,
    (State.DELETING, CheckpointDeletionRequested): State.DELETING,
    (State.DELETING, CheckpointFilesRemoved): State.PARTIAL,
    (State.DELETING, CheckpointDeleted): State.DELETED,
}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    state: State = State.ABSENT
    trial_id: int = 0
    steps_completed: int = 0
    resources: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, object] = field(default_factory=dict)
    storage: Object = field(default_factory=dict)
    order: int = 0
    """Its place in the order in which checkpoints of the experiment were completed: 1, 2, 3 …"""


@dataclass(slots=True)
class Registry:
    """All checkpoints of an experiment, in the order of their first events. Only `evolve` changes them."""

    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    completed: int = 0
    kept: tuple[str, ...] | None = None
    """The UUIDs that retention kept when it was last applied; None before."""
    holders: dict[str, set[int]] = field(default_factory=dict)
    """By UUID, the experiments that have not ended and whose trials begin from that checkpoint."""
    uses: dict[tuple[str, int], CheckpointUsed] = field(default_factory=dict)
    """By UUID and trial: the trial's latest report that it uses the checkpoint."""

    def get(self, uuid: str) -> Checkpoint:
        return self.checkpoints.get(uuid, _ABSENT)

    def present(self) -> Iterator[str]:
        """The UUIDs of checkpoints that have, or may have, files."""
        return (uuid for uuid, found in self.checkpoints.items() if found.state is not State.DELETED)

    def candidates(self, metrics: Mapping[tuple[int, int], float | None]) -> list[Candidate]:
        """What retention chooses from; `metrics` are the validations, by trial and steps."""
        return [
            Candidate(
                uuid=uuid,
                trial_id=found.trial_id,
                steps_completed=found.steps_completed,
                order=found.order,
                validated=(found.trial_id, found.steps_completed) in metrics,
                metric=metrics.get((found.trial_id, found.steps_completed)),
            )
            for uuid, found in self.checkpoints.items()
            if found.state is State.COMPLETED
        ]


_ABSENT = Checkpoint()


def evolve(registry: Registry, event: Event) -> Registry:
    match event:
        case RetentionApplied(kept=kept):
            registry.kept = kept  # the deletions have events of their own
            return registry
        case TensorBoardFilesDeleted():
            return registry  # they are not the files of a checkpoint
        case CheckpointHeld(uuid=uuid, by=by):
            registry.holders.setdefault(uuid, set()).add(by)
            return registry
        case CheckpointReleased(uuid=uuid, by=by):
            registry.holders[uuid].remove(by)
            if not registry.holders[uuid]:
                del registry.holders[uuid]
            return registry
        case CheckpointUsed(uuid=uuid, trial_id=trial_id):
            assert FLOW[registry.get(uuid).state, CheckpointUsed] is registry.get(uuid).state
            registry.uses[uuid, trial_id] = event
            return registry
        case (
            CheckpointAnnounced(uuid=uuid)
            | CheckpointCompleted(uuid=uuid)
            | CheckpointMetadataChanged(uuid=uuid)
            | CheckpointDeletionRequested(uuid=uuid)
            | CheckpointFilesRemoved(uuid=uuid)
            | CheckpointDeleted(uuid=uuid)
        ):
            found = registry.get(uuid)
            moved = replace(found, state=FLOW[found.state, type(event)])
            registry.checkpoints[uuid] = _with_fields(registry, moved, event)
            return registry
    raise AssertionError(f"not an event of checkpoints: {event}")


def _with_fields(registry: Registry, checkpoint: Checkpoint, event: Event) -> Checkpoint:
    match event:
        case CheckpointAnnounced():
            return replace(checkpoint, trial_id=event.trial_id, storage=event.storage)
        case CheckpointCompleted():
            registry.completed += 1
            return replace(
                checkpoint,
                trial_id=event.trial_id,
                steps_completed=event.steps_completed,
                resources=event.resources,
                metadata=event.metadata,
                storage=event.storage,
                order=registry.completed,
            )
        case CheckpointMetadataChanged(metadata=metadata):
            return replace(checkpoint, metadata=metadata)
        case CheckpointFilesRemoved(resources=resources):
            return replace(checkpoint, resources=resources)
        case CheckpointDeleted():
            return replace(checkpoint, resources={})
    return checkpoint
