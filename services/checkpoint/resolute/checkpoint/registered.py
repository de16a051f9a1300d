"""The checkpoints that are versions of registered models, folded from the stream of all models. They are not
deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resolute.checkpoint.decide import InUse
from resolute.proto.message import Event
from resolute.proto.models import (
    ModelChanged,
    ModelCreated,
    ModelDeleted,
    ModelVersionDeleted,
    ModelVersionRegistered,
)


@dataclass(slots=True)
class Registered:
    """The registered versions. Only `evolve` changes them."""

    names: dict[int, str] = field(default_factory=dict)
    """The names of models, by model id."""
    versions: dict[tuple[int, int], str] = field(default_factory=dict)
    """The UUIDs of checkpoints, by model id and number of the version."""


def uses(registered: Registered) -> Mapping[str, InUse]:
    """By UUID, why a checkpoint must not be deleted. When it is registered several times, the first version is
    named."""
    return {
        uuid: InUse(
            f"it is registered as version {version} of model {registered.names[model_id]!r}",
            "delete that version first",
        )
        for (model_id, version), uuid in reversed(registered.versions.items())
    }


def evolve(registered: Registered, event: Event) -> Registered:
    match event:
        case ModelCreated(model_id=model_id, name=name):
            registered.names[model_id] = name
        case ModelChanged(model_id=model_id, changes=changes):
            registered.names[model_id] = changes.get("name", registered.names[model_id])
        case ModelVersionRegistered(model_id=model_id, version=version, checkpoint=uuid):
            registered.versions[model_id, version] = uuid
        case ModelVersionDeleted(model_id=model_id, version=version):
            del registered.versions[model_id, version]
        case ModelDeleted(model_id=deleted):
            del registered.names[deleted]
            registered.versions = {key: uuid for key, uuid in registered.versions.items() if key[0] != deleted}
    return registered
