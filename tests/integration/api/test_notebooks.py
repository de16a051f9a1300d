"""Notebooks through a gateway: what is launched, and who is told how to enter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import resolute.tasks.shell
from resolute.proto.interactive import TaskIdleNoticed, TaskKillRequested
from tests.integration.api.whole import Whole, whole

NOTEBOOKS = "/api/v1/notebooks"


@pytest.fixture
async def cluster(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        yield cluster


async def test_a_preview_answers_with_the_configuration_and_starts_nothing(cluster: Whole) -> None:
    await cluster.agent()
    answer = await cluster.user.post(NOTEBOOKS, {"config": {"resources": {"slots": 0}}, "preview": True})
    assert answer["notebook"] is None
    assert answer["config"]["description"].startswith("JupyterLab (")
    assert (await cluster.user.get(NOTEBOOKS))["notebooks"] == []


async def test_the_token_is_told_to_the_owner_and_to_the_notebook_itself_alone(cluster: Whole) -> None:
    agent = await cluster.agent()
    async with agent.alive():
        config = {"resources": {"slots": 0}, "entrypoint": ["ignored"]}
        made = (await cluster.user.post(NOTEBOOKS, {"config": config}))["notebook"]
        order = await agent.given()
        assert (order.spec.task_type, order.spec.config["entrypoint"]) == ("NOTEBOOK", [])
        assert order.spec.service is not None
        assert order.spec.service.variable == "NOTEBOOK_PORT"
        await agent.report(order, "started")
        path = f"{NOTEBOOKS}/{made['id']}"
        address = made["serviceAddress"]
        assert address.startswith(f"/proxy/{made['id']}/?token=")
        for knows in (cluster.user, cluster.known_as(order.token)):
            assert (await knows.get(path))["notebook"]["serviceAddress"] == address
        admin = await cluster.nobody.login("admin")
        assert (await admin.get(path))["notebook"]["serviceAddress"] == f"/proxy/{made['id']}/"
        other = (await cluster.user.post(NOTEBOOKS, {"config": config}))["notebook"]
        assert other["serviceAddress"].partition("=")[2] != address.partition("=")[2]
        refused = await cluster.known_as(order.token).call("GET", f"{NOTEBOOKS}/{other['id']}")
        assert refused.status == 403
        assert (await cluster.user.call("GET", f"/api/v1/commands/{made['id']}")).status == 404, "it is no command"


async def test_a_notebook_that_nobody_uses_is_given_notice_and_ended(
    cluster: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolute.tasks.shell, "LOOK_EVERY_S", 0.05)
    agent = await cluster.agent()
    async with agent.alive():
        config = {"resources": {"slots": 0}, "idle_timeout": "10s"}
        made = (await cluster.user.post(NOTEBOOKS, {"config": config}))["notebook"]
        order = await agent.given()
        await agent.report(order, "started")
        task, path = cluster.known_as(order.token), f"{NOTEBOOKS}/{made['id']}"
        await task.post(f"/api/v1/allocations/{order.spec.allocation_id}/ready", {})
        for idle in (True, False):
            answer = await task.call("PUT", f"{path}/report_idle", {"idle": idle})
            assert answer.status == 200
        await cluster.until_told(TaskIdleNoticed)
        [asked] = await cluster.until_told(TaskKillRequested)
        assert asked.why == "idle for more than 10s: service is inactive"


async def test_what_has_no_effect_is_refused_by_name(cluster: Whole) -> None:
    config = {"entrypoint": ["true"], "idle_timeout": "30m"}
    answer = await cluster.user.call("POST", "/api/v1/commands", {"config": config})
    assert answer.status == 400
    assert "idle_timeout" in answer.error
    assert "Leave it out" in answer.error
