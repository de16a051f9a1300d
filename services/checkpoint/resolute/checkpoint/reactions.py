"""What the checkpoint store does after an event of its own streams, or of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from resolute.checkpoint.experiment_facts import COUNTS, source_of
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.experiment import ExperimentContinued, ExperimentCreated, ExperimentEdited, ExperimentEnded
from resolute.proto.message import Event


@dataclass(frozen=True, slots=True)
class Retain:
    """Apply the retention policy of the experiment, if the experiment has ended."""


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """Remove files of a checkpoint, then record which are left."""

    uuid: str
    globs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """Hold the checkpoint that the experiment's trials begin from, so that it is not deleted."""

    uuid: str


@dataclass(frozen=True, slots=True)
class End:
    """The experiment has ended: apply its retention policy, and release the checkpoint that its trials began from."""


Todo: TypeAlias = Retain | RemoveFiles | Hold | End


def react(event: Event) -> Todo | None:
    match event:
        case ExperimentCreated() | ExperimentContinued():
            uuid = source_of(event)
            return Hold(uuid) if uuid else None
        case ExperimentEnded():
            return End()
        case CheckpointCompleted():  # the policy also applies to a checkpoint that is completed after the end
            return Retain()
        case ExperimentEdited(changes=changes) if any(name in changes for name in COUNTS):
            return Retain()
        case CheckpointDeletionRequested(uuid=uuid, globs=globs):
            return RemoveFiles(uuid, globs)
    return None
