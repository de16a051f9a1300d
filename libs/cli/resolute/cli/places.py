"""Workspaces and projects as the commands about them show them, and how their deletion is followed."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from determined.common.client import places
from resolute.cli import output
from resolute.cli.errors import CliError, NotFound
from resolute.cli.session import Session

PROJECT = ["ID", "Key", "Name", "Description", "# Experiments", "# Active Experiments"]

LOOK_EVERY_S = 2.0

PATH = "/api/v1/workspaces"


def workspace(opened: Session, name: str) -> dict[str, Any]:
    """Raises CliError where there is none of exactly this name."""
    if (found := places.workspace_named(opened, name)) is None:
        raise CliError(f"workspace {name!r} not found; `det workspace list` shows those there are")
    return found


def project(opened: Session, workspace_name: str, name: str) -> dict[str, Any]:
    """Raises CliError where there is none of this name."""
    within = workspace(opened, workspace_name)
    if (found := places.project_named(opened, within["id"], name)) is None:
        raise CliError(
            f"workspace {workspace_name!r} has no project {name!r}; `det project list {workspace_name}` shows those "
            "there are"
        )
    return found


def listed(opened: Session, path: str, key: str, args: Namespace, query: dict[str, Any] | None = None) -> list[Any]:
    """A list in the order that the arguments ask for."""
    wanted = {"sortBy": f"SORT_BY_{args.sort_by.upper()}", "orderBy": f"ORDER_BY_{args.order_by.upper()}"}
    return list(opened.pages(path, key, {**(query or {}), **wanted}, limit=args.limit, offset=args.offset or 0))


def list_projects(opened: Session, args: Namespace) -> None:
    workspace_id = workspace(opened, args.workspace_name)["id"]
    found = listed(opened, f"{PATH}/{workspace_id}/projects", "projects", args)
    if args.json:
        output.show_json(found)
        return
    output.show_table(PROJECT, map(_project_row, found))


def show_project(args: Namespace, found: dict[str, Any]) -> None:
    if args.json:
        output.show_json(found)
        return
    output.show_table(PROJECT, [_project_row(found)])


def _project_row(one: dict[str, Any]) -> list[Any]:
    numbers = one.get("numExperiments", 0), one.get("numActiveExperiments", 0)
    return [one["id"], one.get("key"), one["name"], one.get("description"), *numbers]


def follow_deletion(what: str, look: Callable[[], tuple[dict[str, Any], str]]) -> None:
    """Show what is left until the thing is gone. `look` answers the thing, and what is left in it.

    Raises CliError where the deletion failed, with the reason.
    """
    while True:
        try:
            thing, left = look()
        except NotFound:
            print(f"{what} deleted successfully.")
            return
        if thing["state"] == "WORKSPACE_STATE_DELETE_FAILED":
            raise CliError(f"the deletion failed: {thing.get('errorMessage')}")
        print(left, flush=True)
        time.sleep(LOOK_EVERY_S)
