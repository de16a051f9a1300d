"""Checkpoints: the messages of the checkpoint store.

All checkpoints of one experiment are one stream, `checkpoints-7`, since retention compares them. A checkpoint is
announced before its first byte and completed after its last; only completed ones are offered for restore.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object


class CheckpointEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.CHECKPOINTS.name


class CheckpointCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "checkpoint"


@dataclass(frozen=True, slots=True)
class CheckpointClaimed(Event):
    """A uuid became one experiment's, for ever. Written to a stream of its own, `claim-<uuid>`, so that two
    experiments can never mean the same files."""

    category: ClassVar[str] = streams.CLAIM.name
    uuid: str
    experiment_id: int


@dataclass(frozen=True, slots=True)
class CheckpointAnnounced(CheckpointEvent):
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    storage: Object
    """The `checkpoint_storage` section it is written under."""


@dataclass(frozen=True, slots=True)
class CheckpointCompleted(CheckpointEvent):
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    run_id: int
    steps_completed: int
    resources: dict[str, int]
    """File paths within the checkpoint, with their sizes in bytes."""
    metadata: Object
    storage: Object


@dataclass(frozen=True, slots=True)
class CheckpointMetadataChanged(CheckpointEvent):
    uuid: str
    metadata: Object


@dataclass(frozen=True, slots=True)
class CheckpointDeletionRequested(CheckpointEvent):
    """Its files shall go: all of them, or those that match `globs`."""

    uuid: str
    reason: str
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointFilesRemoved(CheckpointEvent):
    """Some files are gone; `resources` is what is left."""

    uuid: str
    resources: dict[str, int]


@dataclass(frozen=True, slots=True)
class CheckpointDeleted(CheckpointEvent):
    uuid: str


@dataclass(frozen=True, slots=True)
class RetentionApplied(CheckpointEvent):
    """Which checkpoints the experiment's policy keeps; the others are asked to be deleted in the same append."""

    experiment_id: int
    kept: tuple[str, ...]
    deleted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TensorBoardFilesDeleted(CheckpointEvent):
    """Somebody asked for it; the files of an experiment that is deleted go without this."""

    sentence: ClassVar[str] = "the TensorBoard files of experiment {experiment_id} were deleted"
    experiment_id: int


@dataclass(frozen=True, slots=True)
class CheckpointHeld(CheckpointEvent):
    """Trials of experiment `by`, which has not ended, begin from it: it stays until that has."""

    uuid: str
    by: int


@dataclass(frozen=True, slots=True)
class CheckpointReleased(CheckpointEvent):
    uuid: str
    by: int


@dataclass(frozen=True, slots=True)
class CheckpointUsed(CheckpointEvent):
    """A trial said that it uses the checkpoint, and for what. What the same trial said of it before counts no more."""

    sentence: ClassVar[str] = "trial {trial_id} of experiment {by} uses checkpoint {uuid}"
    uuid: str
    trial_id: int
    by: int
    """The trial's experiment."""
    use: str
    """INFERENCE or FINE_TUNING."""
    model_id: int = 0
    """Where the checkpoint was found as a version of a model; else 0, and 0 as the version."""
    model_version: int = 0


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class AnnounceCheckpoint(CheckpointCommand):
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    storage: Object


@dataclass(frozen=True, slots=True)
class CompleteCheckpoint(CheckpointCommand):
    uuid: str
    experiment_id: int
    trial_id: int
    task_id: str
    allocation_id: str
    run_id: int
    steps_completed: int
    resources: dict[str, int]
    metadata: Object
    storage: Object


@dataclass(frozen=True, slots=True)
class ChangeCheckpointMetadata(CheckpointCommand):
    experiment_id: int
    uuid: str
    metadata: Object


@dataclass(frozen=True, slots=True)
class DeleteCheckpoints(CheckpointCommand):
    experiment_id: int
    uuids: tuple[str, ...]
    reason: str
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteFilesRemoved(CheckpointCommand):
    """A task removed files itself and says what is left."""

    experiment_id: int
    uuid: str
    resources: dict[str, int]


@dataclass(frozen=True, slots=True)
class RefreshCheckpoints(CheckpointCommand):
    """Look which files of these checkpoints there are."""

    experiment_id: int
    uuids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApplyRetention(CheckpointCommand):
    """The store itself applies the policy of an experiment that has ended, also after an edit of the policy.

    Gateways ask for the preview. Those of earlier releases also ask to apply a policy that was edited."""

    experiment_id: int
    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int
    smaller_is_better: bool = True
    preview: bool = False
    """Only say what would be deleted, in the reply's data {"deleted": [uuid]}."""


@dataclass(frozen=True, slots=True)
class DeleteTensorBoardFiles(CheckpointCommand):
    """Those that are there now, from the storage of the experiment. Trials that still run may write new ones."""

    experiment_id: int


@dataclass(frozen=True, slots=True)
class DeleteExperimentCheckpoints(CheckpointCommand):
    """The experiment is being deleted: so are all its checkpoints and its TensorBoard files."""

    experiment_id: int
    storage: Object = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HoldCheckpoint(CheckpointCommand):
    """`experiment_id` is whose it is, `by` the one whose trials begin from it."""

    experiment_id: int
    uuid: str
    by: int


@dataclass(frozen=True, slots=True)
class ReleaseCheckpoint(CheckpointCommand):
    experiment_id: int
    uuid: str
    by: int


@dataclass(frozen=True, slots=True)
class NoteCheckpointUse(CheckpointCommand):
    """`experiment_id` is whose checkpoint it is, `by` the experiment of the trial that uses it."""

    experiment_id: int
    uuid: str
    trial_id: int
    by: int
    use: str
    model_id: int = 0
    model_version: int = 0
