"""Writes docs/reference/roles.md: what each role lets a user do, from the table of routes. `python docs/roles.py`."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from pathlib import Path

from resolute.api.access import bounds_of
from resolute.api.principals import Principal
from resolute.api.role_grants import REQUIRED, granted, required_by
from resolute.api.routing import Access, Caller, Owned, Route, Verdict, decide
from resolute.api.scope import Rights, Scope
from resolute.api.subjects import Reach
from resolute.api.table import ROUTES
from resolute.config import rights
from resolute.config.rights import ROLES

PAGE = Path(__file__).parent / "reference" / "roles.md"

HERE, ELSEWHERE = 7, 8
USER, OWNER = Principal(5, "somebody"), 9

COLUMNS = {
    "Viewer": rights.Rights(frozenset({(4, HERE)})),
    "Editor": rights.Rights(frozenset({(5, HERE)})),
    "WorkspaceAdmin": rights.Rights(frozenset({(2, HERE)})),
    "of another workspace": rights.Rights(frozenset({(2, ELSEWHERE)})),
    "ClusterAdmin": rights.Rights(frozenset({(1, None)})),
}

HEADER = """# Roles and what they permit

Written by `python docs/roles.py` from the table of routes. It holds where the master configuration says
`security.authz.type: rbac`; the guide has a page on teams and roles.

The roles are fixed. One that holds a permission of the cluster alone can only be assigned on the whole cluster.

| id | role | on a workspace | permissions |
|---|---|---|---|"""

OPERATIONS = """
## Operations

Each column is a user with one role: a role on the workspace of what the request names, and which belongs to another
user; the role WorkspaceAdmin on another workspace; and the role ClusterAdmin.

- **yes**: the request is answered. A list shows, and an action on many finds, what the role lets the user see.
- **404**: the user may not see what the request names, and is answered as if it did not exist.
- **403**: the user may see it and not do this.
- **empty**: a list without anything in it."""


def page() -> str:
    parts = [HEADER, *map(_role, ROLES.values()), OPERATIONS]
    routes = sorted(ROUTES, key=lambda route: (route.declared.tag, route.operation))
    for tag, found in groupby(routes, key=attrgetter("declared.tag")):
        parts += [
            "",
            f"### {tag}",
            "",
            f"| operation | needs | {' | '.join(COLUMNS)} |",
            "|---|---|" + "---|" * len(COLUMNS),
        ]
        parts += map(_operation, found)
    return "\n".join(parts) + "\n"


def _role(role: rights.Role) -> str:
    names = ", ".join(one.name for one in sorted(role.permissions))
    everything = "all" if len(role.permissions) == len(rights.Permission) else names
    return f"| {role.id} | {role.name} | {'yes' if role.may_be_on_a_workspace else 'no'} | {everything} |"


def _operation(route: Route) -> str:
    outcomes = " | ".join(_outcome(route, held) for held in COLUMNS.values())
    return f"| {route.operation} | {_needed(route.access)} | {outcomes} |"


def _needed(access: Access) -> str:
    if not access.callers - {Caller.TASK, Caller.MONITOR}:
        return "a task's token"
    asked = dict.fromkeys(one for one in (access.permission, *(s.permission for s in access.subjects)) if one)
    names = dict.fromkeys(required_by(one).replace("PERMISSION_TYPE_", "") for one in asked if REQUIRED[one])
    return ", ".join(names) or "nothing"


def _outcome(route: Route, held: rights.Rights) -> str:
    scopes = {permission: Scope(granted(held, REQUIRED[permission])) for permission in route.permissions}
    has = Rights(scopes, by_roles=True)
    named = [_thing(subject.kind, subject.permission) for subject in route.access.subjects]
    match decide(route.access, USER, named, has):
        case Verdict.MISSING:
            return "404"
        case Verdict.ALLOWED:
            bounds = bounds_of(route.access, has) if route.access.reach is Reach.SCOPE else None
            return "empty" if isinstance(bounds, Scope) and not bounds.is_everything and not bounds.held else "yes"
    return "403"


def _thing(kind: str, permission: str) -> Owned:
    return Owned(kind, "1", owner_id=OWNER, workspace_id=HERE, permission=permission)


if __name__ == "__main__":
    PAGE.write_text(page())
