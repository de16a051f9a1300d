"""A search that a client drives over REST: events out, operations in, and a client that is killed in the midst."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from resolute.proto.pool import StartTask
from tests.integration.api.running import PATIENCE_S, Client
from tests.integration.api.whole import Agent, Whole, whole

CONFIG = """
name: driven
entrypoint: python3 train.py
searcher: {name: custom, metric: loss, unit: batches}
resources: {slots_per_trial: 1}
max_restarts: 0
"""

SCRIPT = Path(__file__).with_name("four_points.py")


async def play(cluster: Whole, agent: Agent) -> None:
    """Be every trial: train to each target, say so, and leave when asked."""
    async with asyncio.TaskGroup() as tasks:
        while True:
            order = await agent.orders.get()
            tasks.create_task(train(agent, order, cluster.known_as(order.token)))


async def train(agent: Agent, order: StartTask, trial: Client) -> None:
    await agent.report(order, "started")
    base, done = f"/api/v1/trials/{order.spec.trial_id}/searcher", 0
    while True:
        aim = await trial.get(f"{base}/operation", after=done, timeoutSeconds=5)
        target = int(aim.get("op", {}).get("validateAfter", {}).get("length", 0))
        if target > done and not aim["completed"]:
            metric = 0.1 if order.spec.trial_id == 1 else 0.9
            body = {"op": {"length": str(target)}, "searcherMetric": metric}
            await trial.post(f"{base}/completed_operation", body)
            done = target
        elif aim["preempt"]:
            break
    await trial.post(f"/api/v1/allocations/{order.spec.allocation_id}/signals/ack_preemption")
    await agent.report(order, "exited", exit_code=0)


async def client(cluster: Whole, folder: Path, config: Path) -> Process:
    env = {**os.environ, "DET_MASTER": cluster.nobody.base, "DET_USER": "determined", "DET_PASS": ""}
    return await asyncio.create_subprocess_exec(sys.executable, SCRIPT, folder, config, env=env, stdout=PIPE)


async def killed_after(cluster: Whole, folder: Path, config: Path, events: int) -> None:
    process = await client(cluster, folder, config)
    assert process.stdout is not None
    for _ in range(events):
        assert await asyncio.wait_for(process.stdout.readline(), PATIENCE_S), "it ended by itself"
    process.send_signal(signal.SIGKILL)
    await process.wait()


@pytest.mark.timeout(600)
async def test_a_search_outlives_the_deaths_of_its_client(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    folder, config = tmp_path / "searcher", tmp_path / "config.yaml"
    config.write_text(CONFIG.replace("entrypoint: python3 train.py", "entrypoint: 'true'"))
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        playing = asyncio.create_task(play(cluster, agent))
        try:
            for events in (1, 2, 3):
                await killed_after(cluster, folder, config, events)
            last = await client(cluster, folder, config)
            out, _ = await asyncio.wait_for(last.communicate(), 60)
        finally:
            playing.cancel()
        assert (last.returncode, out.splitlines()[-1]) == (0, b"over")

        async def has_completed() -> bool:
            shown = (await cluster.user.get("/api/v1/experiments/1"))["experiment"]
            return bool(shown["state"] == "STATE_COMPLETED")

        await cluster.until(has_completed)
        shown = (await cluster.user.get("/api/v1/experiments/1"))["experiment"]
        assert (shown["state"], shown["numTrials"], shown["progress"]) == ("STATE_COMPLETED", 4, 1.0)
        assert (await cluster.user.get("/api/v1/experiments"))["pagination"]["total"] == 1
        trials = (await cluster.user.get("/api/v1/experiments/1/trials"))["trials"]
        assert [trial["state"] for trial in trials] == ["STATE_COMPLETED"] * 4
        [method] = folder.glob("event-*/method/method.json")
        heard = Counter(line.split()[0] for line in json.loads(method.read_text())["heard"])
        assert heard == {"initial": 1, "created": 4, "validated": 5, "closed": 4}


async def test_an_event_is_told_until_it_is_answered_and_an_answer_counts_once(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await cluster.submit(config=CONFIG)
        path = "/api/v1/experiments/1"

        async def events(**query: Any) -> list[Any]:
            found: list[Any] = (await cluster.user.get(f"{path}/searcher_events", **query))["searcherEvents"]
            return found

        [first] = await events()
        assert first == {"id": 1, "initialOperations": {}}
        assert await events() == [first]
        assert await events(after=1) == []
        request = str(uuid4())
        body = {
            "searcherOperations": [
                {"createTrial": {"requestId": request, "hyperparams": '{"global_batch_size": 4}'}},
                {"trialOperation": {"validateAfter": {"requestId": request, "length": "10"}}},
            ],
            "triggeredByEvent": first,
        }
        waiting = asyncio.create_task(events(after=1, timeoutSeconds=60))
        for _ in range(2):
            await cluster.user.post(f"{path}/searcher_operations", body)
        [created] = await asyncio.wait_for(waiting, PATIENCE_S)
        assert created["trialCreated"] == {"requestId": request}
        assert created["id"] > first["id"]
        [trial] = (await cluster.user.get(f"{path}/trials"))["trials"]
        assert trial["hparams"] == {"global_batch_size": 4}
        await cluster.stop("api")
        await cluster.start_gateway()  # it remembers nothing, and the log everything
        assert await events() == [created]


async def test_what_makes_no_sense_is_refused_with_its_field_and_nothing_of_it_is_done(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await cluster.submit(config=CONFIG)
        request = str(uuid4())
        create = {"createTrial": {"requestId": request, "hyperparams": "{}"}}
        for operations, status, message in (
            ([{"explode": {}}], 400, "searcherOperations[0]: expected an object with one of createTrial"),
            ([{"createTrial": {"requestId": "x", "hyperparams": "{}"}}], 400, "request_id: expected a UUID"),
            ([{"createTrial": {"requestId": request, "hyperparams": "{"}}], 400, "hyperparams: expected a JSON"),
            ([create, {"closeTrial": {"requestId": str(uuid4())}}], 400, "no trial"),
            ([create, {"trialOperation": {"validateAfter": {"requestId": request, "length": "0"}}}], 400, "length"),
        ):
            answer = await cluster.user.call(
                "POST", "/api/v1/experiments/1/searcher_operations", {"searcherOperations": operations}
            )
            assert (answer.status, message in answer.error) == (status, True), answer.body
        for event_id in (99, -1):  # an answer to what has not happened would silence the answers to come
            body = {"searcherOperations": [create], "triggeredByEvent": {"id": event_id}}
            answer = await cluster.user.call("POST", "/api/v1/experiments/1/searcher_operations", body)
            assert (answer.status, f"no event {event_id} happened" in answer.error) == (400, True), answer.body
        assert (await cluster.user.get("/api/v1/experiments/1"))["experiment"]["numTrials"] == 0
        await cluster.submit()
        for method, path in (("GET", "searcher_events"), ("POST", "searcher_operations")):
            answer = await cluster.user.call(method, f"/api/v1/experiments/2/{path}")
            assert (answer.status, "custom" in answer.error) == (409, True), answer.body
        assert (await cluster.user.call("GET", "/api/v1/experiments/99/searcher_events")).status == 404
