"""Bindings of resource pools to workspaces: only these workspaces may use a pool that is bound."""

from __future__ import annotations

from argparse import Namespace
from urllib.parse import quote

from resolute.cli import output
from resolute.cli.login import session
from resolute.cli.places import PATH as WORKSPACES

HEADERS = ["resource pool", "workspaces"]


def add(args: Namespace) -> None:
    session(args).post(_path(args.pool_name), _named(args))
    print(f"Resource pool {args.pool_name!r} is bound to: {_shown(args)}")


def remove(args: Namespace) -> None:
    session(args).delete(_path(args.pool_name), _named(args))
    print(f"Resource pool {args.pool_name!r} is no longer bound to: {_shown(args)}")


def replace(args: Namespace) -> None:
    session(args).put(_path(args.pool_name), _named(args))
    print(f"Resource pool {args.pool_name!r} is bound to these workspaces only: {_shown(args)}")


def list_workspaces(args: Namespace) -> None:
    opened = session(args)
    bound = list(opened.pages(_path(args.pool_name), "workspaceIds"))
    names = {found["id"]: found["name"] for found in opened.pages(WORKSPACES, "workspaces")} if bound else {}
    shown = ", ".join(names.get(workspace_id, str(workspace_id)) for workspace_id in bound)
    output.show_table(HEADERS, [[args.pool_name, shown]])


def _path(pool: str) -> str:
    return f"/api/v1/resource-pools/{quote(pool, safe='')}/workspace-bindings"


def _named(args: Namespace) -> dict[str, object]:
    return {"resourcePoolName": args.pool_name, "workspaceNames": args.workspace_names}


def _shown(args: Namespace) -> str:
    return ", ".join(args.workspace_names)
