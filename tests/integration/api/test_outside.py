"""Unmanaged experiments: their trials run outside of the cluster, and clients report for them with a user's token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from resolute.api.trials.queries import QUERIES
from resolute.api.trials.silence import SilenceWatch
from tests.integration.api import a_search
from tests.integration.api.running import Client, Running, running
from tests.integration.api.whole import results

CONFIG = "name: outside\nsearcher: {name: single, metric: loss, max_length: {batches: 100}}\n"

UNMANAGED = {"config": CONFIG, "unmanaged": True}


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn, services=True) as cluster:
        yield cluster


@pytest.fixture
async def owner(cluster: Running) -> Client:
    return await cluster.nobody.login("determined")


async def put(client: Client, method: str, path: str, body: Any) -> Any:
    answer = await client.call(method, path, body)
    assert answer.status == 200, answer.body
    return answer.body


async def experiment_of(client: Client, name: str = "mine") -> int:
    answer = await put(client, "PUT", f"/api/v1/experiments/by-external-id/{name}", UNMANAGED)
    return int(answer["experiment"]["id"])


async def trial_of(client: Client, experiment: int, name: str = "a", lr: float = 0.1) -> dict[str, Any]:
    wanted = {"experimentId": experiment, "hparams": {"lr": lr}, "unmanaged": True}
    answer = await put(client, "PUT", "/api/v1/trials", {"createTrialRequest": wanted, "externalTrialId": name})
    return dict(answer["trial"])


async def started(client: Client, trial: int, *, resume: bool = False) -> dict[str, Any]:
    body = {"trialId": trial, "resume": resume}
    return dict(await put(client, "POST", f"/api/v1/trials/{trial}/start", body))


async def said(client: Client, trial: int, state: str | None = None) -> str:
    body = {"trialId": trial, **({"state": state} if state else {})}
    answer = await put(client, "PATCH", f"/api/v1/trials/{trial}", body)
    return str(answer["trial"]["state"])


async def state_of(client: Client, experiment: int) -> str:
    return str((await client.get(f"/api/v1/experiments/{experiment}"))["experiment"]["state"])


def report(trial: int, loss: float, steps: int = 10, run: int = 1) -> dict[str, Any]:
    metrics = {"avgMetrics": {"loss": loss}}
    return {
        "group": "validation",
        "metrics": {"trialId": trial, "trialRunId": run, "stepsCompleted": steps, "metrics": metrics},
    }


async def test_the_same_external_ids_answer_the_same_experiment_and_the_same_trial(owner: Client) -> None:
    experiment = await experiment_of(owner)
    assert await experiment_of(owner) == experiment != await experiment_of(owner, "another")
    shown = (await owner.get(f"/api/v1/experiments/{experiment}"))["experiment"]
    assert (shown["unmanaged"], shown["externalExperimentId"], shown["state"]) == (True, "mine", "STATE_PAUSED")
    unnamed = await owner.post("/api/v1/experiments", UNMANAGED)
    assert unnamed["experiment"]["id"] != experiment
    trial = await trial_of(owner, experiment)
    assert (trial["taskId"], trial["state"], trial["hparams"]) == (f"{experiment}.a", "STATE_PAUSED", {"lr": 0.1})
    assert (await trial_of(owner, experiment))["id"] == trial["id"]
    found = await owner.get("/api/v1/trials/by-external-id/mine/a")
    assert found["trial"]["id"] == trial["id"]
    unknown = await owner.call("GET", "/api/v1/trials/by-external-id/another/a")
    assert (unknown.status, "external id 'another'" in unknown.error) == (404, True)
    assert (await trial_of(owner, experiment, "b"))["id"] != trial["id"]


async def test_a_trial_is_started_reports_and_completes(owner: Client) -> None:
    experiment = await experiment_of(owner)
    created = await owner.post("/api/v1/trials", {"experimentId": experiment, "hparams": {}, "unmanaged": True})
    trial = created["trial"]["id"]
    assert await started(owner, trial) == {"trialRunId": 1, "stepsCompleted": 0}
    assert (await said(owner, trial), await state_of(owner, experiment)) == ("STATE_RUNNING", "STATE_RUNNING")
    await owner.post(f"/api/v1/trials/{trial}/metrics", report(trial, 0.5))
    await owner.post(f"/api/v1/trials/{trial}/progress", {"trialId": trial, "progress": 0.5})
    lines = [{"taskId": created["trial"]["taskId"], "log": "hello\n", "rankId": 0}]
    await owner.post("/api/v1/task/logs", {"logs": lines})
    await owner.post("/task-logs", lines)
    printed = await results(owner, f"/api/v1/trials/{trial}/logs")
    assert [line["log"] for line in printed] == ["hello\n", "hello\n"]
    assert await said(owner, trial, "STATE_COMPLETED") == "STATE_COMPLETED"
    shown = (await owner.get(f"/api/v1/experiments/{experiment}"))["experiment"]
    assert (shown["state"], shown["bestTrialSearcherMetric"]) == ("STATE_COMPLETED", 0.5)
    await owner.post(f"/api/v1/experiments/{experiment}/archive")


async def test_a_trial_goes_on_from_its_latest_checkpoint(owner: Client) -> None:
    trial = await trial_of(owner, await experiment_of(owner))
    await started(owner, trial["id"])
    uuid = "11111111-1111-4111-8111-111111111111"
    checkpoint = {
        "taskId": trial["taskId"],
        "uuid": uuid,
        "allocationId": "",
        "resources": {"model.pt": "3"},
        "metadata": {"steps_completed": 7},
        "state": "STATE_COMPLETED",
    }
    await owner.post("/api/v1/checkpoints", checkpoint)
    await said(owner, trial["id"], "STATE_ERROR")
    refused = await owner.call("POST", f"/api/v1/trials/{trial['id']}/start", {"trialId": trial["id"]})
    assert (refused.status, "already been started" in refused.error) == (409, True)
    again = await started(owner, trial["id"], resume=True)
    assert again == {"trialRunId": 2, "stepsCompleted": 7, "latestCheckpoint": uuid}


async def test_a_silent_trial_is_ended_with_a_reason_and_comes_back(cluster: Running, owner: Client) -> None:
    experiment = await experiment_of(owner)
    trial = (await trial_of(owner, experiment))["id"]
    await started(owner, trial)
    gateway, now = cluster.gateway, cluster.gateway.context.now()
    times = iter([now, *[now + timedelta(seconds=301)] * 3])
    watch = SilenceWatch(gateway.heartbeats, lambda: gateway.ports.of(QUERIES), cluster.bus, lambda: next(times))
    events = len(await cluster.log.read_stream(f"experiment-{experiment}"))
    for _ in range(3):
        assert await said(owner, trial) == "STATE_RUNNING"
    assert len(await cluster.log.read_stream(f"experiment-{experiment}")) == events, "heartbeats are no facts"
    await watch.look()
    await gateway.read.catch_up()
    shown = (await owner.get(f"/api/v1/trials/{trial}"))["trial"]
    assert (shown["state"], shown["stateReason"][:28]) == ("STATE_ERROR", "no heartbeat for 300 seconds")
    assert await state_of(owner, experiment) == "STATE_ERROR"
    assert (await started(owner, trial, resume=True))["trialRunId"] == 2
    assert await state_of(owner, experiment) == "STATE_RUNNING"


async def test_what_the_cluster_cannot_do_to_processes_outside_is_refused_by_name(owner: Client) -> None:
    experiment = await experiment_of(owner)
    trial = (await trial_of(owner, experiment))["id"]
    await started(owner, trial)
    for action in ("pause", "activate"):
        answer = await owner.call("POST", f"/api/v1/experiments/{experiment}/{action}")
        assert (answer.status, "its trials run outside of the cluster" in answer.error) == (409, True)
    for action in ("cancel", "kill"):
        await owner.post(f"/api/v1/experiments/{experiment}/{action}")
    assert (await owner.call("POST", f"/api/v1/trials/{trial}/kill")).status == 404
    assert await said(owner, trial) == "STATE_RUNNING"


async def test_users_report_for_no_trial_that_the_cluster_runs(cluster: Running, owner: Client) -> None:
    managed = (await owner.post("/api/v1/experiments", {"config": a_search.CONFIG}))["experiment"]["id"]
    trial = (await owner.get(f"/api/v1/experiments/{managed}/trials"))["trials"][0]
    lines = {"logs": [{"taskId": trial["taskId"], "log": "hello\n"}]}
    calls: tuple[tuple[str, str, Any, int], ...] = (
        ("POST", f"/api/v1/trials/{trial['id']}/metrics", report(trial["id"], 0.5), 403),
        ("POST", f"/api/v1/trials/{trial['id']}/progress", {"trialId": 1, "progress": 0.5}, 403),
        ("POST", "/api/v1/task/logs", lines, 403),
        ("POST", f"/api/v1/trials/{trial['id']}/start", {"trialId": 1}, 409),
        ("PATCH", f"/api/v1/trials/{trial['id']}", {"trialId": 1, "state": "STATE_COMPLETED"}, 409),
        ("POST", "/api/v1/trials", {"experimentId": managed, "unmanaged": True}, 409),
    )
    for method, path, body, status in calls:
        answer = await owner.call(method, path, body)
        assert (path, answer.status) == (path, status)


async def test_hostile_requests_are_refused_by_the_name_of_the_field(owner: Client) -> None:
    experiment = await experiment_of(owner)
    trial = (await trial_of(owner, experiment))["id"]
    named = {"experimentId": experiment, "unmanaged": True}
    calls: tuple[tuple[str, str, Any, str], ...] = (
        ("PUT", "/api/v1/experiments/by-external-id/x", {"config": CONFIG}, "unmanaged: expected true"),
        ("POST", "/api/v1/trials", {"experimentId": experiment}, "unmanaged: expected true"),
        ("PUT", "/api/v1/trials", {"createTrialRequest": named, "externalTrialId": "a/../b"}, "externalTrialId: exp"),
        ("PUT", "/api/v1/trials", {"createTrialRequest": named}, "externalTrialId: expected"),
        ("PUT", "/api/v1/trials", {"createTrialRequest": named, "externalTrialId": "a" * 201}, "externalTrialId"),
        ("PATCH", f"/api/v1/trials/{trial}", {"trialId": 1, "state": "STATE_QUEUED"}, "state: expected one of"),
    )
    for method, path, body, error in calls:
        answer = await owner.call(method, path, body)
        assert (answer.status, answer.error[: len(error)]) == (400, error)
