"""System metrics over REST: as trials report them now, as older clients post them, and how both are read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.integration.api.running import Client
from tests.integration.api.whole import results, whole

SERIES = "/api/v1/trials/1/profiler/available_series"
METRICS = "/api/v1/trials/1/profiler/metrics"
POST = "/api/v1/trials/profiler/metrics"
SYSTEM = "PROFILER_METRIC_TYPE_SYSTEM"


async def sample(trial: Client, group: str, at: str, **by_agent: dict[str, Any]) -> None:
    """As the profiler of a trial reports it."""
    metrics = {"trialId": 1, "trialRunId": 1, "reportTime": at, "metrics": {"avgMetrics": by_agent}}
    await trial.post("/api/v1/trials/1/metrics", {"metrics": metrics, "group": group})


def points(name: str, *values: float, **labels: Any) -> dict[str, Any]:
    """As an older client posts them."""
    return {
        "labels": {"trialId": 1, "name": name, "metricType": SYSTEM, **labels},
        "values": values,
        "batches": [7] * len(values),
        "timestamps": [f"2026-01-02T03:05:{second:02}Z" for second in range(len(values))],
    }


async def test_system_metrics_of_both_forms_are_read_as_series(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        user = cluster.user
        assert await results(user, SERIES) == [{"labels": []}]

        at = "2026-01-02T03:04:05.678Z"
        await sample(trial, "cpu", at, one={"cpu_util_simple": 50.0})
        await sample(trial, "cpu", at, two={"cpu_util_simple": 60.0})
        await sample(trial, "gpu", at, one={"GPU-1.gpu_util": 70.0})
        posted = {"batches": [points("cpu_util_simple", 10.0, 20.0, agentId="one"), points("gpu_util", 1, gpuUuid="G")]}
        for _ in range(2):  # twice, as after an answer that was lost
            await trial.post(POST, posted)

        [found] = await results(user, SERIES)
        labels = [(one["name"], one.get("agentId"), one.get("gpuUuid"), one["metricType"]) for one in found["labels"]]
        assert labels == [
            ("cpu_util_simple", "one", None, SYSTEM),
            ("cpu_util_simple", "two", None, SYSTEM),
            ("gpu_util", None, "G", SYSTEM),
            ("gpu_util", "one", "GPU-1", SYSTEM),
        ]

        asked = {"labels.name": "cpu_util_simple", "labels.agentId": "one"}
        [page] = await results(user, METRICS, **asked)
        assert page["batch"]["values"] == [50.0, 10.0, 20.0]
        assert page["batch"]["batches"] == [0, 7, 7]
        assert page["batch"]["timestamps"][1] == "2026-01-02T03:05:00Z"
        assert [len((one["batch"])["values"]) for one in await results(user, METRICS)] == [3, 1, 1, 1]
        assert await results(user, METRICS, **{"labels.name": "unknown"}) == []


async def test_a_stream_follows_a_trial_to_its_end(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        await sample(trial, "memory", "2026-01-02T03:04:05Z", one={"memory_free": 1.0})
        following = asyncio.create_task(results(cluster.user, METRICS, follow="true"))
        series = asyncio.create_task(results(cluster.user, SERIES, follow="true"))
        await sample(trial, "memory", "2026-01-02T03:04:15Z", one={"memory_free": 2.0})
        await cluster.user.post("/api/v1/experiments/1/kill")
        await agent.report(order, "exited", 137)
        async with asyncio.timeout(60):
            pages, names = await following, await series
        assert [value for page in pages for value in page["batch"]["values"]] == [1.0, 2.0]
        assert names[-1]["labels"][0]["name"] == "memory_free"


async def test_points_that_do_not_fit_are_refused_with_their_place(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        whole_one = points("cpu_util_simple", 1.0)
        for wrong, said in (
            ({**whole_one, "values": [1.0, 2.0]}, "batches[1].values: expected as many values"),
            ({**whole_one, "values": ["NaN"]}, "batches[1].values[0]: expected a finite number"),
            ({**whole_one, "timestamps": ["1999-01-01T00:00:00Z"]}, "batches[1].timestamps[0]: expected an instant"),
            (points("a.b", 1.0), "batches[1].labels.name: expected the name of a metric, without dots"),
        ):
            answer = await trial.call("POST", POST, {"batches": [whole_one, wrong]})
            assert (answer.status, said in str(answer.body)) == (400, True), answer.body
        assert await results(cluster.user, SERIES) == [{"labels": []}], "a part of a refused request was stored"
