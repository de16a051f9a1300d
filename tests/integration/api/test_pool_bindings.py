"""Resource pools that are bound to workspaces, as people meet them over REST."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.integration.api.running import Client, Running, running

PATH = "/api/v1/resource-pools/gpu/workspace-bindings"

CONFIG = """
name: a
entrypoint: python3 train.py
searcher: {{name: single, metric: loss, max_length: {{batches: 10}}}}
checkpoint_storage: {{type: shared_fs, host_path: /tmp}}
resources: {{resource_pool: {pool}}}
"""


@pytest.fixture
async def cluster(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", "main,gpu")
    async with running(postgres_dsn, services=True, pools="main,gpu", default_pool="main") as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


async def workspace(client: Client, name: str) -> tuple[int, int]:
    """The numbers of a new workspace and a project in it."""
    made = (await client.post("/api/v1/workspaces", {"name": name}))["workspace"]["id"]
    project = await client.post(f"/api/v1/workspaces/{made}/projects", {"name": name, "workspaceId": made})
    return made, project["project"]["id"]


async def submit(client: Client, project_id: int, pool: str = "gpu") -> Any:
    body = {"config": CONFIG.format(pool=pool), "projectId": project_id}
    return await client.call("POST", "/api/v1/experiments", body)


async def refused(client: Client, method: str, body: Any, path: str = PATH) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def bound(client: Client) -> list[int]:
    return list((await client.get(PATH))["workspaceIds"])


async def test_a_pool_is_bound_and_unbound_by_the_names_and_numbers_of_workspaces(
    cluster: Running, admin: Client
) -> None:
    (one, _), (two, _) = await workspace(admin, "one"), await workspace(admin, "two")
    assert await bound(admin) == []
    await admin.post(PATH, {"workspaceIds": [two], "workspaceNames": ["one"], "resourcePoolName": "gpu"})
    assert await bound(admin) == [one, two]
    await admin.call("DELETE", PATH, {"workspaceNames": ["one"]})
    assert await bound(admin) == [two]
    await admin.call("PUT", PATH, {"workspaceIds": [one]})
    assert await bound(admin) == [one]
    unbound = await admin.get("/api/v1/resource-pools", unbound="true")
    assert [pool["name"] for pool in unbound["resourcePools"]] == ["main"]
    assert (await admin.call("DELETE", f"/api/v1/workspaces/{one}")).status == 200
    await cluster.until(lambda: bound(admin), [])


async def test_only_its_workspaces_see_and_use_a_pool_that_is_bound(admin: Client) -> None:
    (ours, our_project), (other, other_project) = await workspace(admin, "ours"), await workspace(admin, "other")
    early = await submit(admin, other_project)
    assert early.status == 200, early.body
    await admin.post(PATH, {"workspaceIds": [ours]})

    assert (await admin.get(f"/api/v1/workspaces/{ours}/available-resource-pools"))["resourcePools"] == ["gpu", "main"]
    assert (await admin.get(f"/api/v1/workspaces/{other}/available-resource-pools"))["resourcePools"] == ["main"]
    assert (await submit(admin, our_project)).status == 200
    late = await submit(admin, other_project)
    assert late.status == 400
    assert f"resource pool gpu does not exist or is not available to workspace id {other}" in late.error

    waits = (await submit(admin, other_project, "main")).body["experiment"]["id"]
    patch = {"id": waits, "resources": {"resourcePool": "gpu"}}
    assert "not available to workspace id" in (await refused(admin, "PATCH", patch, f"/api/v1/experiments/{waits}"))[1]
    moved = {"updates": [{"jobId": str(waits), "resourcePool": "gpu"}]}
    assert "not available to workspace id" in (await refused(admin, "POST", moved, "/api/v1/job-queues"))[1]

    default = {"defaultComputePool": "gpu"}
    assert (await admin.call("PATCH", f"/api/v1/workspaces/{ours}", default)).status == 200
    status, error = await refused(admin, "PATCH", default, f"/api/v1/workspaces/{other}")
    assert (status, error.split(":")[0]) == (400, "defaultComputePool")


async def test_bindings_that_cannot_be_are_refused_by_name(cluster: Running, admin: Client) -> None:
    main = PATH.replace("gpu", "main")
    assert await refused(admin, "POST", {"workspaceIds": [1]}, main) == (
        400,
        "resourcePoolName: default resource pool main cannot be bound to any workspace",
    )
    gone = PATH.replace("gpu", "gone")
    assert await refused(admin, "POST", {"workspaceIds": [1]}, gone) == (404, "resource pool gone not found")
    assert await refused(admin, "POST", {"workspaceIds": [99]}) == (404, "workspaceIds: workspace 99 not found")
    assert await refused(admin, "PUT", {"workspaceNames": ["no"]}) == (404, "workspaceNames: workspace 'no' not found")
    assert (await refused(admin, "POST", {}))[1].startswith("workspaceIds: expected")
    assert (await refused(admin, "POST", {"resourcePoolName": "main", "workspaceIds": [1]}))[0] == 400
    someone = await cluster.nobody.login("determined")
    for method in ("POST", "PUT", "DELETE"):
        assert (await refused(someone, method, {"workspaceIds": [1]}))[0] == 403


async def test_with_roles_a_bound_pool_is_seen_from_its_workspaces_alone(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", "main,gpu")
    rbac = {"type": "rbac"}
    async with running(postgres_dsn, services=True, pools="main,gpu", default_pool="main", authz=rbac) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        (ours, _), (other, _) = await workspace(admin, "ours"), await workspace(admin, "other")
        viewer = {"userId": 2, "roleAssignment": {"role": {"roleId": 4}, "scopeWorkspaceId": other}}
        await admin.post("/api/v1/roles/add-assignments", {"userRoleAssignments": [viewer]})
        await admin.post(PATH, {"workspaceIds": [ours]})

        async def seen(client: Client) -> list[str]:
            return [pool["name"] for pool in (await client.get("/api/v1/resource-pools"))["resourcePools"]]

        assert (await seen(admin), await seen(someone)) == (["gpu", "main"], ["main"])
        assert await refused(someone, "GET", None) == (404, "resource pool gpu not found")
        await admin.post(PATH, {"workspaceIds": [other]})
        assert (await seen(someone), await bound(someone)) == (["gpu", "main"], [other])
        assert (await refused(someone, "DELETE", {"workspaceIds": [other]}))[0] == 403
