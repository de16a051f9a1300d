"""P8: every answer to "why?" is in the log, and one command prints it, from the cause to what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from resolute.eventlog import cli
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.pool import AllocationExited, PreemptionRequested, StartTask
from tests.integration.api.running import PATIENCE_S, Client
from tests.integration.api.whole import Agent, Whole, whole

SINGLE = """
name: a
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 1%s}
max_restarts: 1
"""

HALVING = """
name: a
entrypoint: python3 train.py
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher:
  name: async_halving
  metric: loss
  max_length: {batches: 16}
  max_trials: 2
  max_concurrent_trials: 2
  num_rungs: 2
  divisor: 4
  stop_once: true
resources: {slots_per_trial: 1}
"""


@pytest.fixture
def dsn(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_PREEMPTION", "true")
    monkeypatch.setenv("RESOLUTE_SCHEDULER_TICK_S", "0.1")
    return postgres_dsn


@asynccontextmanager
async def a_trial(dsn: str, nats_url: str, storage: Path) -> AsyncIterator[tuple[Whole, Agent, StartTask, Client]]:
    """A cluster with one agent of one slot, on which a trial runs."""
    async with whole(dsn, nats_url, storage) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=SINGLE % "")
        order, trial = await cluster.task(agent)
        yield cluster, agent, order, trial


async def why(dsn: str, *asked: str) -> tuple[str, list[str], list[str]]:
    """What is answered, the types of the events that led there, and who was behind them."""
    said: list[str] = []
    await asyncio.to_thread(cli.why, dsn, *asked, as_json=True, say=said.append)
    told: dict[str, Any] = json.loads("".join(said))
    return told["answer"]["says"], [one["type"] for one in told["chain"]], [one["actor"] for one in told["chain"]]


async def gives_way(cluster: Whole, agent: Agent, order: StartTask, trial: Client, exit_code: int = 0) -> None:
    """The trial does as it was asked, and its end is known."""
    allocation = order.spec.allocation_id
    if exit_code == 0:
        await trial.post(f"/api/v1/allocations/{allocation}/signals/ack_preemption", {"allocationId": allocation})
    before = len(await cluster.told(AllocationExited))
    await agent.report(order, "exited", exit_code)
    await cluster.until_told(AllocationExited, before + 1)


async def until_told(dsn: str, types: str | tuple[str, ...], *asked: str) -> tuple[str, list[str], list[str]]:
    """The answer, once it is about an event of this type, or of one of these."""
    wanted = (types,) if isinstance(types, str) else types
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                found = await why(dsn, *asked)
            except NotFound:
                found = ("", [""], [])
            if found[1][-1] in wanted:
                return found
            await asyncio.sleep(0.05)


async def until_it_waits(cluster: Whole) -> dict[str, Any]:
    """What the gateway says of job 1, once it shows that the job's allocation waits."""
    explained: dict[str, Any] = {}

    async def waits() -> bool:
        explained.update(await cluster.user.get("/api/v1/jobs/1/explain"))
        return any(allocation.get("waits") for allocation in explained["allocations"])

    await cluster.until(waits)
    return explained


async def test_paused_by_a_person(dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with a_trial(dsn, nats_url, tmp_path) as (cluster, agent, order, trial):
        await cluster.user.post("/api/v1/experiments/1/pause")
        await cluster.until(lambda: cluster.told(PreemptionRequested))
        await gives_way(cluster, agent, order, trial)
        says, types, actors = await until_told(dsn, "TrialRunEnded", "trial-1", "stopped")
    assert says.startswith("run 1 of trial 1 gave its slots back")
    assert types == [
        "ExperimentPaused", "TrialStopRequested", "PreemptionRequested", "AllocationExited", "TrialRunEnded",
    ]  # fmt: skip
    assert actors[:3] == ["determined"] * 3
    assert (await why(dsn, "experiment-1", "paused"))[0] == "the experiment was paused"


async def test_preempted_by_a_job_of_higher_priority(dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with a_trial(dsn, nats_url, tmp_path) as (cluster, agent, order, trial):
        cluster.user = await cluster.nobody.login("admin")
        await cluster.submit(config=SINGLE % ", priority: 10")
        await cluster.until(lambda: cluster.told(PreemptionRequested))
        await gives_way(cluster, agent, order, trial)
        says, types, actors = await until_told(dsn, "TrialRunEnded", "trial-1", "preempted")
        # Its next run is asked for once the end of the first is known, and waits: each is recorded by another service.
        await until_told(dsn, ("AllocationWaits", "AllocationHeldBack"), "trial-1", "waits")
        explained = await until_it_waits(cluster)
    assert "gave its slots back" in says
    assert "priority 10" in says
    wanted = types.index("TrialRunRequested")
    assert types[wanted:] == [
        "TrialRunRequested", "AllocationRequested", "PreemptionRequested", "AllocationExited", "TrialRunEnded",
    ]  # fmt: skip
    assert set(actors[: wanted + 3]) == {"admin"}, "it is told whose wish it was"
    [allocation] = explained["allocations"]
    assert (allocation["waits"]["rule"], allocation["waits"]["by"] != "") == ("busy", True)
    assert allocation["waits"]["holders"][0] | {"jobId": ""} == {
        "jobId": "", "name": "a", "username": "admin", "experimentId": 2, "slots": 1,
    }  # fmt: skip
    before = allocation["previous"]["preempted"]
    assert (before["for"]["experimentId"], before["for"]["username"], before["rule"]) == (2, "admin", "priority")


async def test_lost_with_its_host(dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_AGENT_RECONNECT_WAIT_S", "2")
    async with whole(dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        async with agent.alive():
            await cluster.submit(config=SINGLE % "")
            await cluster.task(agent)
        says, types, _ = await until_told(dsn, "TrialRunEnded", "trial-1", "lost")
    assert says.startswith("run 1 of trial 1 was lost with its host: agent agent-0 was silent for")
    assert types == ["AgentLost", "ResourcesExited", "AllocationExited", "TrialRunEnded"]


async def test_out_of_restarts(dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with a_trial(dsn, nats_url, tmp_path) as (cluster, agent, order, trial):
        await gives_way(cluster, agent, order, trial, exit_code=3)
        order, trial = await cluster.task(agent)
        await gives_way(cluster, agent, order, trial, exit_code=4)
        says, types, _ = await until_told(dsn, "TrialEnded", "trial-1", "failed")
        ended = await until_told(dsn, "ExperimentEnded", "experiment-1", "stopped")
    assert says == "trial 1 ended ERROR: run 2 failed with exit code 4; max_restarts is 1"
    assert types.count("TrialRunEnded") == 2, "each failure that counted is named"
    assert ended[1][-2:] == ["ExperimentStopping", "ExperimentEnded"] or "TrialEnded" in ended[1]


async def test_stopped_by_its_search(dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit(config=HALVING)
        for loss in (1.0, 2.0):  # the second is the worse at the first rung
            order, trial = await cluster.task(agent)
            trial_id = order.spec.trial_id
            report = {"trialId": trial_id, "trialRunId": 1, "stepsCompleted": 4}
            body = {"metrics": {**report, "metrics": {"avgMetrics": {"loss": loss}}}, "group": "validation"}
            await trial.post(f"/api/v1/trials/{trial_id}/metrics", body)
        says, types, actors = await until_told(dsn, "PreemptionRequested", f"trial-{trial_id}", "stopped")
    assert "rung" in says
    assert types[-2:] == ["TrialStopRequested", "PreemptionRequested"]
    assert "TrialValidated" in types
    assert set(actors) == {"determined"}


@pytest.mark.parametrize("verb", ["kill", "cancel"])
async def test_ended_by_a_person(dsn: str, nats_url: str, tmp_path: Path, verb: str) -> None:
    async with a_trial(dsn, nats_url, tmp_path) as (cluster, agent, order, trial):
        cluster.user = await cluster.nobody.login("admin")
        await cluster.user.post(f"/api/v1/experiments/1/{verb}")
        await until_told(dsn, "AllocationKillRequested" if verb == "kill" else "PreemptionRequested", "trial-1")
        await gives_way(cluster, agent, order, trial, exit_code=137 if verb == "kill" else 0)
        says, types, actors = await until_told(dsn, "TrialEnded", "trial-1", "stopped")
        _, ended, _ = await until_told(dsn, "ExperimentEnded", "experiment-1", "ended")
    assert says.startswith("trial 1 ended CANCELED")
    assert types == ["ExperimentStopping", "TrialStopRequested", "TrialEnded"]
    assert actors[:2] == ["admin", "admin"]
    assert ended[0] == "ExperimentStopping"


async def test_a_checkpoint_deleted_by_a_person(dsn: str, nats_url: str, tmp_path: Path) -> None:
    uuid = "3f1b1f0e-5b0a-4a39-9f6b-0f6f7f0f9a01"
    async with a_trial(dsn, nats_url, tmp_path) as (cluster, agent, order, trial):
        spec = order.spec
        checkpoint = {
            "taskId": spec.task_id, "allocationId": spec.allocation_id, "uuid": uuid, "state": "STATE_COMPLETED",
            "resources": {"f": "1"}, "metadata": {"steps_completed": 10}, "reportTime": "2026-01-02T03:04:05Z",
        }  # fmt: skip
        await trial.post("/api/v1/checkpoints", checkpoint)
        await cluster.user.post("/api/v1/experiments/1/cancel")
        await until_told(dsn, "PreemptionRequested", "trial-1")
        await gives_way(cluster, agent, order, trial)
        await until_told(dsn, "ExperimentEnded", "experiment-1", "ended")
        answer = await cluster.user.call("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [uuid]})
        assert answer.status == 200, answer.body
        _, types, actors = await until_told(dsn, "CheckpointDeleted", f"checkpoint-{uuid}", "deleted")
    assert types[0] == "CheckpointDeletionRequested"
    assert actors[0] == "determined"


async def test_what_cannot_be_asked_or_is_not_there_is_said(dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with a_trial(dsn, nats_url, tmp_path):
        assert (await why(dsn, "trial-1", "runs"))[1][-1] in ("SlotsAssigned", "AllocationStarted", "TrialRunStarted")
        with pytest.raises(NotFound, match="trial-1: nothing like that is recorded; the latest is: "):
            await why(dsn, "trial-1", "stopped")
        with pytest.raises(NotFound, match="trial-9: no event"):
            await why(dsn, "trial-9")
        with pytest.raises(InvalidConfig, match="'purple' cannot be asked of trial-1; try one of stopped"):
            await why(dsn, "trial-1", "purple")
        with pytest.raises(InvalidConfig, match="expected one of trial-…"):
            await why(dsn, "banana")
        said: list[str] = []
        await asyncio.to_thread(cli.why, dsn, "trial-1", "waits", say=said.append)
        assert said[0].startswith("trial-1, since then: ")
        assert "asked for by determined" in "\n".join(said)
