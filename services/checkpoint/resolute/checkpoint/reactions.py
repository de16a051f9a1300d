"""What the checkpoint store does when something has happened: to itself, or to an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from resolute.checkpoint.experiment_facts import COUNTS, source_of
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.experiment import ExperimentContinued, ExperimentCreated, ExperimentEdited, ExperimentEnded
from resolute.proto.message import Event


@dataclass(frozen=True, slots=True)
class Retain:
    """Apply the experiment's retention policy, if it has ended."""


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """Remove a checkpoint's files, then say what is left."""

    uuid: str
    globs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep what the experiment's trials begin from."""

    uuid: str


@dataclass(frozen=True, slots=True)
class End:
    """The experiment has ended: its own retention applies, and what its trials began from is let go."""


Todo: TypeAlias = Retain | RemoveFiles | Hold | End


def react(event: Event) -> Todo | None:
    match event:
        case ExperimentCreated() | ExperimentContinued():
            uuid = source_of(event)
            return Hold(uuid) if uuid else None
        case ExperimentEnded():
            return End()
        case CheckpointCompleted():  # one that comes after the end is under the policy too
            return Retain()
        case ExperimentEdited(changes=changes) if any(name in changes for name in COUNTS):
            return Retain()
        case CheckpointDeletionRequested(uuid=uuid, globs=globs):
            return RemoveFiles(uuid, globs)
    return None
