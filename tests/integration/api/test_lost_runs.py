"""A run that was given up: nothing is taken from it from then on, whichever gateway it asks, and its task is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from resolute.bus import subjects
from resolute.proto.checkpoint import CheckpointCompleted
from resolute.proto.experiment import TrialRunRequested
from resolute.proto.pool import AllocationExited, LogBatch, LogLine, LogsStored, StartTask
from tests.integration.api.running import PATIENCE_S, Answer, Client, refused_within
from tests.integration.api.whole import CONFIG, Agent, Whole, results, whole
from tests.integration.replicas.test_two_gateways import another_gateway, at

RESTARTING = CONFIG.replace("max_restarts: 0", "max_restarts: 2") % 1


@dataclass
class Town:
    cluster: Whole
    other: str
    agent: Agent
    order: StartTask
    trial: Client
    alive: AsyncExitStack
    """Until it is closed the first agent sends heartbeats."""

    @property
    def both(self) -> tuple[Client, Client]:
        """The trial's own code, at either gateway."""
        return self.trial, at(self.other, self.trial)

    async def lost(self) -> AllocationExited:
        """The agent falls silent; wait until the log says that its allocation is lost."""
        await self.alive.aclose()
        exited: AllocationExited = (await self.cluster.until_told(AllocationExited))[0]
        assert exited.outcome == "lost"
        return exited


@pytest.fixture
async def town(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Town]:
    """Two gateways, and a running trial whose agent will be taken for lost soon after it falls silent."""
    monkeypatch.setenv("RESOLUTE_SCHEDULER_AGENT_RECONNECT_WAIT_S", "3")
    async with (
        whole(postgres_dsn, nats_url, tmp_path) as cluster,
        another_gateway(cluster, nats_url) as other,
        AsyncExitStack() as alive,
    ):
        agent = await cluster.agent()
        await alive.enter_async_context(agent.alive())
        await cluster.submit(config=RESTARTING)
        yield Town(cluster, other, agent, *await cluster.task(agent), alive)


def report(steps: int) -> dict[str, Any]:
    metrics = {"trialId": 1, "trialRunId": 1, "stepsCompleted": steps, "metrics": {"avgMetrics": {"loss": 1.0}}}
    return {"metrics": metrics, "group": "training"}


def completed(order: StartTask) -> dict[str, Any]:
    return {
        "uuid": str(uuid4()),
        "taskId": order.spec.task_id,
        "allocationId": order.spec.allocation_id,
        "state": "STATE_COMPLETED",
        "resources": {"a": 1},
        "metadata": {"steps_completed": 10},
    }


async def everything(town: Town, client: Client) -> dict[str, Answer]:
    """All ways in which a task says something."""
    logs = {"logs": [{"taskId": town.order.spec.task_id, "log": "still here"}]}
    said = {
        "metrics": ("POST", "/api/v1/trials/1/metrics", report(20)),
        "batch": ("POST", "/api/v1/trials/1/metrics/batch", {"reports": [report(21), report(22)]}),
        "checkpoint": ("POST", "/api/v1/checkpoints", completed(town.order)),
        "logs": ("POST", "/api/v1/task/logs", logs),
        "progress": ("POST", "/api/v1/trials/1/progress", {"progress": 0.5}),
        "early exit": ("POST", "/api/v1/trials/1/early_exit", {"reason": "EXITED_REASON_INVALID_HP"}),
        "trial": ("GET", "/api/v1/trials/1", None),
    }
    return {what: await client.call(*call) for what, call in said.items()}


async def test_nothing_of_a_lost_run_is_taken_by_any_gateway(town: Town) -> None:
    for client in town.both:  # both gateways believe the token now
        await client.post("/api/v1/trials/1/metrics", report(10))
    exited = await town.lost()
    answers = [await everything(town, client) for client in town.both]
    for answer in (answer for several in answers for answer in several.values()):
        assert answer.status == 410, answer.body
        assert exited.allocation_id in answer.error
        assert "was silent" in answer.error or "has taken over" in answer.error
    assert [line["totalBatches"] for line in await reported(town.cluster)] == [10]
    assert await results(town.cluster.user, "/api/v1/trials/1/logs", sources="task") == []
    assert await town.cluster.told(CheckpointCompleted) == []


async def reported(cluster: Whole) -> list[dict[str, Any]]:
    pages = await results(cluster.user, "/api/v1/trials/metrics/trial_metrics", trialIds=1, group="training")
    return [row for page in pages for row in page["metrics"]]


async def test_a_gateway_that_hears_nothing_over_the_bus_stops_believing_within_a_second(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signals of both gateways are deaf, and the read model is caught up by nothing but the question itself."""
    monkeypatch.setattr("resolute.api.signals.Signals.heard", lambda self, *about: 0)
    await town.trial.post("/api/v1/trials/1/metrics", report(10))
    await town.lost()

    async def refused() -> bool:
        return (await town.trial.call("POST", "/api/v1/trials/1/progress", {"progress": 0.1})).status == 410

    await refused_within(1.0, refused)


async def test_a_task_that_waits_for_a_preemption_is_told_at_once_that_it_was_given_up(town: Town) -> None:
    path = f"/api/v1/allocations/{town.order.spec.allocation_id}/signals/preemption?timeoutSeconds=60"
    polls = [asyncio.create_task(client.call("GET", path)) for client in town.both]
    await town.lost()
    for answer in await asyncio.wait_for(asyncio.gather(*polls), PATIENCE_S):
        assert answer.status == 410


async def test_the_run_that_follows_is_taken_whole(town: Town) -> None:
    await town.lost()
    await town.cluster.until_told(TrialRunRequested, 2)
    agent = await town.cluster.agent()
    await town.alive.enter_async_context(agent.alive())
    order, trial = await town.cluster.task(agent)
    second = report(10)
    second["metrics"]["trialRunId"] = 2
    for client in (trial, at(town.other, trial)):
        await client.post("/api/v1/trials/1/metrics", second)
    await trial.post("/api/v1/checkpoints", completed(order))
    assert (await town.trial.call("POST", "/api/v1/checkpoints", completed(town.order))).status == 410
    assert [(row["totalBatches"], row["trialRunId"]) for row in await reported(town.cluster)] == [(10, 2)]
    [checkpoint] = await town.cluster.told(CheckpointCompleted)
    assert checkpoint.allocation_id == order.spec.allocation_id


async def test_a_run_that_ended_by_itself_may_still_say_its_last_words(town: Town) -> None:
    await town.agent.report(town.order, "exited", 0)
    await town.cluster.until_told(AllocationExited)
    for client in town.both:
        await client.post("/api/v1/trials/1/metrics", report(30))


async def test_a_task_reports_for_no_run_but_its_own(town: Town) -> None:
    another = report(10)
    another["metrics"]["trialRunId"] = 7
    answer = await town.trial.call("POST", "/api/v1/trials/1/metrics", another)
    assert (answer.status, answer.error.partition(":")[0]) == (400, "metrics.trialRunId")


async def test_of_a_lost_run_an_agent_ships_what_was_printed_before_and_nothing_after(town: Town) -> None:
    await town.lost()
    [exited] = [r for r in await town.cluster.log.read_all(0, 1000) if isinstance(r.event, AllocationExited)]

    def line(n: int, after_s: float) -> LogLine:
        spec, resources_id = town.order.spec, town.order.placement.resources_id
        at_ = exited.recorded_at + timedelta(seconds=after_s)
        said = (n, at_, "INFO", "stdout", f"line {n}", town.agent.name, resources_id)
        return LogLine(spec.task_id, spec.allocation_id, 0, *said)

    batch = LogBatch((line(0, -1.0), line(1, 0.5), line(2, 9.0)))
    stored = await town.cluster.bus.ask(subjects.agent(town.agent.name, "logs"), batch, LogsStored)
    assert stored.count == 1
    assert [said["log"] for said in await results(town.cluster.user, "/api/v1/trials/1/logs", sources="task")] == [
        "line 0\n"
    ]


async def test_nothing_is_taken_for_a_deleted_trial_by_a_gateway_that_remembers_it(town: Town) -> None:
    await town.agent.report(town.order, "started")
    for client in town.both:
        await client.post("/api/v1/trials/1/metrics", report(10))
    user = town.cluster.user
    await user.post("/api/v1/experiments/1/kill")
    await town.agent.report(town.order, "exited", 137)

    async def state() -> str:
        return str((await user.get("/api/v1/experiments/1"))["experiment"]["state"])

    async def ended() -> bool:
        return await state() == "STATE_CANCELED"

    await town.cluster.until(ended)
    for client in town.both:  # its own time for last reports is not over
        await client.post("/api/v1/trials/1/metrics", report(11))
    assert (await user.call("DELETE", "/api/v1/experiments/1")).status == 200

    async def gone() -> bool:
        return (await user.call("GET", "/api/v1/experiments/1")).status == 404

    await town.cluster.until(gone)
    for client in town.both:
        for what, answer in (await everything(town, client)).items():
            assert answer.status == 404, (what, answer.body)
