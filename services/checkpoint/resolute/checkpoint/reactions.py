"""What the checkpoint store does when something has happened: to itself, or to an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from resolute.checkpoint.story import COUNTS
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.experiment import ExperimentEdited, ExperimentEnded
from resolute.proto.message import Event


@dataclass(frozen=True, slots=True)
class Retain:
    """Apply the experiment's retention policy, if it has ended."""


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """Remove a checkpoint's files, then say what is left."""

    uuid: str
    globs: tuple[str, ...]


Todo: TypeAlias = Retain | RemoveFiles


def react(event: Event) -> Todo | None:
    match event:
        case ExperimentEnded() | CheckpointCompleted():  # one that comes after the end is under the policy too
            return Retain()
        case ExperimentEdited(changes=changes) if any(name in changes for name in COUNTS):
            return Retain()
        case CheckpointDeletionRequested(uuid=uuid, globs=globs):
            return RemoveFiles(uuid, globs)
    return None
