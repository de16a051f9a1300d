"""The twin of the queries about models: the same answers, from rows that are in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from resolute.api.checkpoints.projection import CHECKPOINTS
from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.models.messages import SortModelsBy, SortVersionsBy
from resolute.api.models.projection import MODELS, VERSIONS, Model, Version
from resolute.api.models.queries import ModelRow, VersionRow, Wanted, is_id
from resolute.api.scope import Scope
from resolute.api.workspaces.projection import PROJECTS, WORKSPACES

SORTED_BY: Mapping[SortModelsBy, str] = {
    SortModelsBy.NAME: "name",
    SortModelsBy.DESCRIPTION: "description",
    SortModelsBy.CREATION_TIME: "created_at",
    SortModelsBy.LAST_UPDATED_TIME: "updated_at",
    SortModelsBy.NUM_VERSIONS: "versions",
    SortModelsBy.WORKSPACE: "workspace",
}


@dataclass(frozen=True)
class MemoryModels:
    """`tables`: those of models, users, workspaces, experiments and checkpoints. Texts are compared as the database `C`
    compares them."""

    tables: CachedRows

    async def models(
        self, scope: Scope, wanted: Wanted, by: SortModelsBy, *, descending: bool, window: Window
    ) -> Listed[ModelRow]:
        within = (self._model(row) for row in self.tables.all(MODELS) if scope.covers(row.workspace_id))
        found = [row for row in within if _fulfils(row, wanted)]
        column: Callable[[ModelRow], Any] = attrgetter(SORTED_BY.get(by, "id"))
        return cut(ordered(found, column, attrgetter("id"), descending=descending), window)

    async def model(self, identifier: str) -> ModelRow | None:
        by_id = int(identifier) if is_id(identifier) else None
        rows = self.tables.all(MODELS)
        found = (row for row in rows if (row.name == identifier if by_id is None else row.id == by_id))
        return next(map(self._model, found), None)

    async def labels(self, scope: Scope, workspace_id: int = 0) -> Sequence[str]:
        within = (row for row in self.tables.all(MODELS) if scope.covers(row.workspace_id))
        counted = Counter(label for row in within if workspace_id in (0, row.workspace_id) for label in row.labels)
        return sorted(counted, key=lambda label: (-counted[label], label))

    async def versions(
        self, model_id: int, by: SortVersionsBy, *, descending: bool, window: Window
    ) -> Listed[VersionRow]:
        column = attrgetter("created_at" if by is SortVersionsBy.CREATION_TIME else "version")
        found = [self._version(row) for row in self.tables.all(VERSIONS) if row.model_id == model_id]
        return cut(ordered(found, column, attrgetter("version"), descending=descending), window)

    async def version(self, model_id: int, version: int) -> VersionRow | None:
        row = self.tables.get(VERSIONS, model_id, version)
        return None if row is None else self._version(row)

    async def workspaces_named(self, scope: Scope, name: str) -> Sequence[int]:
        return [row.id for row in self.tables.all(WORKSPACES) if row.name == name and scope.covers(row.id)]

    async def has_workspace(self, workspace_id: int) -> bool:
        return any(row.id == workspace_id for row in self.tables.all(WORKSPACES))

    def _model(self, row: Model) -> ModelRow:
        workspace = next((one.name for one in self.tables.all(WORKSPACES) if one.id == row.workspace_id), "")
        return ModelRow(
            id=row.id,
            name=row.name,
            description=row.description,
            notes=row.notes,
            labels=row.labels,
            metadata=row.metadata,
            workspace_id=row.workspace_id,
            workspace=workspace,
            owner_id=row.owner_id,
            owner=self._owner(row),
            archived=row.archived,
            created_at=row.created_at,
            updated_at=row.updated_at,
            versions=row.versions,
        )

    def _version(self, row: Version) -> VersionRow:
        return VersionRow(
            id=row.id,
            version=row.version,
            checkpoint=row.checkpoint,
            checkpoint_workspace_id=self._workspace_of(row.checkpoint),
            owner_id=row.owner_id,
            owner=self._owner(row),
            name=row.name,
            comment=row.comment,
            notes=row.notes,
            labels=row.labels,
            metadata=row.metadata,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    def _workspace_of(self, checkpoint: str) -> int | None:
        of = {row.experiment_id for row in self.tables.all(CHECKPOINTS) if row.uuid == checkpoint}
        projects = {row.project_id for row in self.tables.all(EXPERIMENTS) if row.id in of}
        return next((row.workspace_id for row in self.tables.all(PROJECTS) if row.id in projects), None)

    def _owner(self, row: Model | Version) -> str:
        return next((user.username for user in self.tables.all(USERS) if user.id == row.owner_id), "")


def _fulfils(row: ModelRow, wanted: Wanted) -> bool:
    return (
        wanted.archived in (None, row.archived)
        and wanted.id in (0, row.id)
        and wanted.name_part.lower() in row.name.lower()
        and wanted.description_part.lower() in row.description.lower()
        and set(wanted.labels) <= set(row.labels)
        and (not wanted.owners or row.owner in wanted.owners)
        and (not wanted.owner_ids or row.owner_id in wanted.owner_ids)
        and (not wanted.workspaces or row.workspace in wanted.workspaces)
        and (not wanted.workspace_ids or row.workspace_id in wanted.workspace_ids)
    )
