"""What a trial leaves behind it, as people read it: log lines, progress, checkpoints, workloads, charts."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from resolute.bus import subjects
from resolute.proto.checkpoint import CheckpointAnnounced, CheckpointCompleted
from resolute.proto.errors import Forbidden
from resolute.proto.pool import LogBatch, LogLine, LogsStored, StartTask
from tests.integration.api.running import PATIENCE_S, Client
from tests.integration.api.whole import Agent, Whole, results, whole

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UUID = "3f1b1f0e-5b0a-4a39-9f6b-0f6f7f0f9a01"


async def a_trial(cluster: Whole) -> tuple[Agent, Any, Client]:
    agent = await cluster.agent()
    await cluster.submit()
    return agent, *await cluster.task(agent)


def record(task_id: str, n: int, text: str, **fields: Any) -> dict[str, Any]:
    at = (AT + timedelta(seconds=n)).isoformat()
    return {"taskId": task_id, "timestamp": at, "log": f"{text}\n", "level": "LOG_LEVEL_INFO", **fields}


async def test_lines_shipped_over_rest_are_read_back_with_filters(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        _, order, trial = await a_trial(cluster)
        task_id = order.spec.task_id
        lines = [
            record(task_id, 1, "all is well", rankId=0),
            record(task_id, 2, "loss is nan", rankId=1, level="LOG_LEVEL_ERROR", stdtype="stderr"),
            record(task_id, 3, "same"),
            record(task_id, 3, "same"),
        ]
        for _ in range(2):  # a shipper that heard no answer sends again, under the key of the same request
            again = {"Idempotency-Key": "first lines"}
            assert (await trial.call("POST", "/api/v1/task/logs", {"logs": lines}, headers=again)).status == 200
        path = "/api/v1/trials/1/logs"
        everything = await results(cluster.user, path, sources="task")
        assert [line["log"] for line in everything] == ["all is well\n", "loss is nan\n", "same\n", "same\n"]
        first = everything[0]
        assert (first["trialId"], first["level"], first["timestamp"]) == (1, "LOG_LEVEL_INFO", "2026-01-02T03:04:06Z")
        assert first["message"].startswith("[2026-01-02T03:04:06.000000Z]")
        for query in (
            {"levels": "LOG_LEVEL_ERROR"},
            {"rankIds": 1},
            {"stdtypes": "stderr"},
            {"searchText": "is nan"},
            {"searchText": "^loss.*n$", "enableRegex": "true"},
            {"timestampAfter": "2026-01-02T03:04:06Z", "timestampBefore": "2026-01-02T03:04:07Z"},
        ):
            assert [line["log"] for line in await results(cluster.user, path, sources="task", **query)] == [
                "loss is nan\n"
            ], query
        newest = await results(cluster.user, path, sources="task", orderBy="ORDER_BY_DESC", limit=1)
        assert [line["log"] for line in newest] == ["same\n"]
        [fields] = await results(cluster.user, f"{path}/fields")
        assert (fields["rankIds"], fields["stdtypes"]) == ([0, 1], ["stderr", "stdout"])
        by_task = await results(cluster.user, f"/api/v1/tasks/{task_id}/logs", limit=2)
        assert [line["taskId"] for line in by_task] == [task_id, task_id]


async def test_equal_lines_of_one_instant_are_all_stored(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        _, order, trial = await a_trial(cluster)
        line = record(order.spec.task_id, 1, "loading shard")
        for _ in range(3):  # three requests: three times the same thing happened
            await trial.post("/api/v1/task/logs", {"logs": [line, line]})
        await trial.post("/task-logs", [line])
        assert len(await results(cluster.user, "/api/v1/trials/1/logs", sources="task")) == 7


async def test_a_stream_is_one_document_a_line_and_fails_with_a_status(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await a_trial(cluster)
        path = "/api/v1/trials/1/logs"
        headers = {"Authorization": f"Bearer {cluster.user.token}"}
        async with cluster.user.http.get(f"{cluster.user.base}{path}?sources=none", headers=headers) as response:
            assert (response.status, response.content_type) == (200, "application/json")
            assert await response.read() == b"", "an empty stream is an empty body"
        for broken, field in (
            ("searchText=(&enableRegex=true", "searchText"),
            ("levels=LOUD", "levels"),
            ("follow=true&limit=5", "limit"),
            ("timestampAfter=noon", "timestampAfter"),
            ("rankIds=first", "rankIds"),
        ):
            answer = await cluster.user.call("GET", f"{path}?{broken}")
            assert answer.status == 400, (broken, answer.body)
            assert field in orjson.dumps(answer.body).decode()
        assert (await cluster.user.call("GET", "/api/v1/trials/99/logs")).status == 404
        assert (await cluster.user.call("GET", "/api/v1/tasks/none/logs")).status == 404


@pytest.mark.alone
async def test_a_follower_gets_lines_as_they_come_and_leaves_when_the_task_has_ended(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent, order, trial = await a_trial(cluster)
        task_id = order.spec.task_id
        headers = {"Authorization": f"Bearer {cluster.user.token}"}
        url = f"{cluster.user.base}/api/v1/trials/1/logs?follow=true&sources=task"
        await trial.post("/api/v1/task/logs", {"logs": [record(task_id, 0, "before")]})
        async with cluster.user.http.get(url, headers=headers) as response:
            assert orjson.loads(await response.content.readline())["result"]["log"] == "before\n"
            took_s = list[float]()
            for n in range(1, 4):
                sent_at = time.perf_counter()
                await trial.post("/api/v1/task/logs", {"logs": [record(task_id, n, f"line {n}")]})
                line = orjson.loads(await asyncio.wait_for(response.content.readline(), PATIENCE_S))
                assert line["result"]["log"] == f"line {n}\n"
                took_s.append(time.perf_counter() - sent_at)
            assert min(took_s) < 0.5, took_s  # a machine that is busy with other things holds some of them up
            # What an agent ships last, after the exit, is shown too.
            await agent.report(order, "exited", exit_code=0)
            assert await asyncio.wait_for(response.content.read(), PATIENCE_S) == b""


def shipped(order: StartTask, agent: Agent, n: int) -> LogLine:
    spec, share = order.spec, order.placement.resources_id
    text = f"line {n}"
    return LogLine(spec.task_id, spec.allocation_id, 0, n, AT, "INFO", "stdout", text, agent.name, share)


async def test_lines_an_agent_ships_over_the_bus_are_kept_once(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent, order, _ = await a_trial(cluster)
        lines = tuple(shipped(order, agent, n) for n in range(100))
        for _ in range(2):
            stored = await cluster.bus.ask(subjects.agent(agent.name, "logs"), LogBatch(lines), LogsStored)
            assert stored.count == 100
        assert [line["log"] for line in await results(cluster.user, "/api/v1/trials/1/logs", sources="task")] == [
            f"line {n}\n" for n in range(100)
        ]


async def test_an_agent_ships_lines_of_its_own_tasks_alone(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        victim, order, _ = await a_trial(cluster)
        intruder = await cluster.agent()
        line = shipped(order, intruder, 1)
        forged = (
            line,
            replace(line, agent_id=victim.name),
            replace(line, container_id="its own"),
            replace(shipped(order, victim, 1), task_id="another"),
        )
        for one in forged:
            with pytest.raises(Forbidden):
                await cluster.bus.ask(subjects.agent(intruder.name, "logs"), LogBatch((one,)), LogsStored)
        true = LogBatch((shipped(order, victim, 2),))
        assert (await cluster.bus.ask(subjects.agent(victim.name, "logs"), true, LogsStored)).count == 1
        assert [line["log"] for line in await results(cluster.user, "/api/v1/trials/1/logs", sources="task")] == [
            "line 2\n"
        ]


async def test_progress_is_shown_with_the_experiment(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        _, _, trial = await a_trial(cluster)
        await trial.post("/api/v1/trials/1/progress", {"trialId": 1, "progress": 0.25, "isRaw": True})
        assert (await cluster.user.get("/api/v1/experiments/1"))["experiment"]["progress"] == 0.25
        for wrong in ("much", 1.5, float("nan"), None, True):
            answer = await trial.call("POST", "/api/v1/trials/1/progress", {"progress": wrong})
            assert (answer.status, answer.error.partition(":")[0]) == (400, "progress"), wrong


async def test_a_checkpoint_is_announced_then_completed_and_stands_among_the_workloads(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        _, order, trial = await a_trial(cluster)
        spec = order.spec
        named = {"uuid": UUID, "taskId": spec.task_id, "allocationId": spec.allocation_id}
        await trial.post("/api/v1/checkpoints", {**named, "state": "STATE_ACTIVE"})
        assert [told.uuid for told in await cluster.told(CheckpointAnnounced)] == [UUID]
        done = {
            **named,
            "state": "STATE_COMPLETED",
            "metadata": {"steps_completed": 100, "mood": "good"},
            "resources": {"state/model_weights.pt": "10", "notes.txt": 5},
        }
        for _ in range(2):
            await trial.post("/api/v1/checkpoints", done)
        [completed] = await cluster.told(CheckpointCompleted)
        assert completed.resources == {"state/model_weights.pt": 10, "notes.txt": 5}
        for body, field in (
            ({**done, "metadata": {}}, "metadata.steps_completed"),
            ({**done, "metadata": {"steps_completed": 2**31}}, "metadata.steps_completed"),
            ({**done, "metadata": {"steps_completed": -1}}, "metadata.steps_completed"),
            ({**done, "resources": {"a": "big"}}, "resources.a"),
            ({**done, "resources": {"a": str(2**62), "b": str(2**62)}}, "resources"),
        ):
            answer = await trial.call("POST", "/api/v1/checkpoints", body)
            assert (answer.status, answer.error.partition(":")[0]) == (400, field)
        other_run = f"{spec.task_id}.7"
        answer = await trial.call("POST", "/api/v1/checkpoints", {**done, "allocationId": other_run})
        assert answer.status == 403, "a run speaks for itself, not for a later one"
        values = {"avgMetrics": {"loss": 0.5}, "batchMetrics": []}
        for kind in ("training", "validation"):
            body = {"trialRunId": 1, "stepsCompleted": 100, "metrics": values}
            await trial.post(f"/api/v1/trials/1/{kind}_metrics", body)
        listed = await cluster.user.get("/api/v1/trials/1/workloads")
        assert [next(iter(workload)) for workload in listed["workloads"]] == ["training", "validation", "checkpoint"]
        assert listed["workloads"][2]["checkpoint"]["resources"] == {"notes.txt": "5", "state/model_weights.pt": "10"}
        page = await cluster.user.get("/api/v1/trials/1/workloads", limit=1, orderBy="ORDER_BY_DESC")
        assert [next(iter(workload)) for workload in page["workloads"]] == ["checkpoint"]
        assert page["pagination"] == {"offset": 0, "limit": 1, "startIndex": 0, "endIndex": 1, "total": 3}
        chosen = await cluster.user.get("/api/v1/trials/1/workloads", filter="FILTER_OPTION_VALIDATION")
        assert [next(iter(workload)) for workload in chosen["workloads"]] == ["validation"]


async def test_charts_are_thinned_and_hold_the_names_asked_for(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        _, _, trial = await a_trial(cluster)
        await asyncio.gather(
            *(
                trial.post(
                    "/api/v1/trials/1/training_metrics",
                    {
                        "trialRunId": 1,
                        "stepsCompleted": steps,
                        "metrics": {"avgMetrics": {"loss": 1 / steps, "accuracy": 0.5}},
                    },
                )
                for steps in range(1, 51)
            )
        )
        query = {"trialIds": 1, "metricIds": "training.loss", "maxDatapoints": 6, "startBatches": 2}
        [compared] = (await cluster.user.get("/api/v1/trials/time-series", **query))["trials"]
        [series] = compared["metrics"]
        assert (series["group"], series["type"]) == ("training", "METRIC_TYPE_TRAINING")
        assert [point["batches"] for point in series["data"]][:: len(series["data"]) - 1] == [2, 50]
        assert 2 < len(series["data"]) <= 6
        assert all(set(point["values"]) == {"loss"} for point in series["data"])
        assert compared["trial"]["summaryMetrics"]["avg_metrics"]["accuracy"]["count"] == 50
