"""Configuration templates: making, showing, changing and removing them."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

import yaml

from resolute.cli import output, terminal, workspaces
from resolute.cli.commands.experiment_create import read_config
from resolute.cli.errors import CliError
from resolute.cli.login import session

TEMPLATES = "/api/v1/templates"

LISTED = ["Name", "Workspace"]


def list_(args: Namespace) -> None:
    opened = session(args)
    names = workspaces.names(opened)
    headers = [*LISTED, "Config"] if args.details else LISTED
    found = opened.pages(TEMPLATES, "templates", {"sortBy": "SORT_BY_NAME"})
    rows = ([one["name"], names.get(one["workspaceId"], "missing workspace"), _text(one["config"])] for one in found)
    output.show_table(headers, [row[: len(headers)] for row in rows])


def describe(args: Namespace) -> None:
    print(_text(session(args).get(_path(args.template_name))["template"]["config"]))


def create(args: Namespace) -> None:
    opened, config = session(args), _config(args)
    workspace_id = workspaces.id_of(opened, args.workspace_name) if args.workspace_name else 0
    opened.post(_path(args.template_name), {"name": args.template_name, "config": config, "workspaceId": workspace_id})
    _done(f"Created template {args.template_name}")


def set_(args: Namespace) -> None:
    new = {"name": args.template_name, "config": _config(args), "workspaceId": 0}
    session(args).put(_path(args.template_name), new)
    _done(f"Set template {args.template_name}")


def set_config(args: Namespace) -> None:
    session(args).patch(_path(args.template_name), _config(args))
    _done(f"Updated template {args.template_name}")


def remove(args: Namespace) -> None:
    session(args).delete(_path(args.template_name))
    _done(f"Removed template {args.template_name}")


def _path(name: str) -> str:
    """Raises CliError for what would be the path of another thing."""
    if "/" in name or name in ("", ".", ".."):
        raise CliError(f"{name!r} is no name of a template: names are not empty and have no slash")
    return f"{TEMPLATES}/{name}"


def _config(args: Namespace) -> dict[str, Any]:
    return read_config(args.template_file, [])[1]


def _text(config: dict[str, Any]) -> str:
    return yaml.safe_dump(config, default_flow_style=False, allow_unicode=True)


def _done(what: str) -> None:
    print(terminal.colour(what, "green", sys.stdout))
