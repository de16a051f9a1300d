"""Configuration policies over REST, and the submissions and changes that are held to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from resolute.config import MASK
from tests.integration.api.running import Client, Running, running
from tests.integration.api.whole import whole

OF_CLUSTER = "/api/v1/config-policies/global/EXPERIMENT"

SUBMITTED = """
name: held to policies
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
labels: [own]
checkpoint_storage: {type: shared_fs, host_path: /tmp}
resources: {slots_per_trial: 0}
"""


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn) as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


async def put(client: Client, path: str, text: str) -> Any:
    answer = await client.call("PUT", path, {"configPolicies": text, "workloadType": path.rpartition("/")[2]})
    assert answer.status == 200, answer.body
    return answer.body["configPolicies"]


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def checked(client: Client, text: str = SUBMITTED, **more: Any) -> Any:
    return (await client.post("/api/v1/experiments", {"config": text, "validateOnly": True, **more}))["config"]


async def test_policies_are_set_shown_replaced_and_deleted(admin: Client) -> None:
    assert (await admin.get(OF_CLUSTER))["configPolicies"] == {}
    both = {"invariant_config": {"max_restarts": 1}, "constraints": {"resources": {"max_slots": 4}}}
    assert await put(admin, OF_CLUSTER, str(both)) == both
    assert await put(admin, OF_CLUSTER, "constraints: {priority_limit: 50}") == {"constraints": {"priority_limit": 50}}
    for _ in range(2):
        assert (await admin.call("DELETE", OF_CLUSTER)).status == 200
    assert (await admin.get(OF_CLUSTER))["configPolicies"] == {}


async def test_what_will_not_do_is_refused_with_the_field(admin: Client) -> None:
    async def refusal(text: str, path: str = OF_CLUSTER) -> str:
        status, error = await refused(admin, "PUT", path, {"configPolicies": text, "workloadType": "EXPERIMENT"})
        assert status == 400
        return error

    assert "no specified config policies" in await refusal(" ")
    assert "no specified config policies" in await refusal("{}")
    assert (await refusal("constraint: {}")).startswith("constraint: unknown field")
    assert "invalid workload type: 'TRIAL'" in await refusal("{}", "/api/v1/config-policies/global/TRIAL")
    assert "not supported" in await refusal("invariant_config: {debug: true}", OF_CLUSTER.replace("EXPERIMENT", "NTSC"))
    against = "invariant_config: {resources: {priority: 1}}\nconstraints: {priority_limit: 50}"
    assert (await refusal(against)).startswith("invalid experiment config policy: resources.priority: 1 is below")
    for unknown in (0, 99):
        path = f"/api/v1/config-policies/workspaces/{unknown}/EXPERIMENT"
        assert (await refused(admin, "GET", path))[0] == 404


async def test_owners_change_the_policies_of_their_workspace_and_administrators_those_of_the_cluster(
    admin: Client, cluster: Running
) -> None:
    someone = await cluster.nobody.login("determined")
    body = {"configPolicies": "constraints: {priority_limit: 50}", "workloadType": "EXPERIMENT"}
    assert (await refused(someone, "PUT", OF_CLUSTER, body))[0] == 403
    own = (await someone.post("/api/v1/workspaces", {"name": "own"}))["workspace"]["id"]
    other = (await admin.post("/api/v1/workspaces", {"name": "other"}))["workspace"]["id"]
    assert (await refused(someone, "PUT", f"/api/v1/config-policies/workspaces/{other}/EXPERIMENT", body))[0] == 403
    await put(someone, f"/api/v1/config-policies/workspaces/{own}/NTSC", "constraints: {resources: {max_slots: 1}}")
    assert (await someone.get(OF_CLUSTER))["configPolicies"] == {}


async def test_a_submission_gets_the_invariants_with_the_clusters_on_top(admin: Client) -> None:
    own = (await admin.post("/api/v1/workspaces", {"name": "own"}))["workspace"]["id"]
    project = (await admin.post(f"/api/v1/workspaces/{own}/projects", {"name": "first"}))["project"]["id"]
    await put(admin, OF_CLUSTER, "invariant_config: {max_restarts: 1, labels: [set]}")
    path = f"/api/v1/config-policies/workspaces/{own}/EXPERIMENT"
    await put(admin, path, "invariant_config: {max_restarts: 2, debug: true}")
    there = await checked(admin, SUBMITTED + "max_restarts: 9\n", projectId=project)
    assert (there["max_restarts"], there["debug"], there["labels"]) == (1, True, ["own", "set"])
    elsewhere = await checked(admin)
    assert (elsewhere["max_restarts"], elsewhere["debug"]) == (1, False)


async def test_a_submission_that_breaks_a_constraint_is_refused_also_by_its_template(admin: Client) -> None:
    await put(admin, OF_CLUSTER, "constraints: {resources: {max_slots: 2}, priority_limit: 50}")
    await admin.post("/api/v1/templates/wide", {"config": {"resources": {"max_slots": 3, "priority": 60}}})
    body = {"config": SUBMITTED, "template": "wide", "validateOnly": True}
    status, error = await refused(admin, "POST", "/api/v1/experiments", body)
    assert status == 400
    assert error.startswith("resources.max_slots: 3 exceeds limit set by admin [2]: submitted workload failed")
    assert "the config policies of the cluster" in error
    urgent = {"config": SUBMITTED.replace("trial: 0", "trial: 0, priority: 49"), "validateOnly": True}
    assert "failed priority constraint" in (await refused(admin, "POST", "/api/v1/experiments", urgent))[1]
    unmanaged = {**urgent, "unmanaged": True}
    assert (await refused(admin, "PUT", "/api/v1/experiments/by-external-id/x", unmanaged))[0] == 400
    await checked(admin, SUBMITTED.replace("trial: 0", "trial: 0, priority: 50"))


async def test_secrets_are_masked_are_in_no_event_and_a_mask_sent_back_keeps_them(
    admin: Client, cluster: Running
) -> None:
    registry = {"registry_auth": {"username": "u", "password": "hidden-password"}, "environment_variables": ["A=1"]}
    shown = await put(admin, OF_CLUSTER, str({"invariant_config": {"environment": registry}}))
    assert shown["invariant_config"]["environment"]["registry_auth"]["password"] == MASK
    assert shown["invariant_config"]["environment"]["environment_variables"] == ["A=1"]
    assert await put(admin, OF_CLUSTER, str(shown)) == shown
    assert "hidden" not in str(await cluster.log.read_stream("policies-directory"))


async def test_later_changes_and_continuing_are_held_to_the_policies(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        admin = await cluster.nobody.login("admin")
        shown = (await cluster.user.post("/api/v1/experiments", {"config": SUBMITTED}))["experiment"]
        other = (await cluster.user.post("/api/v1/experiments", {"config": SUBMITTED}))["experiment"]
        path, queue = f"/api/v1/experiments/{shown['id']}", "/api/v1/job-queues"
        await put(admin, OF_CLUSTER, "constraints: {resources: {max_slots: 2}, priority_limit: 30}")
        for resources in ({"maxSlots": 3}, {"priority": 29}):
            assert (await refused(cluster.user, "PATCH", path, {"resources": resources}))[0] == 400
        update = {"updates": [{"jobId": shown["jobId"], "priority": 29}]}
        status, error = await refused(cluster.user, "POST", queue, update)
        assert (status, error.startswith("updates[0].priority: 29 is below the limit 30")) == (400, True)
        assert (await cluster.user.call("PATCH", path, {"resources": {"priority": 30}})).status == 200
        await put(admin, OF_CLUSTER, "constraints: {priority_limit: 31}")
        ahead = {"updates": [{"jobId": other["jobId"], "aheadOf": shown["jobId"]}]}
        status, error = await refused(cluster.user, "POST", queue, ahead)
        assert (status, error.startswith("updates[0].aheadOf: 30 is below the limit 31")) == (400, True), error
        await put(admin, OF_CLUSTER, "invariant_config: {resources: {priority: 40, max_slots: 1}}")
        _, error = await refused(cluster.user, "PATCH", path, {"resources": {"priority": 41}})
        assert error.startswith("resources.priority: priority set by invariant config: priority cannot be modified")
        _, error = await refused(cluster.user, "PATCH", path, {"resources": {"maxSlots": None}})
        assert error.startswith("resources.max_slots: max slots is already set in an invariant config policy")
        assert (await cluster.user.call("PATCH", path, {"name": "free"})).status == 200
        await put(admin, OF_CLUSTER, "constraints: {priority_limit: 90}")
        other_path = f"/api/v1/experiments/{other['id']}"
        await cluster.user.post(f"{other_path}/kill", {})
        body = {"id": other["id"], "overrideConfig": ""}
        assert (
            "failed priority constraint"
            in (await refused(cluster.user, "POST", "/api/v1/experiments/continue", body))[1]
        )


async def test_policies_go_with_their_workspace(admin: Client, cluster: Running) -> None:
    own = (await admin.post("/api/v1/workspaces", {"name": "own"}))["workspace"]["id"]
    path = f"/api/v1/config-policies/workspaces/{own}/EXPERIMENT"
    await put(admin, path, "constraints: {priority_limit: 50}")
    await admin.call("DELETE", f"/api/v1/workspaces/{own}")

    async def gone() -> bool:
        return "ConfigPoliciesDeleted" in str(await cluster.log.read_stream("policies-directory"))

    await cluster.until(gone, True)
