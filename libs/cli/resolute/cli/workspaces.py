"""Workspaces, as far as other commands need them: by name, and the names of all."""

from __future__ import annotations

from resolute.cli.errors import CliError
from resolute.cli.session import Session


def id_of(opened: Session, name: str) -> int:
    """Of the workspace of exactly this name. Raises CliError where there is none."""
    query = {"name": name, "nameCaseSensitive": name}
    for workspace in opened.pages("/api/v1/workspaces", "workspaces", query):
        if workspace["name"] == name:
            return int(workspace["id"])
    raise CliError(f"workspace {name!r} not found; `det workspace list` shows those there are")


def names(opened: Session) -> dict[int, str]:
    """By id."""
    return {one["id"]: one["name"] for one in opened.pages("/api/v1/workspaces", "workspaces")}
