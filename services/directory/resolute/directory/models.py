"""The model registry: what may be done with models and their versions, and what is true afterwards.

All models are one stream, `models-directory`: names are unique among them, and ids count up, so that a decision must
see all of them. The checkpoint store reads the same stream and keeps the checkpoints that are registered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.message import Event, Object
from resolute.proto.models import (
    ArchiveModel,
    ChangeModel,
    ChangeModelVersion,
    CreateModel,
    DeleteModel,
    DeleteModelVersion,
    ModelArchived,
    ModelChanged,
    ModelCreated,
    ModelDeleted,
    ModelUnarchived,
    ModelVersionChanged,
    ModelVersionDeleted,
    ModelVersionRegistered,
    RegisterModelVersion,
    UnarchiveModel,
)

NAME_CHARS_MAX = 255

State = Enum("State", "ABSENT ACTIVE ARCHIVED DELETED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, ModelCreated): State.ACTIVE,
    (State.ACTIVE, ModelChanged): State.ACTIVE,
    (State.ACTIVE, ModelVersionRegistered): State.ACTIVE,
    (State.ACTIVE, ModelVersionChanged): State.ACTIVE,
    (State.ACTIVE, ModelVersionDeleted): State.ACTIVE,
    (State.ACTIVE, ModelArchived): State.ARCHIVED,
    (State.ACTIVE, ModelDeleted): State.DELETED,
    (State.ARCHIVED, ModelUnarchived): State.ACTIVE,
    (State.ARCHIVED, ModelVersionDeleted): State.ARCHIVED,
    (State.ARCHIVED, ModelDeleted): State.DELETED,
}
"""Of one model, its versions included. A deleted model is forgotten, but for its number."""

ModelCommand = (
    CreateModel
    | ChangeModel
    | ArchiveModel
    | UnarchiveModel
    | DeleteModel
    | RegisterModelVersion
    | ChangeModelVersion
    | DeleteModelVersion
)


@dataclass(slots=True)
class Model:
    """Owned by the fold that grows it."""

    name: str
    fields: Object
    """The fields that ModelChanged may name, but for the name."""
    state: State = State.ACTIVE
    versions: dict[int, Object] = field(default_factory=dict)
    """By number: the fields that ModelVersionChanged may name."""
    last_version: int = 0


@dataclass(slots=True)
class Models:
    """Every model that was not deleted, by id. Owned by the fold that grows it."""

    by_id: dict[int, Model] = field(default_factory=dict)
    last_id: int = 0
    last_version_id: int = 0


def decide(command: ModelCommand, models: Models) -> list[Event]:
    """Raises InvalidConfig for a value that will not do, NotFound, and Refused."""
    match command:
        case CreateModel():
            return [_create(command, models)]
        case ChangeModel(model_id=model_id, changes=changes):
            return _change(models, model_id, changes)
        case ArchiveModel(model_id=model_id):
            archived = _known(models, model_id).state is State.ARCHIVED
            return [] if archived else [ModelArchived(model_id)]
        case UnarchiveModel(model_id=model_id):
            active = _known(models, model_id).state is State.ACTIVE
            return [] if active else [ModelUnarchived(model_id)]
        case DeleteModel(model_id=model_id):
            _known(models, model_id)
            return [ModelDeleted(model_id)]
        case RegisterModelVersion():
            return [_register(command, models)]
        case ChangeModelVersion(model_id=model_id, version=version, changes=changes):
            before = _version(_editable(models, model_id, f"change version {version}"), version)
            real = _changed(before, changes)
            return [ModelVersionChanged(model_id, version, real)] if real else []
        case DeleteModelVersion(model_id=model_id, version=version):
            _version(_known(models, model_id), version)
            return [ModelVersionDeleted(model_id, version)]


def _create(command: CreateModel, models: Models) -> ModelCreated:
    _check_name(command.name, models, f"create model {command.name!r}")
    return ModelCreated(
        model_id=models.last_id + 1,
        name=command.name,
        workspace_id=command.workspace_id,
        owner_id=command.owner_id,
        description=command.description,
        labels=command.labels,
        metadata=command.metadata,
        notes=command.notes,
    )


def _change(models: Models, model_id: int, changes: Object) -> list[Event]:
    """A value that the model has already is left out."""
    model = _editable(models, model_id, "change it")
    real = _changed({"name": model.name, **model.fields}, changes)
    if "name" in real:
        _check_name(real["name"], models, f"rename model {model.name!r}")
    return [ModelChanged(model_id, real)] if real else []


def _changed(before: Mapping[str, Any], changes: Object) -> Object:
    return {name: value for name, value in changes.items() if before[name] != value}


def _register(command: RegisterModelVersion, models: Models) -> ModelVersionRegistered:
    model = _editable(models, command.model_id, "register a version")
    return ModelVersionRegistered(
        model_id=command.model_id,
        version=model.last_version + 1,
        version_id=models.last_version_id + 1,
        checkpoint=command.checkpoint,
        owner_id=command.owner_id,
        name=command.name,
        comment=command.comment,
        labels=command.labels,
        metadata=command.metadata,
        notes=command.notes,
    )


def _known(models: Models, model_id: int) -> Model:
    """Raises NotFound."""
    if (model := models.by_id.get(model_id)) is None:
        raise NotFound(f"model {model_id} not found")
    return model


def _editable(models: Models, model_id: int, what: str) -> Model:
    """Raises NotFound, and Refused for a model that is archived."""
    model = _known(models, model_id)
    if model.state is State.ARCHIVED:
        raise refuse(f"{what} of model {model.name!r}", "the model is archived", "take it out of the archive first")
    return model


def _version(model: Model, version: int) -> Object:
    """Raises NotFound."""
    if (found := model.versions.get(version)) is None:
        raise NotFound(f"version {version} of model {model.name!r} not found")
    return found


def _check_name(name: str, models: Models, what: str) -> None:
    """A number in the place of a name is an id, and names stand in paths."""
    if wrong := _wrong_with(name):
        raise InvalidConfig(f"name: the name of a model {wrong}; found {name!r}")
    if any(model.name == name for model in models.by_id.values()):
        raise refuse(what, "a model of that name exists", "choose another name")


def _wrong_with(name: str) -> str:
    if not name.strip() or len(name) > NAME_CHARS_MAX:
        return f"has 1 to {NAME_CHARS_MAX} characters, and not only spaces"
    if "/" in name or "\\" in name:
        return "has no slash"
    if "  " in name:
        return "has no two spaces in a row"
    if name.isdigit():
        return "is not a number: numbers are ids"
    return ""


def evolve(models: Models, event: Event) -> Models:
    match event:
        case ModelCreated(model_id=model_id):
            assert FLOW[State.ABSENT, type(event)] is State.ACTIVE
            _created(models, event)
            return models
        case (
            ModelChanged(model_id=model_id)
            | ModelArchived(model_id=model_id)
            | ModelUnarchived(model_id=model_id)
            | ModelDeleted(model_id=model_id)
            | ModelVersionRegistered(model_id=model_id)
            | ModelVersionChanged(model_id=model_id)
            | ModelVersionDeleted(model_id=model_id)
        ):
            model = models.by_id[model_id]
            model.state = FLOW[model.state, type(event)]
            _learn(models, model, event)
            if model.state is State.DELETED:
                del models.by_id[model_id]
            return models
    raise AssertionError(f"not an event of models: {event}")


def _created(models: Models, created: ModelCreated) -> None:
    models.last_id = created.model_id
    models.by_id[created.model_id] = Model(
        created.name,
        {
            "description": created.description,
            "labels": list(created.labels),
            "metadata": created.metadata,
            "notes": created.notes,
            "workspace_id": created.workspace_id,
        },
    )


def _learn(models: Models, model: Model, event: Event) -> None:
    match event:
        case ModelChanged(changes=changes):
            fields = dict(changes)
            model.name = fields.pop("name", model.name)
            model.fields.update(fields)
        case ModelVersionRegistered(version=version, version_id=version_id):
            model.last_version, models.last_version_id = version, version_id
            model.versions[version] = {
                "name": event.name,
                "comment": event.comment,
                "labels": list(event.labels),
                "metadata": event.metadata,
                "notes": event.notes,
            }
        case ModelVersionChanged(version=version, changes=changes):
            model.versions[version].update(changes)
        case ModelVersionDeleted(version=version):
            del model.versions[version]


PART = Part(
    commands=frozenset(
        {
            CreateModel,
            ChangeModel,
            ArchiveModel,
            UnarchiveModel,
            DeleteModel,
            RegisterModelVersion,
            ChangeModelVersion,
            DeleteModelVersion,
        }
    ),
    stream_of=lambda command: streams.MODEL_DIRECTORY,
    initial=Models,
    decide=decide,
    evolve=evolve,
    ids={ModelCreated: "model_id", ModelVersionRegistered: "version"},
)
