"""What a running trial reports over REST: stored once, announced once, refused with the field's name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from resolute.proto.experiment import TrialValidated
from tests.integration.api.running import Client
from tests.integration.api.whole import results, whole


def report(steps: int, run: int = 1, **metrics: Any) -> dict[str, Any]:
    """As the client's generated bindings send it."""
    return {
        "metrics": {
            "trialId": 1,
            "trialRunId": run,
            "stepsCompleted": steps,
            "reportTime": "2026-01-02T03:04:05.678Z",
            "metrics": {"avgMetrics": metrics, "batchMetrics": []},
        },
        "group": "validation",
    }


async def read_back(user: Client, group: str, trial_id: int) -> list[dict[str, Any]]:
    pages = await results(user, "/api/v1/trials/metrics/trial_metrics", trialIds=trial_id, group=group)
    return [row for page in pages for row in page["metrics"]]


async def test_a_validation_reported_twice_is_stored_once_and_decides_once(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        await asyncio.gather(*(trial.post("/api/v1/trials/1/metrics", report(100, loss=0.5)) for _ in range(10)))
        await trial.post("/api/v1/trials/1/metrics", report(100, loss=0.5))
        [row] = await read_back(cluster.user, "validation", 1)
        assert (row["totalBatches"], row["metrics"]) == (100, {"validation_metrics": {"loss": 0.5}})
        assert [(told.steps_completed, told.metric) for told in await cluster.told(TrialValidated)] == [(100, 0.5)]


async def test_numbers_that_json_lacks_are_taken_as_python_writes_them(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        strange: dict[str, Any] = {
            "loss": float("nan"),
            "up": float("inf"),
            "deep": {"down": float("-inf")},
            "text": 'a "NaN" said',
        }
        await trial.post("/api/v1/trials/1/metrics", report(100, **strange))
        await trial.post("/api/v1/trials/1/metrics", report(200, loss="Nan"))
        first, second = await read_back(cluster.user, "validation", 1)
        assert first["metrics"]["validation_metrics"] == {
            "loss": "NaN",
            "up": "Infinity",
            "deep": {"down": "-Infinity"},
            "text": 'a "NaN" said',
        }
        assert second["totalBatches"] == 200
        assert [told.metric for told in await cluster.told(TrialValidated)] == [None, None]


async def test_a_backlog_is_taken_at_once_or_not_at_all(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        path = "/api/v1/trials/1/metrics/batch"
        reports = [report(steps, loss=1 / steps) for steps in (50, 100)]
        reports += [{**report(steps, loss=0.0), "group": "training"} for steps in range(1, 200)]
        answer = await trial.call("POST", path, {"reports": [*reports, report(-1)]})
        assert (answer.status, answer.error.partition(":")[0]) == (400, "reports[201].metrics.stepsCompleted")
        assert await read_back(cluster.user, "validation", 1) == []
        for _ in range(2):
            await trial.post(path, {"reports": reports})
        assert len(await read_back(cluster.user, "training", 1)) == 199
        assert [told.steps_completed for told in await cluster.told(TrialValidated)] == [50, 100]


async def test_a_report_with_a_character_postgres_cannot_hold_spoils_no_others(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        odd: dict[str, Any] = {"na\0me": 1.0, "text": "a\\\0b", "plain": r"\u0000"}
        await asyncio.gather(
            *(trial.post("/api/v1/trials/1/metrics", report(steps, **odd)) for steps in range(1, 6)),
        )
        rows = await read_back(cluster.user, "validation", 1)
        assert [row["metrics"]["validation_metrics"] for row in rows] == 5 * [
            {"na\ufffdme": 1.0, "text": "a\\\ufffdb", "plain": r"\u0000"}
        ]


BAD: dict[str, Any] = {
    "metrics": {"metrics": None},
    "metrics.metrics.avgMetrics": {"metrics": {"trialId": 1, "stepsCompleted": 1, "metrics": {"avgMetrics": [1]}}},
    "metrics.stepsCompleted": report(-1, loss=1.0),
    "metrics.trialRunId": report(1, run=2**40, loss=1.0),
    "metrics.reportTime": {"metrics": {**report(1, loss=1.0)["metrics"], "reportTime": "yesterday"}},
    "group": {**report(1, loss=1.0), "group": "a.b"},
    "metrics.avgMetrics.loss": report(1, loss="low"),
}


async def test_a_bad_report_is_told_which_field_is_wrong(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        for field, body in BAD.items():
            body = {"group": "validation", **body}
            answer = await trial.call("POST", "/api/v1/trials/1/metrics", body)
            assert (answer.status, answer.error.partition(":")[0]) == (400, field), answer.body
        assert (await trial.call("POST", "/api/v1/trials/99/metrics", report(1))).status == 403
        assert (await cluster.user.call("POST", "/api/v1/trials/1/metrics", report(1, loss=0.0))).status == 403
        assert await read_back(cluster.user, "validation", 1) == [], "what was refused must not be kept"


async def test_a_trials_token_opens_its_own_routes_only(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit()
        await cluster.submit()
        one, first = await cluster.task(agent)
        other, _ = await cluster.task(agent)
        assert one.spec.trial_id != other.spec.trial_id
        their_allocation = other.spec.allocation_id
        for method, path, body in (
            ("POST", f"/api/v1/trials/{other.spec.trial_id}/metrics", report(1, loss=1.0)),
            ("POST", f"/api/v1/trials/{other.spec.trial_id}/progress", {"progress": 0.5}),
            ("GET", f"/api/v1/allocations/{their_allocation}/signals/preemption", None),
            ("POST", f"/api/v1/allocations/{their_allocation}/all_gather", {"requestUuid": "u", "numPeers": 1}),
            ("POST", "/api/v1/task/logs", {"logs": [{"taskId": other.spec.task_id, "log": "me\n"}]}),
            ("POST", "/api/v1/checkpoints", {"uuid": "u", "taskId": other.spec.task_id, "state": "STATE_ACTIVE"}),
            ("GET", f"/api/v1/tasks/{other.spec.task_id}/context_directory", None),
            ("GET", "/api/v1/trials/metrics/trial_metrics", None),
        ):
            assert (await first.call(method, path, body)).status == 403, path
        forged = Client(first.base, first.http, one.token[:-4] + "AAAA")
        assert (await forged.call("POST", "/api/v1/trials/1/metrics", report(1, loss=1.0))).status == 401


async def test_what_a_trial_said_last_is_taken_for_a_while_after_its_exit(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path, task_token_grace_s=2.0) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        await agent.report(order, "exited", exit_code=0)
        await trial.post("/api/v1/trials/1/metrics", report(100, loss=0.5))

        async def refused() -> bool:
            return (await trial.call("POST", "/api/v1/trials/1/metrics", report(200, loss=0.5))).status == 401

        await cluster.until(refused)
        assert (await read_back(cluster.user, "validation", 1))[0]["totalBatches"] == 100


@pytest.mark.parametrize("token", [None, "not-a-token"])
async def test_nobody_reports_without_being_someone(
    postgres_dsn: str, nats_url: str, tmp_path: Path, token: str | None
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        stranger = Client(cluster.nobody.base, cluster.nobody.http, token)
        assert (await stranger.call("POST", "/api/v1/trials/1/metrics", report(1, loss=1.0))).status == 401
