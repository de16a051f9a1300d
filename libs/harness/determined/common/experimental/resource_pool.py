"""Resource pools: the workspaces that may use them."""

from __future__ import annotations

from determined.common import api
from determined.common.experimental._session import session_of


class ResourcePool:
    """A resource pool, by its name."""

    def __init__(self, session: api.Session, name: str = ""):
        self._session = session_of(session)
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"

    def add_bindings(self, workspace_names: list[str]) -> None:
        self._session.post(self._path, self._body(workspace_names))

    def remove_bindings(self, workspace_names: list[str]) -> None:
        self._session.delete(self._path, self._body(workspace_names))

    def replace_bindings(self, workspace_names: list[str]) -> None:
        self._session.put(self._path, self._body(workspace_names))

    def list_workspaces(self) -> list[str | None]:
        """The names of the workspaces that the pool is bound to."""
        bound = set(self._session.pages(self._path, "workspaceIds"))
        workspaces = self._session.pages("/api/v1/workspaces", "workspaces") if bound else ()
        return [each["name"] for each in workspaces if each["id"] in bound]

    def _body(self, workspace_names: list[str]) -> dict[str, object]:
        return {"resourcePoolName": self.name, "workspaceNames": workspace_names}

    @property
    def _path(self) -> str:
        return f"/api/v1/resource-pools/{api.segment(self.name)}/workspace-bindings"
