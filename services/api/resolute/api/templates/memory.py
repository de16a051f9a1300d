"""The twin of the queries about templates: the same answers, from rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter

from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.templates.projection import TEMPLATES, Template
from resolute.api.templates.queries import TemplateRow
from resolute.api.workspaces.projection import WORKSPACES


@dataclass(frozen=True)
class MemoryTemplates:
    tables: CachedRows

    async def templates(
        self, scope: Scope, name_part: str, workspace_ids: tuple[int, ...], *, descending: bool, window: Window
    ) -> Listed[TemplateRow]:
        found = [
            _shown(row)
            for row in self.tables.all(TEMPLATES)
            if scope.covers(row.workspace_id)
            and name_part.lower() in row.name.lower()
            and (not workspace_ids or row.workspace_id in workspace_ids)
        ]
        return cut(ordered(found, attrgetter("name"), attrgetter("id"), descending=descending), window)

    async def template(self, name: str) -> TemplateRow | None:
        return next((_shown(row) for row in self.tables.all(TEMPLATES) if row.name == name), None)

    async def has_workspace(self, workspace_id: int) -> bool:
        return self.tables.get(WORKSPACES, workspace_id) is not None


def _shown(row: Template) -> TemplateRow:
    return TemplateRow(row.id, row.name, row.workspace_id, row.config or {})
