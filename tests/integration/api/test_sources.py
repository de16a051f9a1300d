"""The use of checkpoints over REST: trials report it, and the metrics of these trials are read by checkpoint and by
version of a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.running import Client
from tests.integration.api.whole import whole

REPORT = "/api/v1/trial-source-info"
WHOLE, BEGUN = "11111111-1111-4111-8111-111111111111", "33333333-3333-4333-8333-333333333333"
BY_CHECKPOINT = f"/api/v1/checkpoints/{WHOLE}/metrics"
INFERENCE, FINE_TUNING = "TRIAL_SOURCE_INFO_TYPE_INFERENCE", "TRIAL_SOURCE_INFO_TYPE_FINE_TUNING"


@pytest.fixture
async def owner(postgres_dsn: str, nats_url: str, tmp_path: Path) -> AsyncIterator[Client]:
    """The user of a running trial that has a complete checkpoint, the first version of the model `digits`, and one
    that is being written."""
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        async with agent.alive():
            await cluster.submit()
            order, task = await cluster.task(agent)
            about = {"taskId": order.spec.task_id, "allocationId": order.spec.allocation_id, "resources": {"a": 1}}
            for uuid, state in ((WHOLE, "STATE_COMPLETED"), (BEGUN, "STATE_ACTIVE")):
                report = {**about, "uuid": uuid, "state": state, "metadata": {"steps_completed": 1}}
                await task.post("/api/v1/checkpoints", report)
            await cluster.user.post("/api/v1/models", {"name": "digits"})
            version = {"modelName": "digits", "checkpointUuid": WHOLE}
            await cluster.user.post("/api/v1/models/digits/versions", version)
            yield cluster.user


async def outside(owner: Client, name: str) -> int:
    """A trial that runs outside of the cluster, and has reported a loss."""
    config = f"name: {name}\nsearcher: {{name: single, metric: loss, max_length: {{batches: 1}}}}\n"
    made = await owner.post("/api/v1/experiments", {"config": config, "unmanaged": True, "activate": True})
    experiment = made["experiment"]["id"]
    made = await owner.post("/api/v1/trials", {"experimentId": experiment, "hparams": {}, "unmanaged": True})
    trial = int(made["trial"]["id"])
    await owner.post(f"/api/v1/trials/{trial}/start", {"trialId": trial})
    metrics = {"trialId": trial, "trialRunId": 1, "stepsCompleted": 5, "metrics": {"avgMetrics": {"loss": 0.5}}}
    await owner.post(f"/api/v1/trials/{trial}/metrics", {"metrics": metrics, "group": "inference"})
    return trial


def info(trial: int, uuid: str = WHOLE, kind: str = INFERENCE, **version: int) -> dict[str, Any]:
    return {"trialSourceInfo": {"trialId": trial, "checkpointUuid": uuid, "trialSourceInfoType": kind, **version}}


async def trials_by(owner: Client, path: str, **query: Any) -> list[tuple[int, str, Any]]:
    found = (await owner.get(path, **query))["metrics"]
    return [(one["trialId"], one["group"], one["metrics"]) for one in found]


async def test_what_trials_measured_is_read_by_the_checkpoint_that_they_use(owner: Client) -> None:
    first, second = [await outside(owner, name) for name in ("first", "second")]
    answer = await owner.post(REPORT, info(first))
    assert answer == {"trialId": first, "checkpointUuid": WHOLE}
    await owner.post(REPORT, info(first))  # said again, nothing further happens
    await owner.post(REPORT, info(second, kind=FINE_TUNING, modelId=1, modelVersion=1))
    measured = {"avg_metrics": {"loss": 0.5}}
    assert await trials_by(owner, BY_CHECKPOINT) == [
        (first, "inference", measured),
        (second, "inference", measured),
    ]
    assert await trials_by(owner, BY_CHECKPOINT, trialSourceInfoType=INFERENCE) == [(first, "inference", measured)]
    assert await trials_by(owner, BY_CHECKPOINT, metricGroup="validation") == []
    by_version = "/api/v1/models/digits/versions/1/metrics"
    assert await trials_by(owner, by_version) == [(second, "inference", measured)]
    await owner.post(REPORT, info(second))
    assert await trials_by(owner, by_version) == [], "the trial says now that it did not use the version"


async def test_a_report_that_does_not_fit_is_refused(owner: Client) -> None:
    trial = await outside(owner, "first")
    for body, status, said in (
        (info(trial, kind="TRIAL_SOURCE_INFO_TYPE_UNSPECIFIED"), 400, "trialSourceInfoType: expected"),
        (info(trial, uuid="unknown"), 404, "checkpoint unknown not found"),
        (info(987), 404, "not found"),
        (info(trial, uuid=BEGUN), 409, "it is ANNOUNCED"),
        (info(trial, modelId=1, modelVersion=2), 400, "modelVersion: expected a version of model 1 that is checkpoint"),
        (info(1), 403, ""),
    ):
        answer = await owner.call("POST", REPORT, body)
        assert answer.status == status, (body, answer.body)
        assert said in str(answer.body)
    assert (await owner.call("GET", "/api/v1/models/digits/versions/7/metrics")).status == 404
    assert await trials_by(owner, BY_CHECKPOINT) == []
