"""What a workspace says of the experiments in it: default pools, storage, and whom tasks run as."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from resolute.config.pools import DefaultTask
from resolute.proto.experiment import ExperimentCreated
from tests.integration.api.running import Client, Running, running

CONFIG = """
name: digits
entrypoint: "true"
searcher: {{name: single, metric: loss, max_length: {{batches: 100}}}}
workspace: ours
project: first
resources: {{{resources}}}
"""

NOBODY = {"agentUser": "nobody", "agentUid": 65534, "agentGroup": "nogroup", "agentGid": 65534}
POOLS = ("compute", "aux", "fast", "small")


@pytest.fixture
async def cluster(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", ",".join(POOLS))
    told: dict[str, Any] = {"pools": POOLS, "default_pool": "compute", "default_aux_pool": "aux"}
    async with running(postgres_dsn, services=True, default_task=DefaultTask(uid=7, gid=7), **told) as cluster:
        yield cluster


async def made(client: Client, **settings: Any) -> dict[str, Any]:
    """The workspace `ours`, with a project."""
    workspace: dict[str, Any] = (await client.post("/api/v1/workspaces", {"name": "ours", **settings}))["workspace"]
    await client.post(f"/api/v1/workspaces/{workspace['id']}/projects", {"name": "first"})
    return workspace


async def submitted(client: Client, resources: str = "") -> dict[str, Any]:
    body = {"config": CONFIG.format(resources=resources), "activate": False}
    answer = await client.call("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    config: dict[str, Any] = answer.body["config"]
    return config


async def test_a_workspaces_pools_are_for_experiments_that_name_none(cluster: Running) -> None:
    someone = await cluster.nobody.login("determined")
    workspace = await made(someone, defaultComputePool="fast", defaultAuxPool="small")
    assert (workspace["defaultComputePool"], workspace["defaultAuxPool"]) == ("fast", "small")
    pools = [
        (await submitted(someone, resources))["resources"]["resource_pool"]
        for resources in ("slots_per_trial: 1", "slots_per_trial: 0", "resource_pool: compute")
    ]
    assert pools == ["fast", "small", "compute"]
    path = f"/api/v1/workspaces/{workspace['id']}"
    await someone.call("PATCH", path, {"defaultComputePool": "", "defaultAuxResourcePool": None})
    shown = (await someone.get(path))["workspace"]
    assert (shown["defaultComputePool"], shown["defaultAuxPool"]) == ("", "small")
    assert (await submitted(someone))["resources"]["resource_pool"] == "compute"


async def test_a_workspaces_storage_goes_before_the_clusters_and_behind_the_experiments(cluster: Running) -> None:
    someone = await cluster.nobody.login("determined")
    storage = {"type": "shared_fs", "host_path": "/ours", "save_trial_best": 3}
    workspace = await made(someone, checkpointStorageConfig=storage)
    assert workspace["checkpointStorageConfig"] == storage
    found = (await submitted(someone))["checkpoint_storage"]
    assert (found["host_path"], found["save_trial_best"], found["save_trial_latest"]) == ("/ours", 3, 1)
    answer = await someone.call("PATCH", f"/api/v1/workspaces/{workspace['id']}", {"checkpointStorageConfig": {}})
    assert "checkpointStorageConfig" not in answer.body["workspace"]
    assert (await submitted(someone))["checkpoint_storage"]["host_path"] == "/tmp"


async def test_tasks_run_as_the_workspace_says_else_as_the_user_is_linked_else_as_the_cluster_says(
    cluster: Running,
) -> None:
    admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
    workspace = await made(someone)

    async def uid() -> int | None:
        await submitted(someone)
        events = [recorded.event for recorded in await cluster.log.read_all(0)]
        return [event.agent_user.uid for event in events if isinstance(event, ExperimentCreated) and event.agent_user][
            -1
        ]

    assert await uid() == 7
    await admin.call("PATCH", "/api/v1/users/2", {"agentUserGroup": {**NOBODY, "agentUid": 8}})
    assert await uid() == 8
    path = f"/api/v1/workspaces/{workspace['id']}"
    assert (await admin.call("PATCH", path, {"agentUserGroup": NOBODY})).body["workspace"]["agentUserGroup"] == NOBODY
    assert await uid() == 65534
    await admin.call("PATCH", path, {"agentUserGroup": {}})
    assert await uid() == 8


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"defaultAuxPool": "tpu"}, "defaultAuxPool: unable to bind a resource pool that does not exist"),
        ({"checkpointStorageConfig": {"type": "s3", "bucket": "b"}}, "checkpointStorageConfig.type: s3 is not"),
        ({"checkpointStorageConfig": {"host_path": "/x"}}, "checkpointStorageConfig.type: missing"),
        ({"checkpointStorageConfig": {"type": "shared_fs", "hostpath": "/x"}}, "Did you mean 'host_path'?"),
        ({"agentUserGroup": {"agentUid": 1}}, "agentUserGroup.agentUser: expected a name"),
        ({"clusterNamespaceMeta": {"a": {"namespace": "n"}}}, "clusterNamespaceMeta: is for Kubernetes"),
    ],
)
async def test_what_a_workspace_cannot_have_is_refused_by_name_and_makes_nothing(
    cluster: Running, settings: dict[str, Any], said: str
) -> None:
    admin = await cluster.nobody.login("admin")
    answer = await admin.call("POST", "/api/v1/workspaces", {"name": "ours", **settings})
    assert (answer.status, said in answer.error) == (400, True), answer.body
    workspace = await made(admin)
    answer = await admin.call("PATCH", f"/api/v1/workspaces/{workspace['id']}", settings)
    assert (answer.status, said in answer.error) == (400, True), answer.body


async def test_who_may_change_a_workspace(cluster: Running) -> None:
    admin, owner = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
    await admin.post("/api/v1/users", {"user": {"username": "ann", "active": True}, "password": "Correct-Horse-7"})
    other = await cluster.nobody.login("ann", "Correct-Horse-7")
    path = f"/api/v1/workspaces/{(await made(owner))['id']}"
    assert (await other.call("PATCH", path, {"name": "mine"})).status == 403
    assert (await owner.call("PATCH", path, {"agentUserGroup": NOBODY})).status == 403
    assert (await owner.call("POST", "/api/v1/workspaces", {"name": "b", "agentUserGroup": NOBODY})).status == 403
    assert (await owner.call("PATCH", path, {"name": "renamed"})).body["workspace"]["name"] == "renamed"
    assert (await owner.call("POST", "/api/v1/workspaces", {"name": "Renamed"})).status == 409
    assert (await admin.call("PATCH", "/api/v1/workspaces/1", {"name": "first"})).status == 409
    assert (await admin.call("PATCH", "/api/v1/workspaces/99", {"name": "first"})).status == 404
