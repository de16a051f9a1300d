"""Webhooks over REST, with the directory behind the gateway and a receiver on this machine."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

import resolute.relay.shell as relay
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentCreated,
    ExperimentEnded,
    ExperimentStopping,
    TrialCreated,
    TrialRunRequested,
)
from resolute.proto.pool import LogLine
from tests.integration.api.a_search import AT
from tests.integration.api.running import PATIENCE_S, Client, Running, running

KEY = "a key for tests"

STATE = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "COMPLETED"}}
LINES = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "out of .* memory"}}
ALERTS = {"triggerType": "TRIGGER_TYPE_CUSTOM"}


@dataclass
class Receiver:
    url: str = ""
    status: int = 200
    requests: list[dict[str, Any]] = field(default_factory=list)
    signatures: list[bool] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        at = request.headers["X-Determined-AI-Signature-Timestamp"]
        expected = hmac.new(KEY.encode(), f"{at},".encode() + body, hashlib.sha256).hexdigest()
        self.signatures.append(expected == request.headers["X-Determined-AI-Signature"])
        self.requests.append(json.loads(body))
        return web.Response(status=self.status, headers={"Location": "http://127.0.0.1/elsewhere"})


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/token", receiver.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/token"
    yield receiver
    await runner.cleanup()


@pytest.fixture
async def cluster(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    """That lets webhooks reach this machine."""
    settings = {"signing_key": KEY, "allowed_networks": ["127.0.0.1"]}
    monkeypatch.setenv("RESOLUTE_DIRECTORY_WEBHOOKS", json.dumps(settings))
    async with running(postgres_dsn, services=(relay.serve,)) as cluster:
        yield cluster


@pytest.fixture
async def admin(cluster: Running) -> Client:
    return await cluster.nobody.login("admin")


async def make(client: Client, url: str, *triggers: Any, **changes: Any) -> dict[str, Any]:
    new = {
        "name": "ours",
        "url": url,
        "webhookType": "WEBHOOK_TYPE_DEFAULT",
        "mode": "WEBHOOK_MODE_WORKSPACE",
        "triggers": list(triggers),
    }
    webhook: dict[str, Any] = (await client.post("/api/v1/webhooks", {**new, **changes}))["webhook"]
    return webhook


async def an_experiment(cluster: Running, **webhooks: Any) -> None:
    config = {"resources": {"slots_per_trial": 1}, "integrations": {"webhooks": webhooks}}
    created = ExperimentCreated(1, "job-1", "digits", config, "", 2, "determined", 1, 7)
    trial = TrialCreated(1, "request-1", "task-1", {}, seed=1)
    run = TrialRunRequested(1, 1, "alloc-1", 1, None, 0)
    await cluster.tell("experiment-1", created, ExperimentActivated(), trial, run)


async def until(look: Callable[[], Awaitable[bool] | bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = look()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.02)


async def deliveries(client: Client, webhook_id: int) -> list[Any]:
    found: list[Any] = (await client.get(f"/api/v1/webhooks/{webhook_id}/deliveries"))["deliveries"]
    return found


async def test_an_experiment_that_ends_is_told_once_and_signed(
    cluster: Running, admin: Client, receiver: Receiver
) -> None:
    webhook = await make(admin, receiver.url, STATE)
    await an_experiment(cluster)
    await cluster.tell("experiment-1", ExperimentStopping("COMPLETED", ""), ExperimentEnded("COMPLETED", ""))
    await until(lambda: len(receiver.requests) == 1)
    [told] = receiver.requests
    assert receiver.signatures == [True]
    assert (told["event_type"], told["condition"]) == ("EXPERIMENT_STATE_CHANGE", {"state": "COMPLETED"})
    experiment = told["event_data"]["experiment"]
    assert (experiment["id"], experiment["name"], experiment["state"]) == (1, "digits", "COMPLETED")
    assert (experiment["workspace"], experiment["project"]) == ("Uncategorized", "Uncategorized")

    async def delivered() -> bool:
        return [one["state"] for one in await deliveries(admin, webhook["id"])] == ["WEBHOOK_DELIVERY_STATE_DELIVERED"]

    await until(delivered)
    [shown] = await deliveries(admin, webhook["id"])
    assert (shown["eventId"], shown["status"], shown["attempts"]) == (told["event_id"], 200, 1)


async def test_lines_of_a_task_are_told_once_for_each_trigger(
    cluster: Running, admin: Client, receiver: Receiver
) -> None:
    await make(admin, receiver.url, LINES)
    await an_experiment(cluster)
    texts = ("all is well", "out of GPU memory", "out of CPU memory", '"log_policies": out of x memory')
    lines = [
        LogLine("task-1", "alloc-1", 0, number, AT, "ERROR", "stdout", text, "agent-a")
        for number, text in enumerate(texts)
    ]
    for line in reversed(lines):
        await cluster.gateway.store_lines([line])
    await until(lambda: len(receiver.requests) == 1)
    assert receiver.requests[0]["event_data"] == {
        "task_log": {"task_id": "task-1", "node_name": "agent-a", "triggering_log": "out of CPU memory"}
    }
    assert receiver.requests[0]["condition"] == {"regex": "out of .* memory"}
    await cluster.gateway.store_lines(lines)
    [due] = await cluster.log.read_stream("deliveries-1", limit=1)
    assert sum(type(one.event) is type(due.event) for one in await cluster.log.read_stream("deliveries-1")) == 1


async def test_alerts_reach_the_webhooks_that_the_experiment_names(
    cluster: Running, admin: Client, receiver: Receiver
) -> None:
    await make(admin, receiver.url, ALERTS, mode="WEBHOOK_MODE_SPECIFIC", name="named")
    await make(admin, receiver.url, ALERTS, mode="WEBHOOK_MODE_SPECIFIC", name="not named")
    await an_experiment(cluster, webhook_name=["named"])
    someone = await cluster.nobody.login("determined")
    data = {"title": "a title", "description": "more", "level": "LOG_LEVEL_WARNING"}
    assert await someone.post("/api/v1/webhooks/custom", {"experimentId": 1, "trialId": 1, "data": data}) == {}
    await until(lambda: len(receiver.requests) == 1)
    [told] = receiver.requests
    assert told["event_type"] == "CUSTOM"
    assert told["event_data"]["experiment"]["trial_id"] == 1
    assert told["event_data"]["custom_data"] == {"title": "a title", "description": "more", "level": "WARNING"}
    wrong = await someone.call("POST", "/api/v1/webhooks/custom", {"experimentId": 1, "trialId": 9, "data": data})
    assert wrong.status == 404
    assert await deliveries(admin, 2) == []


async def test_webhooks_are_listed_moved_tested_and_deleted(
    cluster: Running, admin: Client, receiver: Receiver
) -> None:
    webhook = await make(admin, receiver.url, STATE, webhookType="WEBHOOK_TYPE_SLACK")
    assert webhook["triggers"][0]["condition"] == {"state": "COMPLETED"}
    assert (await admin.get("/api/v1/webhooks"))["webhooks"] == [webhook]
    assert await admin.post("/api/v1/webhooks/1/test") == {"completed": True}
    assert "blocks" in receiver.requests[0]
    assert receiver.signatures == [True]
    receiver.status = 302
    refused = await admin.call("POST", "/api/v1/webhooks/1/test")
    assert refused.status == 400
    assert "redirect" in refused.error
    moved = receiver.url + "?other"
    assert (await admin.call("PATCH", "/api/v1/webhooks/1", {"url": moved})).status == 200
    assert [one["url"] for one in (await admin.get("/api/v1/webhooks"))["webhooks"]] == [moved]
    assert (await admin.call("DELETE", "/api/v1/webhooks/1")).status == 200
    assert (await admin.get("/api/v1/webhooks"))["webhooks"] == []
    assert (await admin.call("DELETE", "/api/v1/webhooks/1")).status == 404
    # An address holds a token: no event of the log has it as it is.
    assert all(b"/token" not in repr(one.event).encode() for one in await cluster.log.read_all(0))


async def test_addresses_inside_the_cluster_are_refused_when_they_are_saved(cluster: Running, admin: Client) -> None:
    for url in ("http://127.0.0.2/", "http://10.0.0.1/", "http://[::1]/", "http://0x7f.2/"):
        answer = await admin.call("POST", "/api/v1/webhooks", {"name": "n", "url": url, "triggers": [STATE]})
        assert answer.status == 400, (url, answer.body)
        assert "is not a public address" in answer.error, url


async def test_webhooks_of_the_cluster_are_for_administrators_and_others_for_owners_of_their_workspace(
    cluster: Running, admin: Client, receiver: Receiver
) -> None:
    someone = await cluster.nobody.login("determined")
    body = {"name": "ours", "url": receiver.url, "triggers": [STATE]}
    assert (await someone.call("POST", "/api/v1/webhooks", body)).status == 403
    own = (await someone.post("/api/v1/workspaces", {"name": "own"}))["workspace"]["id"]
    webhook = await make(someone, receiver.url, STATE, workspaceId=own)
    assert webhook["workspaceId"] == own
    theirs = await make(admin, receiver.url, STATE, name="theirs")
    assert (await someone.call("DELETE", f"/api/v1/webhooks/{theirs['id']}")).status == 403
    assert (await someone.call("DELETE", f"/api/v1/webhooks/{webhook['id']}")).status == 200
