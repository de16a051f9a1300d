"""Workspaces: making, showing, changing, archiving and deleting them."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import yaml

from resolute.cli import output, places
from resolute.cli.confirmation import confirmed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.places import PATH, workspace
from resolute.cli.teams import group_names

HEADERS = [
    "ID", "Name", "# Projects", "Agent Uid", "Agent Gid", "Agent User", "Agent Group", "Default Compute Pool",
    "Default Aux Pool",
]  # fmt: skip
STORAGE = "Checkpoint Storage Config"
MEMBERS = ["User/Group Name", "User/Group", "Role Name"]

OF_KUBERNETES = (
    *("cluster_name", "namespace", "auto_create_namespace", "auto_create_namespace_all_clusters"),
    "resource_quota",
)


def list_(args: Namespace) -> None:
    found = places.listed(session(args), PATH, "workspaces", args)
    if args.json:
        output.show_json(found)
        return
    output.show_table(HEADERS, map(_row, found))


def list_projects(args: Namespace) -> None:
    places.list_projects(session(args), args)


def list_pools(args: Namespace) -> None:
    opened = session(args)
    workspace_id = workspace(opened, args.workspace_name)["id"]
    pools = opened.pages(f"{_path(workspace_id)}/available-resource-pools", "resourcePools")
    output.show_table(["Workspace", "Available Resource Pools"], [[args.workspace_name, ", ".join(pools)]])


def list_members(args: Namespace) -> None:
    opened = session(args)
    workspace_id = workspace(opened, args.workspace_name)["id"]
    found = opened.get(f"/api/v1/roles/workspace/{workspace_id}")
    if args.json or args.yaml:
        (output.show_json if args.json else output.show_yaml)(found)
        return
    output.show_table(MEMBERS, _members(found, group_names(opened)), as_csv=args.csv)


def _members(found: dict[str, Any], groups: dict[int, str]) -> Iterator[list[Any]]:
    users = {one["id"]: one["username"] for one in found.get("usersAssignedDirectly") or ()}
    for held in found.get("assignments") or ():
        role = held["role"]["name"]
        for one in held.get("userRoleAssignments") or ():
            yield [users.get(one["userId"], one["userId"]), "U", role]
        for one in held.get("groupRoleAssignments") or ():
            yield [groups.get(one["groupId"], one["groupId"]), "G", role]


def describe(args: Namespace) -> None:
    opened = session(args)
    _show(args, opened.get(_path(workspace(opened, args.workspace_name)["id"]))["workspace"])


def create(args: Namespace) -> None:
    for name in OF_KUBERNETES:
        if getattr(args, name):
            raise CliError(f"--{name.replace('_', '-')} is for Kubernetes, which this release does not support")
    made = session(args).post(PATH, {"name": args.name, **_settings(args, "Pool")})["workspace"]
    _show(args, made)


def edit(args: Namespace) -> None:
    changes = {**({} if args.name is None else {"name": args.name}), **_settings(args, "ResourcePool")}
    if not changes:
        raise CliError("what is to be changed? `det workspace edit --help` lists what can be")
    opened = session(args)
    changed = opened.patch(_path(workspace(opened, args.workspace_name)["id"]), changes)["workspace"]
    _show(args, changed)


def delete(args: Namespace) -> None:
    opened = session(args)
    workspace_id = workspace(opened, args.workspace_name)["id"]
    confirmed(args.yes, f"Delete workspace {args.workspace_name!r} with everything in it for good?")
    if opened.delete(_path(workspace_id))["completed"]:
        print(f"Successfully deleted workspace {args.workspace_name}.")
        return
    print(f"Started deletion of workspace {args.workspace_name}...")

    def look() -> tuple[dict[str, Any], str]:
        left = opened.get(_path(workspace_id))["workspace"]
        return left, f"Remaining project count: {left['numProjects']}"

    places.follow_deletion("Workspace", look)


def archive(args: Namespace) -> None:
    _post(args, "archive", "archived")


def unarchive(args: Namespace) -> None:
    _post(args, "unarchive", "un-archived")


def _post(args: Namespace, verb: str, done: str) -> None:
    opened = session(args)
    opened.post(f"{_path(workspace(opened, args.workspace_name)['id'])}/{verb}")
    print(f"Successfully {done} workspace {args.workspace_name}.")


def _path(workspace_id: int) -> str:
    return f"{PATH}/{workspace_id}"


def _settings(args: Namespace, pool: str) -> dict[str, Any]:
    """What was said of the settings, as the wire names them; `pool`: how the names of the pools end there."""
    host = {
        "agentUid": args.agent_uid,
        "agentUser": args.agent_user,
        "agentGid": args.agent_gid,
        "agentGroup": args.agent_group,
    }
    said = {
        "agentUserGroup": {key: value for key, value in host.items() if value is not None} or None,
        "checkpointStorageConfig": _storage(args),
        f"defaultCompute{pool}": args.default_compute_pool,
        f"defaultAux{pool}": args.default_aux_pool,
    }
    return {key: value for key, value in said.items() if value is not None}


def _storage(args: Namespace) -> Any:
    if args.checkpoint_storage_config is not None:
        try:
            found = json.loads(args.checkpoint_storage_config)
        except ValueError as error:
            raise CliError(f"--checkpoint-storage-config is no JSON: {error}") from error
    elif args.checkpoint_storage_config_file is not None:
        try:
            found = yaml.safe_load(args.checkpoint_storage_config_file.read_text())
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise CliError(f"--checkpoint-storage-config-file cannot be read: {error}") from error
    else:
        return None
    if not isinstance(found, dict):
        raise CliError(f'the checkpoint storage is to be an object, such as {{"type": "shared_fs"}}; found {found!r}')
    return found


def _show(args: Namespace, shown: dict[str, Any]) -> None:
    if args.json:
        output.show_json(shown)
        return
    storage = shown.get("checkpointStorageConfig")
    output.show_table([*HEADERS, STORAGE], [[*_row(shown), json.dumps(storage, indent=2) if storage else None]])


def _row(one: dict[str, Any]) -> list[Any]:
    host = one.get("agentUserGroup") or {}
    return [
        one["id"],
        one["name"],
        one.get("numProjects", 0),
        *(host.get(key) for key in ("agentUid", "agentGid", "agentUser", "agentGroup")),
        one.get("defaultComputePool"),
        one.get("defaultAuxPool"),
    ]
