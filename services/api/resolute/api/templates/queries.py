"""What can be asked about templates: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import asyncpg
import orjson

from resolute.api.kernel.listing import Where, listed_in, ordering, pattern
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope


@dataclass(frozen=True, slots=True)
class TemplateRow:
    id: int
    name: str
    workspace_id: int
    config: Mapping[str, Any]
    """Its secrets are sealed."""


class TemplateQueries(Protocol):
    async def templates(
        self, scope: Scope, name_part: str, workspace_ids: tuple[int, ...], *, descending: bool, window: Window
    ) -> Listed[TemplateRow]:
        """Those within the scope, by name. `name_part`: in any case of letters; `workspace_ids`: empty for all."""

    async def template(self, name: str) -> TemplateRow | None: ...

    async def has_workspace(self, workspace_id: int) -> bool: ...


SELECT = "SELECT t.id, t.name, t.workspace_id, t.config FROM read_templates.templates t"

COUNTED = "SELECT count(*) FROM read_templates.templates t"


class PostgresTemplates:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def templates(
        self, scope: Scope, name_part: str, workspace_ids: tuple[int, ...], *, descending: bool, window: Window
    ) -> Listed[TemplateRow]:
        where = Where(scope, "t.workspace_id")
        if name_part:
            where.add("t.name ILIKE ?", pattern(name_part))
        if workspace_ids:
            where.add("t.workspace_id = ANY(?::int[])", workspace_ids)
        order = ordering("t.name", "t.id", descending=descending, never_null=("t.name",))
        found = await listed_in(self._tables, SELECT, COUNTED, where, order, window)
        return Listed([_template(row) for row in found.rows], found.page)

    async def template(self, name: str) -> TemplateRow | None:
        row = await self._tables.row(f"{SELECT} WHERE t.name = $1", name)
        return None if row is None else _template(row)

    async def has_workspace(self, workspace_id: int) -> bool:
        return bool(await self._tables.value("SELECT true FROM read_workspaces.workspaces WHERE id = $1", workspace_id))


def _template(row: asyncpg.Record) -> TemplateRow:
    return TemplateRow(row["id"], row["name"], row["workspace_id"], orjson.loads(row["config"]))


QUERIES: Port[TemplateQueries] = Port(PostgresTemplates)
