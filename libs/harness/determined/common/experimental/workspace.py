"""Workspaces: the projects in them and the pools that they may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined.common import api
from determined.common.experimental import project, resource_pool
from determined.common.experimental._places import project_named, workspace_named
from determined.common.experimental._session import UserSession, session_of


class Workspace:
    """A workspace, by exactly one of its id and its name."""

    def __init__(self, session: api.Session, workspace_id: int | None = None, workspace_name: str | None = None):
        if (workspace_id is None) == (workspace_name is None):
            raise ValueError("give exactly one of workspace_id and workspace_name")
        self._session = session_of(session)
        self.id: int
        self.name: str
        if workspace_name is not None:
            self._hydrate(workspace_named(self._session, workspace_name))
        elif workspace_id is not None:
            self.id = workspace_id
            self.reload()

    @classmethod
    def _of(cls, session: UserSession, raw: Mapping[str, Any]) -> Workspace:
        """The workspace that the master described already."""
        found = cls.__new__(cls)
        found._session = session
        return found._hydrate(raw)

    def __repr__(self) -> str:
        return f"Workspace(id={self.id}, name={self.name!r})"

    def reload(self) -> None:
        self._hydrate(self._session.get(self._path)["workspace"])

    def list_pools(self) -> list[resource_pool.ResourcePool]:
        found = self._session.pages(f"{self._path}/available-resource-pools", "resourcePools")
        return [resource_pool.ResourcePool(self._session, name) for name in found]

    def create_project(self, name: str, description: str | None = None) -> project.Project:
        body = {"workspaceId": self.id, "name": name, "description": description or ""}
        raw = self._session.post(f"{self._path}/projects", body)["project"]
        return project.Project(self._session, raw["id"])._hydrate(raw)

    def delete_project(self, name: str) -> None:
        """Ask the master to remove the project; it does so after this returns."""
        self._session.delete(f"/api/v1/projects/{self.get_project(name).id}")

    def get_project(self, project_name: str) -> project.Project:
        raw = project_named(self._session, self.id, project_name)
        return project.Project(self._session, raw["id"])._hydrate(raw)

    def list_projects(self) -> list[project.Project]:
        found = self._session.pages(f"{self._path}/projects", "projects")
        return [project.Project(self._session, raw["id"])._hydrate(raw) for raw in found]

    @property
    def _path(self) -> str:
        return f"/api/v1/workspaces/{self.id}"

    def _hydrate(self, raw: Mapping[str, Any]) -> Workspace:
        self.id, self.name = raw["id"], raw["name"]
        return self
