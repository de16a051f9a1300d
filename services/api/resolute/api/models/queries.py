"""What can be asked about models and their versions: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.listing import Where, listed_in, ordering, pattern
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.models.messages import SortModelsBy, SortVersionsBy
from resolute.api.scope import Scope


@dataclass(frozen=True, slots=True)
class ModelRow:
    id: int
    name: str
    description: str
    notes: str
    labels: tuple[str, ...]
    metadata: Mapping[str, Any]
    workspace_id: int
    workspace: str
    """Its name; empty for one that is unknown."""
    owner_id: int
    owner: str
    """The owner's name; empty for one that is unknown."""
    archived: bool
    created_at: datetime
    updated_at: datetime
    versions: int
    """How many there are."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    id: int
    version: int
    checkpoint: str
    """Its UUID."""
    checkpoint_workspace_id: int | None
    """The workspace of the checkpoint's experiment."""
    owner_id: int
    owner: str
    name: str
    comment: str
    notes: str
    labels: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which models: those that fulfil all of this."""

    archived: bool | None = None
    id: int = 0
    name_part: str = ""
    """In any case of letters."""
    description_part: str = ""
    """In any case of letters."""
    labels: tuple[str, ...] = ()
    """All of them."""
    owners: tuple[str, ...] = ()
    owner_ids: tuple[int, ...] = ()
    workspaces: tuple[str, ...] = ()
    workspace_ids: tuple[int, ...] = ()


class ModelQueries(Protocol):
    """Lists hold what lies within the scope. They are in the order that is asked for, and by id or number where that
    leaves two alike."""

    async def models(
        self, scope: Scope, wanted: Wanted, by: SortModelsBy, *, descending: bool, window: Window
    ) -> Listed[ModelRow]: ...

    async def model(self, identifier: str) -> ModelRow | None:
        """The model of this name; where the identifier has digits alone, of this id."""

    async def labels(self, scope: Scope, workspace_id: int = 0) -> Sequence[str]:
        """Of all models, or of those of one workspace. Those that most models have come first."""

    async def versions(
        self, model_id: int, by: SortVersionsBy, *, descending: bool, window: Window
    ) -> Listed[VersionRow]: ...

    async def version(self, model_id: int, version: int) -> VersionRow | None: ...

    async def workspaces_named(self, scope: Scope, name: str) -> Sequence[int]:
        """The workspaces of exactly this name: one, or none."""

    async def has_workspace(self, workspace_id: int) -> bool: ...


# ---------------------------------------------------------------- Postgres

FROM = """FROM read_models.models m
LEFT JOIN read_workspaces.workspaces w ON w.id = m.workspace_id
LEFT JOIN read_identity.users u ON u.id = m.owner_id"""

MODELS = f"SELECT m.*, coalesce(w.name, '') AS workspace, coalesce(u.username, '') AS owner {FROM}"

MODELS_COUNTED = f"SELECT count(*) {FROM}"

VERSIONS = """SELECT v.*, coalesce(u.username, '') AS owner, p.workspace_id AS checkpoint_workspace_id
FROM read_models.versions v LEFT JOIN read_identity.users u ON u.id = v.owner_id
LEFT JOIN read_checkpoints.checkpoints c ON c.uuid = v.checkpoint
LEFT JOIN read_experiments.experiments e ON e.id = c.experiment_id
LEFT JOIN read_workspaces.projects p ON p.id = e.project_id"""

VERSIONS_COUNTED = "SELECT count(*) FROM read_models.versions WHERE model_id = $1"

LABELS = "SELECT label, count(*) FROM read_models.models m CROSS JOIN LATERAL unnest(m.labels) AS label"

IDS_MAX = 2**31 - 1

MODEL_COLUMNS = {
    SortModelsBy.NAME: "m.name",
    SortModelsBy.DESCRIPTION: "m.description",
    SortModelsBy.CREATION_TIME: "m.created_at",
    SortModelsBy.LAST_UPDATED_TIME: "m.updated_at",
    SortModelsBy.NUM_VERSIONS: "m.versions",
    SortModelsBy.WORKSPACE: "coalesce(w.name, '')",
}
"""What lists are sorted by, other than the id."""


class PostgresModels:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def models(
        self, scope: Scope, wanted: Wanted, by: SortModelsBy, *, descending: bool, window: Window
    ) -> Listed[ModelRow]:
        order = ordering(MODEL_COLUMNS.get(by, "m.id"), "m.id", descending=descending)
        found = await listed_in(self._tables, MODELS, MODELS_COUNTED, _conditions(scope, wanted), order, window)
        return Listed([_model(row) for row in found.rows], found.page)

    async def model(self, identifier: str) -> ModelRow | None:
        if is_id(identifier):
            row = await self._tables.row(f"{MODELS} WHERE m.id = $1", min(int(identifier), IDS_MAX))
        else:
            row = await self._tables.row(f"{MODELS} WHERE m.name = $1", identifier)
        return None if row is None else _model(row)

    async def labels(self, scope: Scope, workspace_id: int = 0) -> Sequence[str]:
        where = Where(scope, "m.workspace_id")
        if workspace_id:
            where.add("m.workspace_id = ?", workspace_id)
        rows = await self._tables.rows(f"{LABELS}{where.sql} GROUP BY label ORDER BY count(*) DESC, label", *where.args)
        return [row["label"] for row in rows]

    async def versions(
        self, model_id: int, by: SortVersionsBy, *, descending: bool, window: Window
    ) -> Listed[VersionRow]:
        column = "v.created_at" if by is SortVersionsBy.CREATION_TIME else "v.version"
        order = ordering(column, "v.version", descending=descending)
        page = window.of(int(await self._tables.value(VERSIONS_COUNTED, model_id)))
        if page.start == page.end:
            return Listed([], page)
        part = f" OFFSET {page.start} LIMIT {page.end - page.start}"
        rows = await self._tables.rows(f"{VERSIONS} WHERE v.model_id = $1{order}{part}", model_id)
        return Listed([_version(row) for row in rows], page)

    async def version(self, model_id: int, version: int) -> VersionRow | None:
        row = await self._tables.row(f"{VERSIONS} WHERE v.model_id = $1 AND v.version = $2", model_id, version)
        return None if row is None else _version(row)

    async def workspaces_named(self, scope: Scope, name: str) -> Sequence[int]:
        where = Where(scope, "w.id")
        where.add("w.name = ?", name)
        rows = await self._tables.rows(f"SELECT w.id FROM read_workspaces.workspaces w{where.sql}", *where.args)
        return [row["id"] for row in rows]

    async def has_workspace(self, workspace_id: int) -> bool:
        return bool(await self._tables.value("SELECT true FROM read_workspaces.workspaces WHERE id = $1", workspace_id))


def is_id(identifier: str) -> bool:
    """Whether it stands for an id; names never have digits alone."""
    return identifier.isascii() and identifier.isdigit()


def _conditions(scope: Scope, wanted: Wanted) -> Where:
    where = Where(scope, "m.workspace_id")
    for clause, value in (
        ("m.archived = ?", wanted.archived),
        ("m.id = ?", wanted.id or None),
        ("m.name ILIKE ?", pattern(wanted.name_part) if wanted.name_part else None),
        ("m.description ILIKE ?", pattern(wanted.description_part) if wanted.description_part else None),
        ("m.labels @> ?::text[]", wanted.labels or None),
        ("u.username = ANY(?::text[])", wanted.owners or None),
        ("m.owner_id = ANY(?::int[])", wanted.owner_ids or None),
        ("w.name = ANY(?::text[])", wanted.workspaces or None),
        ("m.workspace_id = ANY(?::int[])", wanted.workspace_ids or None),
    ):
        if value is not None:
            where.add(clause, value)
    return where


def _model(row: asyncpg.Record) -> ModelRow:
    return ModelRow(
        id=row["id"],
        name=row["name"],
        description=row["description"],
        notes=row["notes"],
        labels=tuple(row["labels"]),
        metadata=orjson.loads(row["metadata"]),
        workspace_id=row["workspace_id"],
        workspace=row["workspace"],
        owner_id=row["owner_id"],
        owner=row["owner"],
        archived=row["archived"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        versions=row["versions"],
    )


def _version(row: asyncpg.Record) -> VersionRow:
    return VersionRow(
        id=row["id"],
        version=row["version"],
        checkpoint=row["checkpoint"],
        checkpoint_workspace_id=row["checkpoint_workspace_id"],
        owner_id=row["owner_id"],
        owner=row["owner"],
        name=row["name"],
        comment=row["comment"],
        notes=row["notes"],
        labels=tuple(row["labels"]),
        metadata=orjson.loads(row["metadata"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


QUERIES: Port[ModelQueries] = Port(PostgresModels)
