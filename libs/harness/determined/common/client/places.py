"""Finding workspaces and projects by name: letters' case counts for workspaces, and not for projects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class Lister(Protocol):
    """A session that reads a list page by page."""

    def pages(self, path: str, key: str, query: Mapping[str, Any] | None = None, /) -> Iterator[Any]: ...


def workspace_named(session: Lister, name: str) -> dict[str, Any] | None:
    """The workspace of exactly this name, or None."""
    found = session.pages("/api/v1/workspaces", "workspaces", {"nameCaseSensitive": name})
    return next((each for each in found if each["name"] == name), None)


def project_named(session: Lister, workspace_id: int, name: str) -> dict[str, Any] | None:
    """The project of this name in a workspace, or None."""
    found = session.pages(f"/api/v1/workspaces/{workspace_id}/projects", "projects", {"name": name})
    return next((each for each in found if each["name"].lower() == name.lower()), None)
