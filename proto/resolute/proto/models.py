"""The model registry: named models, whose versions are checkpoints. The directory owns it.

All models are one stream, `models-directory`: names are unique among them, and ids count up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object


class ModelEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.MODELS.name


class ModelCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class ModelCreated(ModelEvent):
    sentence: ClassVar[str] = "model {model_id} ({name}) was created"
    model_id: int
    name: str
    workspace_id: int
    owner_id: int
    description: str = ""
    labels: tuple[str, ...] = ()
    metadata: Object = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ModelChanged(ModelEvent):
    """`changes` holds the new values by field: name, description, labels, metadata, notes, workspace_id."""

    sentence: ClassVar[str] = "model {model_id} was changed: {changes}"
    model_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ModelArchived(ModelEvent):
    sentence: ClassVar[str] = "model {model_id} was archived"
    model_id: int


@dataclass(frozen=True, slots=True)
class ModelUnarchived(ModelEvent):
    sentence: ClassVar[str] = "model {model_id} was taken out of the archive"
    model_id: int


@dataclass(frozen=True, slots=True)
class ModelDeleted(ModelEvent):
    """Its versions are gone with it. Their checkpoints stay, and may be deleted again."""

    sentence: ClassVar[str] = "model {model_id} was deleted"
    model_id: int


@dataclass(frozen=True, slots=True)
class ModelVersionRegistered(ModelEvent):
    """From now on the checkpoint is kept, whatever the retention policy of its experiment says."""

    sentence: ClassVar[str] = "checkpoint {checkpoint} was registered as version {version} of model {model_id}"
    model_id: int
    version: int
    """1, 2, 3 … of its model. The number of a deleted version is not given again."""
    version_id: int
    """1, 2, 3 … of the cluster."""
    checkpoint: str
    """The checkpoint's UUID."""
    owner_id: int
    """The user who registered it."""
    name: str = ""
    comment: str = ""
    labels: tuple[str, ...] = ()
    metadata: Object = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ModelVersionChanged(ModelEvent):
    """`changes` holds the new values by field: name, comment, labels, metadata, notes."""

    sentence: ClassVar[str] = "version {version} of model {model_id} was changed: {changes}"
    model_id: int
    version: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ModelVersionDeleted(ModelEvent):
    """Its checkpoint stays, and may be deleted again."""

    sentence: ClassVar[str] = "version {version} of model {model_id} was deleted"
    model_id: int
    version: int


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateModel(ModelCommand):
    """The reply's data has `model_id`."""

    name: str
    workspace_id: int
    owner_id: int
    description: str = ""
    labels: tuple[str, ...] = ()
    metadata: Object = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ChangeModel(ModelCommand):
    """`changes` as in ModelChanged; a new `workspace_id` moves the model."""

    model_id: int
    changes: Object


@dataclass(frozen=True, slots=True)
class ArchiveModel(ModelCommand):
    model_id: int


@dataclass(frozen=True, slots=True)
class UnarchiveModel(ModelCommand):
    model_id: int


@dataclass(frozen=True, slots=True)
class DeleteModel(ModelCommand):
    model_id: int


@dataclass(frozen=True, slots=True)
class RegisterModelVersion(ModelCommand):
    """The gateway has seen that the checkpoint is complete. The reply's data has `version`."""

    model_id: int
    checkpoint: str
    owner_id: int
    name: str = ""
    comment: str = ""
    labels: tuple[str, ...] = ()
    metadata: Object = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ChangeModelVersion(ModelCommand):
    """`changes` as in ModelVersionChanged."""

    model_id: int
    version: int
    changes: Object


@dataclass(frozen=True, slots=True)
class DeleteModelVersion(ModelCommand):
    model_id: int
    version: int
