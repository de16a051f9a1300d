"""Configuration templates over REST, and submissions that are built on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from resolute.config import MASK
from tests.integration.api.running import Client, Running, running

PATH = "/api/v1/templates/small"

CONFIG = {
    "max_restarts": 1,
    "labels": ["from-template"],
    "environment": {"environment_variables": ["A=template", "B=1"]},
    "checkpoint_storage": {"type": "s3", "bucket": "b", "access_key": "hidden-key", "secret_key": "hidden-secret"},
}

SUBMITTED = """
name: on a template
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 10}}
labels: [own]
environment: {environment_variables: [A=own]}
checkpoint_storage: {type: shared_fs, host_path: /tmp}
"""


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn) as cluster:
        yield cluster


@pytest.fixture
async def someone(cluster: Running) -> Client:
    someone = await cluster.nobody.login("determined")
    await someone.post(PATH, {"name": "small", "config": CONFIG})
    return someone


async def refused(client: Client, method: str, path: str, body: Any = None) -> tuple[int, str]:
    answer = await client.call(method, path, body)
    assert answer.status >= 400, answer.body
    return answer.status, answer.error


async def test_a_template_is_made_listed_changed_renamed_and_deleted(someone: Client) -> None:
    [listed] = (await someone.get("/api/v1/templates", name="SMA"))["templates"]
    shown = (await someone.get(PATH))["template"]
    assert listed == shown
    assert (shown["name"], shown["workspaceId"], shown["config"]["max_restarts"]) == ("small", 1, 1)
    changed = (await someone.call("PATCH", PATH, {"debug": True})).body["template"]
    assert changed["config"] == {"debug": True}
    renamed = (await someone.call("PATCH", "/api/v1/template/rename", {"oldName": "small", "newName": "tiny"})).body
    assert renamed["template"]["name"] == "tiny"
    assert await refused(someone, "GET", PATH) == (404, "template 'small' not found")
    await someone.call("DELETE", "/api/v1/templates/tiny")
    assert (await someone.get("/api/v1/templates"))["templates"] == []


async def test_put_makes_a_template_or_replaces_its_configuration(someone: Client) -> None:
    ours = (await someone.post("/api/v1/workspaces", {"name": "ours"}))["workspace"]["id"]
    new = {"name": "new", "config": {"debug": True}, "workspaceId": ours}
    made = (await someone.call("PUT", "/api/v1/templates/new", new)).body["template"]
    assert (made["workspaceId"], made["config"]) == (ours, {"debug": True})
    again = (await someone.call("PUT", "/api/v1/templates/new", {"name": "new", "config": {}})).body["template"]
    assert (again["workspaceId"], again["config"]) == (ours, {})
    elsewhere = {"name": "new", "config": {}, "workspaceId": 1}
    assert await refused(someone, "PUT", "/api/v1/templates/new", elsewhere) == (
        400,
        f"workspaceId: expected {ours}, where template 'new' is, or 0; found 1",
    )


async def test_what_will_not_do_is_refused_with_the_field(someone: Client) -> None:
    assert (await refused(someone, "POST", PATH, {"config": {}}))[0] == 409
    assert (await refused(someone, "POST", "/api/v1/templates/new", {}))[1].startswith("config: expected an object")
    status, error = await refused(someone, "POST", "/api/v1/templates/new", {"config": {}, "workspaceId": 99})
    assert (status, error) == (404, "workspaceId: workspace 99 not found")
    renaming = {"oldName": "small", "newName": "a/b"}
    assert (await refused(someone, "PATCH", "/api/v1/template/rename", renaming))[0] == 400
    for body in (["a list"], None):
        status, error = await refused(someone, "PATCH", PATH, body)
        assert (status, "expected an object" in error) == (400, True), error


async def test_secrets_are_masked_are_in_no_event_and_a_mask_sent_back_keeps_them(
    someone: Client, cluster: Running
) -> None:
    shown = (await someone.get(PATH))["template"]["config"]
    assert shown["checkpoint_storage"]["secret_key"] == MASK
    assert shown["environment"] == CONFIG["environment"], "environment variables are shown"
    sent_back = {**shown, "max_restarts": 2}
    assert (await someone.call("PATCH", PATH, sent_back)).body["template"]["config"] == sent_back
    wrong = {"environment": {"registry_auth": {"password": MASK}}}
    assert (await refused(someone, "PATCH", PATH, wrong))[0] == 400
    events = await cluster.log.read_stream("templates-directory")
    assert "hidden" not in str(events)


async def test_a_request_that_is_repeated_leaves_the_secrets_that_it_wrote(someone: Client) -> None:
    for method, path in (("PUT", PATH), ("PUT", "/api/v1/templates/another")):
        body = {"name": path.rpartition("/")[2], "config": {**CONFIG, "max_restarts": 3}}
        for _ in range(3):
            answer = await someone.call(method, path, body, headers={"Idempotency-Key": f"once for {path}"})
            assert answer.status == 200, answer.body
        shown = (await someone.get(path))["template"]["config"]
        assert shown["environment"] == CONFIG["environment"], "a variable whose key is gone would be masked"


async def test_a_submission_is_completed_by_its_template(someone: Client) -> None:
    body = {"config": SUBMITTED, "template": "small", "validateOnly": True}
    config = (await someone.post("/api/v1/experiments", body))["config"]
    assert (config["max_restarts"], config["labels"]) == (1, ["from-template", "own"])
    assert config["environment"]["environment_variables"]["cpu"] == ["A=template", "B=1", "A=own"]
    assert config["checkpoint_storage"]["type"] == "shared_fs", "nothing of another kind of storage comes along"
    assert "secret_key" not in str(config["checkpoint_storage"])


async def test_a_template_may_say_to_which_project_and_pool_an_experiment_goes(someone: Client) -> None:
    ours = (await someone.post("/api/v1/workspaces", {"name": "ours"}))["workspace"]["id"]
    project = (await someone.post(f"/api/v1/workspaces/{ours}/projects", {"name": "first"}))["project"]["id"]
    placed = {"workspace": "ours", "project": "first", "resources": {"slots_per_trial": 0}}
    await someone.post("/api/v1/templates/placed", {"config": placed})
    body = {"config": SUBMITTED, "template": "placed", "validateOnly": True}
    assert (await someone.post("/api/v1/experiments", body))["experiment"]["projectId"] == project
    nowhere = {"config": SUBMITTED.replace("name: on", "workspace: elsewhere\nname: on"), "template": "placed"}
    assert (
        "no project 'first' in workspace 'elsewhere'"
        in (await refused(someone, "POST", "/api/v1/experiments", nowhere))[1]
    )


async def test_an_unknown_key_of_a_template_fails_an_experiment_at_use_and_not_at_save(someone: Client) -> None:
    await someone.post("/api/v1/templates/wrong", {"config": {"max_restart": 1}})
    body = {"config": SUBMITTED, "template": "wrong", "validateOnly": True}
    assert await refused(someone, "POST", "/api/v1/experiments", body) == (
        400,
        "template.max_restart: unknown field. Did you mean 'max_restarts'?",
    )
    absent = {**body, "template": "absent"}
    status, error = await refused(someone, "POST", "/api/v1/experiments", absent)
    assert (status, "absent" in error) == (404, True)
