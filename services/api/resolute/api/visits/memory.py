"""The twin of the query about visited projects: the same answer, from rows that are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resolute.api.kernel.cache import CachedRows
from resolute.api.scope import Scope
from resolute.api.visits.projection import VISITS
from resolute.api.workspaces.memory import MemoryWorkspaces
from resolute.api.workspaces.queries import ProjectRow


@dataclass(frozen=True)
class MemoryVisits:
    """`tables`: those of visits, users, workspaces, experiments and trials."""

    tables: CachedRows

    async def visited(self, scope: Scope, user_id: int, limit: int) -> Sequence[ProjectRow]:
        visits = (visit for visit in self.tables.all(VISITS) if visit.user_id == user_id)
        newest = sorted(visits, key=lambda visit: visit.position, reverse=True)
        projects = [await MemoryWorkspaces(self.tables).project(visit.project_id) for visit in newest]
        return [one for one in projects if one is not None and scope.covers(one.workspace_id)][:limit]
