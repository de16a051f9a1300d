"""Configuration policies: showing, setting and deleting those of the cluster and of a workspace."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import output, workspaces
from resolute.cli.commands.experiment_create import read_config
from resolute.cli.login import session
from resolute.cli.session import Session

WORKLOADS = {"experiment": "EXPERIMENT", "tasks": "NTSC"}


def describe(args: Namespace) -> None:
    opened = session(args)
    found = opened.get(_path(opened, args))["configPolicies"]
    if args.json:
        output.show_json(found)
    else:
        output.show_yaml(found)


def set_(args: Namespace) -> None:
    opened, text = session(args), read_config(args.config_file, [])[0]
    new: dict[str, Any] = {"configPolicies": text, "workloadType": WORKLOADS[args.workload_type]}
    if args.workspace_name:
        new["workspaceId"] = workspaces.id_of(opened, args.workspace_name)
    found = opened.put(_path(opened, args), new)["configPolicies"]
    place = f" for workspace {args.workspace_name}" if args.workspace_name else ""
    print(f"Set {'' if place else 'global '}{args.workload_type} config policies{place}:")
    output.show_yaml(found)


def delete(args: Namespace) -> None:
    opened = session(args)
    opened.delete(_path(opened, args))
    place = f" for workspace {args.workspace_name}" if args.workspace_name else ""
    print(f"Successfully deleted {'' if place else 'global '}{WORKLOADS[args.workload_type]} config policies{place}")


def _path(opened: Session, args: Namespace) -> str:
    of = f"workspaces/{workspaces.id_of(opened, args.workspace_name)}" if args.workspace_name else "global"
    return f"/api/v1/config-policies/{of}/{WORKLOADS[args.workload_type]}"
