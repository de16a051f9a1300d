"""Workspaces and projects by name, as the SDK finds them: an unknown name is a NotFoundException."""

from __future__ import annotations

from typing import Any

from determined.common.api import errors
from determined.common.client import places
from determined.common.experimental._session import UserSession


def workspace_named(session: UserSession, name: str) -> dict[str, Any]:
    if (found := places.workspace_named(session, name)) is None:
        raise errors.NotFoundException(f"there is no workspace named {name!r}")
    return found


def project_named(session: UserSession, workspace_id: int, name: str) -> dict[str, Any]:
    if (found := places.project_named(session, workspace_id, name)) is None:
        raise errors.NotFoundException(f"there is no project named {name!r} in workspace {workspace_id}")
    return found
