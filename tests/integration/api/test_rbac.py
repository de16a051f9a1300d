"""Groups, roles and assignments over REST, in a cluster that enforces no roles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from resolute.config.authz import Authz
from tests.integration.api.running import Client, Running, running

GROUPS = "/api/v1/groups"
ADD, REMOVE = "/api/v1/roles/add-assignments", "/api/v1/roles/remove-assignments"


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn, authz=Authz(rbac_ui_enabled=True)) as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


@pytest.fixture
async def user(cluster: Running) -> Client:
    return await cluster.nobody.login("determined")


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def group(client: Client, name: str, *user_ids: int) -> int:
    made: int = (await client.post(GROUPS, {"name": name, "addUsers": user_ids}))["group"]["groupId"]
    return made


def assignment(role: dict[str, Any], workspace_id: int | None = None) -> dict[str, Any]:
    return {"role": role, **({} if workspace_id is None else {"scopeWorkspaceId": workspace_id})}


def of_user(user_id: int, role: dict[str, Any], workspace_id: int | None = None) -> dict[str, Any]:
    return {"userRoleAssignments": [{"userId": user_id, "roleAssignment": assignment(role, workspace_id)}]}


def of_group(group_id: int, role: dict[str, Any], workspace_id: int | None = None) -> dict[str, Any]:
    return {"groupRoleAssignments": [{"groupId": group_id, "roleAssignment": assignment(role, workspace_id)}]}


async def summary(client: Client) -> dict[str, tuple[bool, list[int]]]:
    """Where the caller holds which role."""
    found = await client.get("/api/v1/permissions/summary")
    names = {role["roleId"]: role["name"] for role in found["roles"]}
    return {names[one["roleId"]]: (one["scopeCluster"], one["scopeWorkspaceIds"]) for one in found["assignments"]}


async def test_clients_are_shown_roles_where_the_configuration_says_so(cluster: Running) -> None:
    assert (await cluster.nobody.get("/api/v1/master"))["rbacEnabled"] is True


async def test_a_group_is_made_listed_changed_and_deleted(admin: Client) -> None:
    made = (await admin.post(GROUPS, {"name": "vision", "addUsers": [2]}))["group"]
    number = made["groupId"]
    assert (made["name"], [user["username"] for user in made["users"]]) == ("vision", ["determined"])
    assert (await admin.get(f"{GROUPS}/{number}"))["group"] == made
    listed = await admin.post(f"{GROUPS}/search", {"limit": 10, "userId": 2})
    assert listed["groups"] == [{"group": {"groupId": number, "name": "vision"}, "numMembers": 1}]
    assert (await admin.post(f"{GROUPS}/search", {"limit": 10, "name": "visio"}))["groups"] == []

    change = {"groupId": number, "name": "images", "addUsers": [1], "removeUsers": [2]}
    changed = (await admin.call("PUT", f"{GROUPS}/{number}", change)).body["group"]
    assert (changed["name"], [user["id"] for user in changed["users"]]) == ("images", [1])

    await admin.call("DELETE", f"{GROUPS}/{number}")
    assert await refused(admin, "GET", f"{GROUPS}/{number}") == (404, f"group '{number}' not found")


async def test_what_cannot_be_done_with_groups_is_said(admin: Client) -> None:
    number = await group(admin, "vision", 2)
    assert (await refused(admin, "POST", GROUPS, {"name": "vision"}))[0] == 409
    assert (await refused(admin, "POST", GROUPS, {"name": "2DeterminedPersonalGroup"}))[0] == 400
    assert await refused(admin, "POST", GROUPS, {"name": "x", "addUsers": [99]}) == (404, "user '99' not found")
    assert (await refused(admin, "PUT", f"{GROUPS}/{number}", {"groupId": number, "addUsers": [2]}))[0] == 409
    assert (await refused(admin, "POST", f"{GROUPS}/search", {}))[0] == 400
    assert (await refused(admin, "POST", f"{GROUPS}/search", {"limit": 501}))[0] == 400


async def test_users_join_several_groups_at_once(admin: Client) -> None:
    vision, sound = await group(admin, "vision", 1), await group(admin, "sound", 1, 2)
    await admin.call(
        "PATCH",
        "/api/v1/users/assignments",
        {"userIds": [1, 2], "addGroups": [vision], "removeGroups": [sound]},
    )
    found = (await admin.post(f"{GROUPS}/search", {"limit": 10}))["groups"]
    assert [(one["group"]["name"], one["numMembers"]) for one in found] == [("vision", 2), ("sound", 0)]


async def test_only_administrators_change_groups_and_roles_and_everybody_sees_them(admin: Client, user: Client) -> None:
    number = await group(admin, "vision")
    for method, path, body in (
        ("POST", GROUPS, {"name": "sound"}),
        ("DELETE", f"{GROUPS}/{number}", None),
        ("POST", ADD, of_user(2, {"roleId": 1})),
        ("POST", REMOVE, of_user(1, {"roleId": 1})),
    ):
        assert (await refused(user, method, path, body))[0] == 403
    assert (await user.get(f"{GROUPS}/{number}"))["group"]["name"] == "vision"


async def test_a_new_cluster_has_one_cluster_administrator(admin: Client, user: Client) -> None:
    assert await summary(admin) == {"ClusterAdmin": (True, [])}
    assert await summary(user) == {}


async def test_the_first_role_is_removed_and_assigned_as_any_other(admin: Client) -> None:
    first = of_user(1, {"name": "ClusterAdmin"})
    assert (await refused(admin, "POST", ADD, first))[0] == 409
    await admin.post(REMOVE, first)
    assert await summary(admin) == {}
    await admin.post(ADD, first)
    assert await summary(admin) == {"ClusterAdmin": (True, [])}


async def test_a_role_is_given_and_taken_by_name_or_id(admin: Client, user: Client) -> None:
    workspace_id = (await admin.post("/api/v1/workspaces", {"name": "vision"}))["workspace"]["id"]
    number = await group(admin, "vision", 2)
    await admin.post(ADD, of_user(2, {"roleId": 0, "name": "Viewer"}, workspace_id))
    await admin.post(ADD, of_group(number, {"roleId": 5}))
    assert await summary(user) == {"Viewer": (False, [workspace_id]), "Editor": (True, [])}

    [viewer, editor] = (await admin.get("/api/v1/roles/search/by-user/2"))["roles"]
    assert viewer["userRoleAssignments"][0]["roleAssignment"]["scopeWorkspaceId"] == workspace_id
    assert "scopeWorkspaceId" not in editor["groupRoleAssignments"][0]["roleAssignment"]
    of_vision = await admin.get(f"/api/v1/roles/search/by-group/{number}")
    assert of_vision["assignments"] == [{"roleId": 5, "scopeCluster": True, "scopeWorkspaceIds": []}]
    [found] = (await admin.post("/api/v1/roles/search/by-ids", {"roleIds": [4]}))["roles"]
    assert [one["userId"] for one in found["userRoleAssignments"]] == [2]
    users = await admin.get("/api/v1/users", roleIdAssignedDirectlyToUser=4)
    assert [user["username"] for user in users["users"]] == ["determined"]

    await admin.post(REMOVE, of_user(2, {"name": "Viewer"}, workspace_id))
    assert await summary(user) == {"Editor": (True, [])}
    await admin.call("DELETE", f"{GROUPS}/{number}")
    assert await summary(user) == {}


async def test_what_cannot_be_assigned_or_removed_is_said(admin: Client) -> None:
    viewer = {"roleId": 4}
    await admin.post(ADD, of_user(2, viewer))
    assert (await refused(admin, "POST", ADD, of_user(2, viewer)))[0] == 409
    assert (await refused(admin, "POST", REMOVE, of_user(1, viewer)))[0] == 404
    status, why = await refused(admin, "POST", ADD, of_user(2, {"roleId": 1}, 1))
    assert (status, "a global-only permission cannot be assigned to a local scope" in why) == (400, True)
    for body in (of_user(99, viewer), of_group(99, viewer), of_user(2, viewer, 99), of_user(2, {"name": "Nobody"})):
        assert (await refused(admin, "POST", ADD, body))[0] == 404
    for empty in ({}, of_user(0, viewer), of_user(2, {}), {"userRoleAssignments": [{"userId": 2}]}):
        assert (await refused(admin, "POST", ADD, empty))[0] == 400


async def test_roles_are_listed_by_name_and_by_where_they_fit(admin: Client) -> None:
    async def names(path: str, **more: Any) -> list[str]:
        return [role["name"] for role in (await admin.post(path, {"limit": 20, **more}))["roles"]]

    everywhere = await names("/api/v1/roles/search")
    assert (len(everywhere), everywhere[0]) == (10, "ClusterAdmin")
    assert await names("/api/v1/roles/search", limit=1, offset=9) == ["WorkspaceCreator"]
    assert await names("/api/v1/roles/search/by-assignability") == everywhere
    on_workspace = await names("/api/v1/roles/search/by-assignability", workspaceId=1)
    assert len(on_workspace) == 6
    assert "ClusterAdmin" not in on_workspace
    assert (await refused(admin, "POST", "/api/v1/roles/search", {}))[0] == 400
    assert (await refused(admin, "POST", "/api/v1/roles/search/by-assignability", {"limit": 1, "workspaceId": 9}))[
        0
    ] == 404
    assert (await refused(admin, "POST", "/api/v1/roles/search/by-ids", {"roleIds": [11]}))[0] == 404


async def test_who_creates_a_workspace_administrates_it_until_it_is_gone(
    cluster: Running, admin: Client, user: Client
) -> None:
    workspace_id = (await user.post("/api/v1/workspaces", {"name": "mine"}))["workspace"]["id"]
    assert await summary(user) == {"WorkspaceAdmin": (False, [workspace_id])}
    number = await group(admin, "vision", 1)
    await admin.post(ADD, of_group(number, {"roleId": 4}, workspace_id))

    path = f"/api/v1/roles/workspace/{workspace_id}"
    found = await user.get(path)
    assert [user["username"] for user in found["usersAssignedDirectly"]] == ["determined"]
    assert [(one["name"], [user["username"] for user in one["users"]]) for one in found["groups"]] == [
        ("vision", ["admin"])
    ]
    assert [one["role"]["name"] for one in found["assignments"]] == ["WorkspaceAdmin", "Viewer"]
    narrowed = await user.get(path, name="VIS")
    assert (narrowed["usersAssignedDirectly"], len(narrowed["groups"]), len(narrowed["assignments"])) == ([], 1, 1)

    await user.call("DELETE", f"/api/v1/workspaces/{workspace_id}")

    await cluster.until(lambda: summary(user), {})
    assert (await refused(admin, "GET", path))[0] == 404


async def test_the_configuration_says_which_role_creators_of_workspaces_get(postgres_dsn: str) -> None:
    authz = Authz.model_validate({"workspace_creator_assign_role": {"enabled": False}})
    async with running(postgres_dsn, authz=authz) as cluster:
        user = await cluster.nobody.login("determined")
        await user.post("/api/v1/workspaces", {"name": "mine"})
        assert await summary(user) == {}
        assert (await cluster.nobody.get("/api/v1/master"))["rbacEnabled"] is False
