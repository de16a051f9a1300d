"""Where roles decide: what users see and may do follows from the roles that they and their groups hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.api.running import Client, Running, running

CLUSTER_ADMIN, WORKSPACE_CREATOR, VIEWER, EDITOR = 1, 3, 4, 5

CONFIG = """
name: digits
entrypoint: "true"
searcher: {name: single, metric: loss, max_length: {batches: 100}}
"""


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn, services=True, authz={"type": "rbac"}) as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


async def person(cluster: Running, admin: Client, name: str) -> tuple[int, Client]:
    user = {"username": name, "active": True, "admin": False}
    user_id = (await admin.post("/api/v1/users", {"user": user, "password": "s"}))["user"]["id"]
    return user_id, await cluster.nobody.login(name, "s")


async def workspace(admin: Client, name: str) -> tuple[int, int]:
    """The ids of a new workspace and of a project in it."""
    made = (await admin.post("/api/v1/workspaces", {"name": name}))["workspace"]["id"]
    body = {"name": f"{name} project", "workspaceId": made}
    return made, (await admin.post(f"/api/v1/workspaces/{made}/projects", body))["project"]["id"]


def of_user(user_id: int, role_id: int, workspace_id: int | None = None) -> dict[str, Any]:
    where = {} if workspace_id is None else {"scopeWorkspaceId": workspace_id}
    return {"userRoleAssignments": [{"userId": user_id, "roleAssignment": {"role": {"roleId": role_id}, **where}}]}


def of_group(group_id: int, role_id: int, workspace_id: int) -> dict[str, Any]:
    held = {"role": {"roleId": role_id}, "scopeWorkspaceId": workspace_id}
    return {"groupRoleAssignments": [{"groupId": group_id, "roleAssignment": held}]}


ADD, REMOVE = "/api/v1/roles/add-assignments", "/api/v1/roles/remove-assignments"


async def submitted(client: Client, project_id: int) -> int:
    body = {"config": CONFIG, "projectId": project_id, "activate": False}
    return int((await client.post("/api/v1/experiments", body))["experiment"]["id"])


async def status(client: Client, method: str, path: str, body: Any = None) -> int:
    return (await client.call(method, path, body)).status


async def names(client: Client, path: str, key: str) -> list[str]:
    return [one["name"] for one in (await client.get(path))[key]]


async def test_a_user_of_one_workspace_does_not_see_the_other(cluster: Running, admin: Client) -> None:
    (vision, sight), (speech, sound) = await workspace(admin, "vision"), await workspace(admin, "speech")
    ada, as_ada = await person(cluster, admin, "ada")
    assert await names(as_ada, "/api/v1/workspaces", "workspaces") == []
    group = (await admin.post("/api/v1/groups", {"name": "painters", "addUsers": [ada]}))["group"]["groupId"]
    await admin.post(ADD, of_group(group, EDITOR, vision))

    assert await names(as_ada, "/api/v1/workspaces", "workspaces") == ["vision"]
    own, hidden = await submitted(as_ada, sight), await submitted(admin, sound)
    assert [one["id"] for one in (await as_ada.get("/api/v1/experiments"))["experiments"]] == [own]
    assert (await as_ada.get("/api/v1/experiments"))["pagination"]["total"] == 1
    for method, path, body in (
        ("GET", f"/api/v1/workspaces/{speech}", None),
        ("GET", f"/api/v1/projects/{sound}", None),
        ("GET", f"/api/v1/experiments/{hidden}", None),
        ("GET", f"/api/v1/experiments/{hidden}/model_def", None),
        ("POST", f"/api/v1/experiments/{hidden}/kill", {}),
        ("POST", "/api/v1/experiments", {"config": CONFIG, "projectId": sound}),
    ):
        assert await status(as_ada, method, path, body) == 404, path
    killed = await as_ada.post(
        f"/api/v1/projects/{sound}/experiments/kill", {"experimentIds": [hidden], "projectId": sound}
    )
    assert (await admin.get(f"/api/v1/experiments/{hidden}"))["experiment"]["state"] == "STATE_PAUSED", killed

    assert await status(as_ada, "POST", "/api/v1/workspaces", {"name": "new"}) == 403
    assert await status(as_ada, "DELETE", f"/api/v1/workspaces/{vision}") == 403
    assert await status(as_ada, "GET", "/api/v1/master/config") == 403
    assert await status(as_ada, "POST", ADD, of_user(ada, CLUSTER_ADMIN)) == 403
    await admin.post(REMOVE, of_group(group, EDITOR, vision))
    assert await status(as_ada, "GET", f"/api/v1/experiments/{own}") == 404, "a role that was taken away counts no more"


async def test_a_viewer_sees_and_changes_nothing(cluster: Running, admin: Client) -> None:
    vision, sight = await workspace(admin, "vision")
    experiment = await submitted(admin, sight)
    ada, as_ada = await person(cluster, admin, "ada")
    await admin.post(ADD, of_user(ada, VIEWER, vision))
    path = f"/api/v1/experiments/{experiment}"
    assert (await as_ada.get(path))["experiment"]["id"] == experiment
    answer = await as_ada.call("POST", f"{path}/activate", {})
    assert (answer.status, answer.error) == (
        403,
        "access denied; required permissions: PERMISSION_TYPE_UPDATE_EXPERIMENT",
    )
    await as_ada.post(
        f"/api/v1/projects/{sight}/experiments/activate", {"experimentIds": [experiment], "projectId": sight}
    )
    assert (await admin.get(path))["experiment"]["state"] == "STATE_PAUSED"
    assert await status(as_ada, "PATCH", path, {"name": "other"}) == 403
    assert await status(as_ada, "POST", "/api/v1/experiments", {"config": CONFIG, "projectId": sight}) == 403


async def test_who_creates_a_workspace_administers_it(cluster: Running, admin: Client) -> None:
    ada, as_ada = await person(cluster, admin, "ada")
    await admin.post(ADD, of_user(ada, WORKSPACE_CREATOR))
    own, project = await workspace(as_ada, "own")
    assert await names(as_ada, "/api/v1/workspaces", "workspaces") == ["own"]
    assert await submitted(as_ada, project)
    ben, as_ben = await person(cluster, admin, "ben")
    await as_ada.post(ADD, of_user(ben, EDITOR, own))
    assert await names(as_ben, "/api/v1/workspaces", "workspaces") == ["own"]
    assert await status(as_ada, "POST", ADD, of_user(ben, EDITOR)) == 403, "not on the whole cluster"
    assert await status(as_ben, "POST", ADD, of_user(ben, VIEWER, own)) == 403, "an editor assigns nothing"


async def test_being_an_administrator_counts_for_nothing_without_a_role(cluster: Running, admin: Client) -> None:
    await workspace(admin, "vision")
    made = {"username": "root", "active": True, "admin": True}
    await admin.post("/api/v1/users", {"user": made, "password": "s"})
    root = await cluster.nobody.login("root", "s")
    assert await names(root, "/api/v1/workspaces", "workspaces") == []
    assert await status(root, "POST", "/api/v1/users", {"user": {"username": "x", "active": True}}) == 403
    assert await names(admin, "/api/v1/workspaces", "workspaces") == ["Uncategorized", "vision"]
