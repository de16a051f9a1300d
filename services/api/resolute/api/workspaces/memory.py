"""The twin of the queries about workspaces: the same answers, from rows that are in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from resolute.api.experiments.projection import EXPERIMENTS
from resolute.api.identity.projection import USERS
from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.paging import Listed, Window, cut, ordered
from resolute.api.scope import Scope
from resolute.api.trials.tables import STANDINGS
from resolute.api.workspaces.messages import SortProjectsBy, SortWorkspacesBy
from resolute.api.workspaces.projection import PINS, PROJECTS, WORKSPACES, Project, Workspace
from resolute.api.workspaces.queries import ProjectRow, Wanted, WorkspaceRow
from resolute.proto.states import ExperimentState


@dataclass(frozen=True)
class MemoryWorkspaces:
    """`tables`: those of users, workspaces, experiments and trials. Texts are compared as the database `C` compares
    them."""

    tables: CachedRows

    @property
    def workspace_rows(self) -> list[Workspace]:
        return self.tables.all(WORKSPACES)

    @property
    def project_rows(self) -> list[Project]:
        return self.tables.all(PROJECTS)

    async def workspaces(
        self, scope: Scope, user_id: int, wanted: Wanted, by: SortWorkspacesBy, *, descending: bool, window: Window
    ) -> Listed[WorkspaceRow]:
        within = (self._workspace(row, user_id) for row in self.workspace_rows if scope.covers(row.id))
        found = [row for row in filtered(within, wanted) if wanted.pinned in (None, row.pinned_at is not None)]
        column = attrgetter("name" if by is SortWorkspacesBy.NAME else "id")
        return cut(ordered(found, column, attrgetter("id"), descending=descending), window)

    async def workspace(self, workspace_id: int, user_id: int) -> WorkspaceRow | None:
        return next((self._workspace(row, user_id) for row in self.workspace_rows if row.id == workspace_id), None)

    async def projects(
        self, scope: Scope, workspace_id: int, wanted: Wanted, by: SortProjectsBy, *, descending: bool, window: Window
    ) -> Listed[ProjectRow]:
        covered = workspace_id if scope.covers(workspace_id) else None
        within = (self._project(row) for row in self.project_rows if row.workspace_id == covered)
        column = attrgetter(PROJECT_FIELDS.get(by, "id"))
        return cut(ordered(filtered(within, wanted), column, attrgetter("id"), descending=descending), window)

    async def project(self, project_id: int) -> ProjectRow | None:
        return next((self._project(row) for row in self.project_rows if row.id == project_id), None)

    async def project_with_key(self, key: str) -> int | None:
        return next((row.id for row in self.project_rows if row.key == key), None)

    def _workspace(self, row: Workspace, user_id: int) -> WorkspaceRow:
        projects = [project.id for project in self.project_rows if project.workspace_id == row.id]
        return WorkspaceRow(
            id=row.id,
            name=row.name,
            archived=row.archived,
            immutable=row.immutable,
            owner_id=row.owner_id,
            owner=self._owner(row),
            projects=len(projects),
            experiments=sum(one.project_id in projects for one in self.tables.all(EXPERIMENTS)),
            default_compute_pool=row.default_compute_pool,
            default_aux_pool=row.default_aux_pool,
            agent_user_group=row.agent_user_group,
            checkpoint_storage=row.checkpoint_storage,
            state=row.state,
            error=row.error,
            pinned_at=self._pinned_at(row.id, user_id),
        )

    def _pinned_at(self, workspace_id: int, user_id: int) -> datetime | None:
        found = self.tables.get(PINS, workspace_id, user_id)
        return None if found is None else found.pinned_at

    def _project(self, row: Project) -> ProjectRow:
        experiments = {one.id: one for one in self.tables.all(EXPERIMENTS) if one.project_id == row.id}
        within = next(one for one in self.workspace_rows if one.id == row.workspace_id)
        return ProjectRow(
            id=row.id,
            name=row.name,
            description=row.description,
            archived=row.archived or within.archived,
            immutable=row.immutable,
            workspace_id=row.workspace_id,
            workspace=within.name,
            owner_id=row.owner_id,
            owner=self._owner(row),
            experiments=len(experiments),
            active=sum(one.ended_at is None and one.state != ExperimentState.PAUSED for one in experiments.values()),
            runs=sum(one.trials for one in self.tables.all(STANDINGS) if one.experiment_id in experiments),
            last_started_at=max((one.started_at for one in experiments.values()), default=None),
            key=row.key,
            notes=row.notes or (),
            state=row.state,
            error=row.error,
        )

    def _owner(self, row: Workspace | Project) -> str:
        return next((user.username for user in self.tables.all(USERS) if user.id == row.owner_id), "")


PROJECT_FIELDS = {
    SortProjectsBy.LAST_EXPERIMENT_START_TIME: "last_started_at",
    SortProjectsBy.NAME: "name",
    SortProjectsBy.DESCRIPTION: "description",
}

Row = TypeVar("Row", WorkspaceRow, ProjectRow)


def filtered(rows: Iterable[Row], wanted: Wanted) -> Sequence[Row]:
    return [row for row in rows if _fulfils(row, wanted)]


def _fulfils(row: WorkspaceRow | ProjectRow, wanted: Wanted) -> bool:
    return (
        wanted.archived in (None, row.archived)
        and (not wanted.like or _like(wanted.like).fullmatch(row.name) is not None)
        and wanted.name in ("", row.name)
        and (not wanted.owners or row.owner in wanted.owners)
        and (not wanted.owner_ids or row.owner_id in wanted.owner_ids)
    )


WILD = {"%": ".*", "_": "."}


def _like(pattern: str) -> re.Pattern[str]:
    """What ILIKE finds without a character for escapes."""
    return re.compile("".join(WILD.get(one) or re.escape(one) for one in pattern), re.IGNORECASE | re.DOTALL)
