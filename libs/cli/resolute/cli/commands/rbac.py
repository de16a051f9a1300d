"""Roles: showing them, and giving them to users and groups."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from resolute.cli import output, workspaces
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.cli.teams import PAGE_MOST, group_id, group_names, user

ROLES = "/api/v1/roles/search"

NAMED = ["Id", "Name", "Scopetypemask"]
"""The columns of tables of roles and of permissions."""

PLACE = ["Workspaceid", "Workspacename", "Assignedglobally"]

Thing = Mapping[str, Any]


def my_permissions(args: Namespace) -> None:
    opened = session(args)
    found = opened.get("/api/v1/permissions/summary")
    if args.json:
        output.show_json(found)
        return
    permissions = {role["roleId"]: role["permissions"] for role in found["roles"]}
    of_place: dict[int | None, dict[str, Thing]] = {}
    for one in found["assignments"]:
        for place in [None] * one["scopeCluster"] + one["scopeWorkspaceIds"]:
            granted = {permission["id"]: permission for permission in permissions[one["roleId"]]}
            of_place.setdefault(place, {}).update(granted)
    if not of_place:
        print("You hold no role.")
        return
    names = workspaces.names(opened)
    for place, held in sorted(of_place.items(), key=lambda one: one[0] or 0):
        print("On the whole cluster:" if place is None else f"On workspace {_name(names, place)} (ID {place}):")
        output.show_table(NAMED, [_named(one, "id") for one in held.values()])


def list_roles(args: Namespace) -> None:
    found = [
        role
        for role in session(args).searched(
            ROLES, "roles", limit=args.limit, offset=args.offset, only_first=args.pages == "1"
        )
        if role["scopeTypeMask"]["workspace"] or not args.exclude_global_roles
    ]
    if args.json:
        output.show_json(found)
        return
    output.show_table(NAMED, [_named(role, "roleId") for role in found])


def _named(thing: Thing, ident: str) -> list[Any]:
    mask = thing.get("scopeTypeMask") or {}
    return [thing[ident], thing["name"], ", ".join(where for where in ("cluster", "workspace") if mask.get(where))]


def describe_role(args: Namespace) -> None:
    opened = session(args)
    found = opened.post(f"{ROLES}/by-ids", {"roleIds": [_role(opened, args.role_name)["roleId"]]})["roles"]
    if args.json:
        output.show_json(found)
        return
    places, groups = workspaces.names(opened), group_names(opened)
    users = {one["id"]: one["username"] for one in opened.pages("/api/v1/users", "users")}
    for one in found:
        output.show_table(NAMED, [_named(one["role"], "roleId")])
        output.show_table(
            ["Groupid", "Groupname", *PLACE],
            [_holder(held, "groupId", groups, places) for held in one["groupRoleAssignments"]],
        )
        output.show_table(
            ["Userid", "Username", *PLACE],
            [_holder(held, "userId", users, places) for held in one["userRoleAssignments"]],
        )


def _holder(held: Thing, ident: str, names: Mapping[int, str], places: Mapping[int, str]) -> list[Any]:
    number = held[ident]
    return [number, _name(names, number), *_place(held["roleAssignment"], places)]


def _place(assignment: Thing, places: Mapping[int, str]) -> list[Any]:
    number = assignment.get("scopeWorkspaceId")
    return [number, None if number is None else _name(places, number), number is None]


def _name(names: Mapping[int, str], number: int) -> str:
    """Of a workspace, a group or a user; the caller may not see all there are."""
    return names.get(number, "unknown")


def list_users_roles(args: Namespace) -> None:
    opened = session(args)
    found = opened.get(f"{ROLES}/by-user/{user(opened, args.username)['id']}")["roles"]
    if args.json:
        output.show_json(found)
        return
    headers = [
        "Rolename", "Roleid", "Assigneddirectlytouser", "Assignedtogroupname", "Assignedtogroupid",
        "Scopecluster", "Scopeworkspacename", "Scopeworkspaceid",
    ]  # fmt: skip
    places, groups = workspaces.names(opened), group_names(opened)
    output.show_table(headers, [row for one in found for row in _held(one, groups, places)])


def _held(one: Thing, groups: Mapping[int, str], places: Mapping[int, str]) -> Iterator[list[Any]]:
    """A row for each way in which a user holds a role."""
    for held in [*one["userRoleAssignments"], *one["groupRoleAssignments"]]:
        group = held.get("groupId")
        workspace_id, workspace_name, on_cluster = _place(held["roleAssignment"], places)
        of_group = None if group is None else _name(groups, group)
        role = one["role"]
        yield [role["name"], role["roleId"], group is None, of_group, group, on_cluster, workspace_name, workspace_id]


def list_groups_roles(args: Namespace) -> None:
    opened = session(args)
    found = opened.get(f"{ROLES}/by-group/{group_id(opened, args.group_name)}")
    if args.json:
        output.show_json(found)
        return
    names = {role["roleId"]: role["name"] for role in found["roles"]}
    places = workspaces.names(opened)
    for one in found["assignments"]:
        print(f"Role {names[one['roleId']]} (ID {one['roleId']}):")
        rows: list[list[Any]] = [[True, None, None]] if one["scopeCluster"] else []
        rows += [[False, number, _name(places, number)] for number in one["scopeWorkspaceIds"]]
        output.show_table(["Assignedglobally", "Workspaceid", "Workspacename"], rows)
    if not names:
        print(f"Group {args.group_name} holds no role.")


def assign_role(args: Namespace) -> None:
    opened = session(args)
    body, said = _assignment(opened, args)
    opened.post("/api/v1/roles/add-assignments", body)
    print(f"Assigned {said}")
    if not opened.get("/api/v1/master").get("rbacEnabled"):
        print(
            "Note: roles do not decide yet what users of this cluster may do; its administrator can set "
            "security.authz.type to rbac.",
            file=sys.stderr,
        )


def unassign_role(args: Namespace) -> None:
    opened = session(args)
    body, said = _assignment(opened, args)
    opened.post("/api/v1/roles/remove-assignments", body)
    print(f"Removed {said}")


def _assignment(opened: Session, args: Namespace) -> tuple[dict[str, Any], str]:
    """The request's body, and what it is in words."""
    username, group = args.username_to_assign, args.group_name_to_assign
    if bool(username) == bool(group):
        raise CliError("whose role? Name either a user (--username-to-assign) or a group (--group-name-to-assign)")
    place: dict[str, Any] = {"scopeCluster": True}
    where = "the whole cluster"
    if args.workspace_name:
        place = {"scopeWorkspaceId": workspaces.id_of(opened, args.workspace_name)}
        where = f"workspace {args.workspace_name}"
    given = {"roleAssignment": {"role": {"roleId": _role(opened, args.role_name)["roleId"]}, **place}}
    if username:
        holder = {"userId": user(opened, username)["id"], **given}
        return {"userRoleAssignments": [holder]}, f"role {args.role_name} of user {username} on {where}"
    holder = {"groupId": group_id(opened, group), **given}
    return {"groupRoleAssignments": [holder]}, f"role {args.role_name} of group {group} on {where}"


def _role(opened: Session, name: str) -> Thing:
    """Raises CliError where no role has exactly this name."""
    roles: list[Thing] = list(opened.searched(ROLES, "roles", limit=PAGE_MOST))
    found = next((role for role in roles if role["name"] == name), None)
    if found is None:
        raise CliError(f"role {name!r} not found; there are {', '.join(role['name'] for role in roles)}")
    return found
