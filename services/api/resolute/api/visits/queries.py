"""What can be asked about the projects that a user looked at last: the port, and Postgres behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from resolute.api.kernel.listing import Where
from resolute.api.kernel.ports import Port, Tables
from resolute.api.scope import Scope
from resolute.api.workspaces.queries import PROJECTS, ProjectRow, project_row


class VisitQueries(Protocol):
    async def visited(self, scope: Scope, user_id: int, limit: int) -> Sequence[ProjectRow]:
        """The projects within the scope that the user looked at, the newest visit first; at most `limit`."""


class PostgresVisits:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def visited(self, scope: Scope, user_id: int, limit: int) -> Sequence[ProjectRow]:
        where = Where(scope, "p.workspace_id", [user_id, limit])
        joined = f"{PROJECTS} JOIN read_visits.visits v ON v.project_id = p.id AND v.user_id = $1"
        rows = await self._tables.rows(f"{joined}{where.sql} ORDER BY v.position DESC LIMIT $2", *where.args)
        return [project_row(row) for row in rows]


QUERIES: Port[VisitQueries] = Port(PostgresVisits)
