"""Projects: making, showing, changing, archiving and deleting them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import places
from resolute.cli.commands.experiment_show import show_experiments
from resolute.cli.confirmation import confirmed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.places import project
from resolute.cli.session import Session


def list_(args: Namespace) -> None:
    places.list_projects(session(args), args)


def list_experiments(args: Namespace) -> None:
    opened = session(args)
    query: dict[str, Any] = {"projectId": project(opened, args.workspace_name, args.project_name)["id"]}
    if not args.all:
        query["archived"] = False
    show_experiments(args, places.listed(opened, "/api/v1/experiments", "experiments", args, query))


def create(args: Namespace) -> None:
    opened = session(args)
    workspace_id = places.workspace(opened, args.workspace_name)["id"]
    said = {"name": args.name, "workspaceId": workspace_id, "description": args.description or ""}
    body = said if args.key is None else {**said, "key": args.key}
    places.show_project(args, opened.post(f"{places.PATH}/{workspace_id}/projects", body)["project"])


def describe(args: Namespace) -> None:
    opened = session(args)
    found = project(opened, args.workspace_name, args.project_name)
    places.show_project(args, found)
    if not args.json:
        query = {"projectId": found["id"], **({} if args.all else {"archived": False})}
        print("\nAssociated Experiments")
        show_experiments(args, list(opened.pages("/api/v1/experiments", "experiments", query)))


def edit(args: Namespace) -> None:
    said = {"name": args.new_name, "description": args.description, "key": args.key}
    changes = {key: value for key, value in said.items() if value is not None}
    if not changes:
        raise CliError("what is to be changed? Give --new_name, --description or --key")
    opened = session(args)
    places.show_project(args, opened.patch(_path(opened, args), changes)["project"])


def delete(args: Namespace) -> None:
    opened = session(args)
    path = _path(opened, args)
    confirmed(args.yes, f"Delete project {args.project_name!r} with all of its experiments for good?")
    if opened.delete(path)["completed"]:
        print(f"Successfully deleted project {args.project_name}.")
        return
    print(f"Started deletion of project {args.project_name}...")

    def look() -> tuple[dict[str, Any], str]:
        left = opened.get(path)["project"]
        return left, f"Remaining experiment count: {left['numExperiments']}"

    places.follow_deletion("Project", look)


def archive(args: Namespace) -> None:
    _post(args, "archive", "archived")


def unarchive(args: Namespace) -> None:
    _post(args, "unarchive", "un-archived")


def _post(args: Namespace, verb: str, done: str) -> None:
    opened = session(args)
    opened.post(f"{_path(opened, args)}/{verb}")
    print(f"Successfully {done} project {args.project_name}.")


def _path(opened: Session, args: Namespace) -> str:
    return f"/api/v1/projects/{project(opened, args.workspace_name, args.project_name)['id']}"
