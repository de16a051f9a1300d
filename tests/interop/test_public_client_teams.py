"""The public client's groups and roles, in a cluster that shows roles and does not enforce them."""

from __future__ import annotations

import json
from typing import Any

from tests.interop.conftest import PublicClient

AS_ADMIN = {"DET_USER": "admin", "DET_PASS": ""}


def admin(public: PublicClient, *words: str) -> str:
    return public.det(*words, **AS_ADMIN)


def shown(public: PublicClient, *words: str) -> Any:
    return json.loads(admin(public, *words, "--json"))


def test_it_keeps_groups(public: PublicClient) -> None:
    admin(public, "user-group", "create", "interop", "--add-user", "determined")
    assert "interop" in admin(public, "user-group", "list")
    assert "interop" in admin(public, "user-group", "list", "--groups-user-belongs-to", "determined")
    assert "determined" in admin(public, "user-group", "describe", "interop")
    admin(public, "user-group", "add-user", "interop", "admin")
    admin(public, "user-group", "remove-user", "interop", "determined")
    assert [user["username"] for user in shown(public, "user-group", "describe", "interop")["users"]] == ["admin"]
    admin(public, "user-group", "change-name", "interop", "renamed")
    again = public.run("user-group", "add-user", "renamed", "admin", **AS_ADMIN)
    assert again.returncode == 1
    assert "user 1 is a member already" in again.stdout + again.stderr
    admin(public, "user-group", "delete", "renamed", "--yes")
    assert "renamed" not in admin(public, "user-group", "list")


def test_it_assigns_roles(public: PublicClient) -> None:
    roles = admin(public, "rbac", "list-roles")
    assert "ClusterAdmin" in roles
    assert "EditorProjectRestricted" in roles
    assert "ClusterAdmin" not in admin(public, "rbac", "list-roles", "--exclude-global-roles")
    admin(public, "user-group", "create", "teams", "--add-user", "determined")
    admin(public, "rbac", "assign-role", "Viewer", "-g", "teams")
    admin(public, "rbac", "assign-role", "Editor", "-w", "Uncategorized", "-u", "determined")
    held = admin(public, "rbac", "list-users-roles", "determined")
    assert "Viewer" in held
    assert "Editor" in held
    assert "Uncategorized" in held
    assert "Viewer" in admin(public, "rbac", "list-groups-roles", "teams")
    described = admin(public, "rbac", "describe-role", "Editor")
    assert "determined" in described
    assert "create experiment" in public.det("rbac", "my-permissions")

    refused = public.run("rbac", "assign-role", "ClusterAdmin", "-w", "Uncategorized", "-g", "teams", **AS_ADMIN)
    assert refused.returncode == 1
    assert "a global-only permission cannot be assigned to a local scope" in refused.stdout + refused.stderr
    twice = public.run("rbac", "assign-role", "Viewer", "-g", "teams", **AS_ADMIN)
    assert (twice.returncode, "assigned already" in twice.stdout + twice.stderr) == (1, True)

    admin(public, "rbac", "unassign-role", "Editor", "-w", "Uncategorized", "-u", "determined")
    admin(public, "user-group", "delete", "teams", "--yes")
    assert "Viewer" not in admin(public, "rbac", "list-users-roles", "determined")


def test_an_administrators_det_changes_the_log_of_the_master(public: PublicClient) -> None:
    public.det("master", "config", "set", "--log.level", "DEBUG", "--log.color", "off", **AS_ADMIN)
    shown = json.loads(public.det("master", "config", "show", "--json", **AS_ADMIN))
    assert shown["log"] == {"level": "debug", "color": False}
    refused = public.run("master", "config", "set", "--log.color", "on", **AS_ADMIN)
    assert "JSON lines" in refused.stderr
    public.det("master", "config", "set", "--log.level", "INFO", **AS_ADMIN)
