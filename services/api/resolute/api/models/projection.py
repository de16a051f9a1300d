"""The model registry: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.models import (
    ModelArchived,
    ModelChanged,
    ModelCreated,
    ModelDeleted,
    ModelUnarchived,
    ModelVersionChanged,
    ModelVersionDeleted,
    ModelVersionRegistered,
)


@dataclass(frozen=True, slots=True)
class Model:
    id: int
    name: str
    description: str
    notes: str
    labels: tuple[str, ...]
    metadata: Document
    workspace_id: int
    owner_id: int
    archived: bool
    created_at: datetime
    updated_at: datetime
    """When the model was changed, or a version of it registered or deleted."""
    versions: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class Version:
    model_id: int
    version: int
    id: int
    checkpoint: str
    owner_id: int
    name: str
    comment: str
    notes: str
    labels: tuple[str, ...]
    metadata: Document
    created_at: datetime
    updated_at: datetime


MODELS = Table("models", Model, key=("id",))

VERSIONS = Table("versions", Version, key=("model_id", "version"), lookups=("model_id",))


OF_MODEL = ("name", "description", "notes", "labels", "metadata", "workspace_id")
"""Columns that ModelChanged may name."""

OF_VERSION = ("name", "comment", "notes", "labels", "metadata")
"""Columns that ModelVersionChanged may name."""


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, recorded, rows)


def _created(created: ModelCreated, recorded: Recorded, rows: Rows) -> None:
    model = Model(
        id=created.model_id,
        name=created.name,
        description=created.description,
        notes=created.notes,
        labels=tuple(created.labels),
        metadata=created.metadata,
        workspace_id=created.workspace_id,
        owner_id=created.owner_id,
        archived=False,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
        versions=0,
    )
    rows.put(MODELS, model)


def _changed(changed: ModelChanged, recorded: Recorded, rows: Rows) -> None:
    columns = _columns(changed.changes, OF_MODEL)
    rows.change(MODELS, changed.model_id, **columns, updated_at=recorded.recorded_at)


def _columns(changes: Mapping[str, Any], known: Iterable[str]) -> dict[str, object]:
    return {name: tuple(changes[name]) if name == "labels" else changes[name] for name in known if name in changes}


def _archived(archived: ModelArchived, recorded: Recorded, rows: Rows) -> None:
    rows.change(MODELS, archived.model_id, archived=True, updated_at=recorded.recorded_at)


def _unarchived(unarchived: ModelUnarchived, recorded: Recorded, rows: Rows) -> None:
    rows.change(MODELS, unarchived.model_id, archived=False, updated_at=recorded.recorded_at)


def _deleted(deleted: ModelDeleted, _: Recorded, rows: Rows) -> None:
    for version in rows.where(VERSIONS, "model_id", deleted.model_id):
        rows.remove(VERSIONS, version.model_id, version.version)
    rows.remove(MODELS, deleted.model_id)


def _registered(registered: ModelVersionRegistered, recorded: Recorded, rows: Rows) -> None:
    version = Version(
        model_id=registered.model_id,
        version=registered.version,
        id=registered.version_id,
        checkpoint=registered.checkpoint,
        owner_id=registered.owner_id,
        name=registered.name,
        comment=registered.comment,
        notes=registered.notes,
        labels=tuple(registered.labels),
        metadata=registered.metadata,
        created_at=recorded.recorded_at,
        updated_at=recorded.recorded_at,
    )
    rows.put(VERSIONS, version)
    _counted(registered.model_id, 1, recorded, rows)


def _version_changed(changed: ModelVersionChanged, recorded: Recorded, rows: Rows) -> None:
    columns = _columns(changed.changes, OF_VERSION)
    rows.change(VERSIONS, changed.model_id, changed.version, **columns, updated_at=recorded.recorded_at)


def _version_deleted(deleted: ModelVersionDeleted, recorded: Recorded, rows: Rows) -> None:
    rows.remove(VERSIONS, deleted.model_id, deleted.version)
    _counted(deleted.model_id, -1, recorded, rows)


def _counted(model_id: int, more: int, recorded: Recorded, rows: Rows) -> None:
    if (model := rows.get(MODELS, model_id)) is not None:
        rows.change(MODELS, model_id, versions=model.versions + more, updated_at=recorded.recorded_at)


SHOWS: Mapping[type[Event], Callable[[Any, Recorded, Rows], None]] = {
    ModelCreated: _created,
    ModelChanged: _changed,
    ModelArchived: _archived,
    ModelUnarchived: _unarchived,
    ModelDeleted: _deleted,
    ModelVersionRegistered: _registered,
    ModelVersionChanged: _version_changed,
    ModelVersionDeleted: _version_deleted,
}


def _whose_model(rows: WholeRows, name: str) -> Place | None:
    number = name.lstrip("0")
    row = next((row for row in rows.all(MODELS) if row.name == name or str(row.id) == number), None)
    return None if row is None else Place(row.owner_id, row.workspace_id)


PROJECTION = Projection(
    slice="models",
    version=1,
    tables=(MODELS, VERSIONS),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.MODELS.name}),
    project=project,
    things={
        "model": Thing(
            "SELECT owner_id, workspace_id FROM read_models.models WHERE name = $1 OR id::text = ltrim($1, '0')",
            twin=_whose_model,
        ),
    },
    ids={"modelName": (MODELS, "name"), "modelVersionNum": (VERSIONS, "version")},
)
