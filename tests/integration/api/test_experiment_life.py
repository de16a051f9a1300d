"""An experiment's life beyond its first end, and while it runs: continued, edited, moved to another pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resolute.proto.checkpoint import CheckpointFilesRemoved
from resolute.proto.pool import AllocationRequested, JobChanged, StartTask
from tests.integration.api.running import Client
from tests.integration.api.test_experiments import TRAIN
from tests.integration.api.whole import CONFIG, Agent, Whole, whole

UUID = "3f1b1f0e-5b0a-4a39-9f6b-0f6f7f0f9a01"


async def save(trial: Client, order: StartTask, uuid: str, steps: int) -> None:
    body = {
        "uuid": uuid,
        "taskId": order.spec.task_id,
        "allocationId": order.spec.allocation_id,
        "metadata": {"steps_completed": steps},
        "resources": {"weights": "3"},
    }
    for state in ("STATE_ACTIVE", "STATE_COMPLETED"):
        await trial.post("/api/v1/checkpoints", {**body, "state": state})


async def state(cluster: Whole, experiment_id: int = 1) -> str:
    shown = (await cluster.user.get(f"/api/v1/experiments/{experiment_id}"))["experiment"]
    return str(shown["state"])


async def ended(cluster: Whole, wanted: str) -> None:
    async def is_it() -> bool:
        return await state(cluster) == wanted

    await cluster.until(is_it)


async def failed_after_a_checkpoint(cluster: Whole) -> Agent:
    """Experiment 1 has ended by the failure of its trial, which had stored a checkpoint; the agent that ran it."""
    agent = await cluster.agent()
    await cluster.submit()
    order, trial = await cluster.task(agent)
    await save(trial, order, UUID, 40)
    await agent.report(order, "exited", exit_code=1)
    await ended(cluster, "STATE_ERROR")
    return agent


async def test_a_trial_that_failed_goes_on_from_its_checkpoint_under_the_same_numbers(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await failed_after_a_checkpoint(cluster)

        body = {"id": 1, "overrideConfig": "max_restarts: 3\nname: once more\n"}
        shown = (await cluster.user.post("/api/v1/experiments/continue", body))["experiment"]
        assert (shown["id"], shown["name"], shown.get("endTime")) == (1, "once more", None)
        assert (shown["config"]["max_restarts"], shown["numTrials"]) == (3, 1)

        order, _ = await cluster.task(agent)
        spec = order.spec
        assert (spec.trial_id, spec.run_id, spec.checkpoint, spec.steps_completed) == (1, 2, UUID, 40)
        seen = (await cluster.user.get("/api/v1/trials/1"))["trial"]
        assert seen["state"] in ("STATE_QUEUED", "STATE_STARTING", "STATE_RUNNING")
        assert (seen["restarts"], seen.get("stateReason")) == (0, None)
        await agent.report(order, "exited", exit_code=0)
        await ended(cluster, "STATE_COMPLETED")


async def test_what_cannot_be_continued_is_refused_and_stays_as_it_is(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, _ = await cluster.task(agent)

        async def refused(status: int, text: str = "") -> str:
            body = {"id": 1, "overrideConfig": text}
            answer = await cluster.user.call("POST", "/api/v1/experiments/continue", body)
            assert answer.status == status, answer.body
            return answer.error

        assert "it is ACTIVE; wait until it has ended, or cancel it first" in await refused(409)
        await agent.report(order, "exited", exit_code=1)
        await ended(cluster, "STATE_ERROR")
        assert "searcher.metric: cannot change" in await refused(400, "searcher: {metric: other}")
        assert "max_restarts" in await refused(400, "max_restarts: many")
        assert "no pool 'attic'" in await refused(400, "resources: {resource_pool: attic}")
        await cluster.user.post("/api/v1/experiments/1/archive")
        assert "unarchive it first" in await refused(409)
        assert await state(cluster) == "STATE_ERROR"
        nobody = await cluster.user.call("POST", "/api/v1/experiments/continue", {"id": 77})
        assert nobody.status == 404


async def test_an_edit_of_a_running_experiment_reaches_the_queue_and_a_wrong_one_nothing(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await cluster.submit()

        async def patch(**changes: Any) -> Any:
            return await cluster.user.call("PATCH", "/api/v1/experiments/1", changes)

        for resources in ({"priority": 7}, {"weight": 2.5}, {"maxSlots": 3}):
            assert (await patch(resources=resources)).status == 200
        assert (await patch(maxRestarts=4)).status == 200

        async def told() -> bool:
            return len(await cluster.told(JobChanged)) == 3

        await cluster.until(told)
        changes = [event.changes for event in await cluster.told(JobChanged)]
        assert changes == [{"priority": 7}, {"weight": 2.5}, {"max_slots": 3}]
        for wrong, message in (
            ({"resources": {"weight": -1}}, "resources.weight: expected a number above 0, at most 1,000,000; found -1"),
            (
                {"resources": {"priority": 100}},
                "resources.priority: expected a whole number from 1 (first) to 99 (last); found 100",
            ),
            (
                {"resources": {"priority": 0}},
                "resources.priority: expected a whole number from 1 (first) to 99 (last); found 0",
            ),
            ({"resources": {"maxSlots": -2}}, "resources.maxSlots: expected a whole number from 0"),
            ({"maxRestarts": -1}, "maxRestarts: expected a whole number from 0"),
            ({"resources": {"resourcePool": "attic"}}, "resources.resourcePool: no pool 'attic'"),
        ):
            answer = await patch(**wrong)
            assert (answer.status, message in answer.error) == (400, True), answer.body
        config = (await cluster.user.get("/api/v1/experiments/1"))["experiment"]["config"]
        assert config["max_restarts"] == 4
        assert {key: config["resources"][key] for key in ("priority", "weight", "max_slots")} == {
            "priority": 7,
            "weight": 2.5,
            "max_slots": 3,
        }


async def test_logs_are_kept_as_long_as_was_said_last(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await cluster.submit()
        path = "/api/v1/experiments/1/retain_logs"
        assert (await cluster.user.call("PUT", path, {"experimentId": 1, "numDays": 9})).status == 200
        answer = await cluster.user.call("PUT", path, {"experimentId": 1, "numDays": -2})
        assert (answer.status, "log_retention_days" in answer.error) == (400, True)
        config = (await cluster.user.get("/api/v1/experiments/1"))["experiment"]["config"]
        assert config["retention_policy"] == {"log_retention_days": 9}
        many = "/api/v1/projects/1/experiments/retain_logs"
        body = {"projectId": 1, "experimentIds": [1, 77], "numDays": -1}
        results = (await cluster.user.call("PUT", many, body)).body["results"]
        assert [(one["id"], bool(one["error"])) for one in results] == [(1, False), (77, True)]


async def test_experiments_move_together_and_not_into_what_is_archived(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await cluster.submit()
        place = (await cluster.user.post("/api/v1/workspaces", {"name": "ours"}))["workspace"]["id"]
        body = {"name": "elsewhere", "workspaceId": place}
        project = await cluster.user.post(f"/api/v1/workspaces/{place}/projects", body)
        there = int(project["project"]["id"])
        move: dict[str, Any] = {"projectId": 1, "experimentIds": [1], "destinationProjectId": there}
        results = (await cluster.user.post("/api/v1/projects/1/experiments/move", move))["results"]
        assert results == [{"id": 1, "error": ""}]
        assert (await cluster.user.get("/api/v1/experiments/1"))["experiment"]["projectId"] == there
        nowhere = {**move, "destinationProjectId": 99}
        assert (await cluster.user.call("POST", "/api/v1/projects/1/experiments/move", nowhere)).status == 404


async def test_a_pool_switch_asks_in_the_new_pool_when_the_old_run_has_exited(
    postgres_dsn: str, nats_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESOLUTE_SCHEDULER_POOLS", "default,attic")
    pools: Any = ({"pool_name": "default"}, {"pool_name": "attic"})
    async with whole(postgres_dsn, nats_url, tmp_path, pools=pools) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        await cluster.user.call("PATCH", "/api/v1/experiments/1", {"resources": {"resourcePool": "attic"}})
        signal = f"/api/v1/allocations/{order.spec.allocation_id}/signals/preemption"

        async def asked_to_leave() -> bool:
            return bool((await trial.get(signal, timeoutSeconds=0))["preempt"])

        await cluster.until(asked_to_leave)
        assert len(await cluster.told(AllocationRequested)) == 1
        await trial.post(f"/api/v1/allocations/{order.spec.allocation_id}/signals/ack_preemption")
        await agent.report(order, "exited", exit_code=0)

        async def asked_again() -> bool:
            return len(await cluster.told(AllocationRequested)) == 2

        await cluster.until(asked_again)
        requested = [
            r.stream for r in await cluster.log.read_all(0, 10_000) if isinstance(r.event, AllocationRequested)
        ]
        assert requested == ["pool-default", "pool-attic"]


async def test_a_trial_that_begins_from_anothers_checkpoint_may_read_it_and_not_change_it(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        await save(trial, order, UUID, 40)
        await agent.report(order, "exited", exit_code=0)
        await ended(cluster, "STATE_COMPLETED")

        config = CONFIG % 1
        fork = {"config": config.replace("name: single", "name: single, source_trial_id: 1"), "parentId": 1}
        shown = (await cluster.user.post("/api/v1/experiments", {**fork, "activate": True}))["experiment"]
        assert (shown["id"], shown["forkedFrom"]) == (2, 1)
        order, trial = await cluster.task(agent)
        assert (order.spec.experiment_id, order.spec.checkpoint, order.spec.steps_completed) == (2, UUID, 0)
        path = f"/api/v1/checkpoints/{UUID}"
        assert (await trial.get(path))["checkpoint"]["metadata"] == {"steps_completed": 40}
        answer = await trial.call("POST", f"{path}/metadata", {"checkpoint": {"metadata": {"mine": 1}}})
        assert answer.status == 403
        removal = {"checkpoints": [{"uuid": UUID, "resources": {"resources": {}}}]}
        assert (await trial.call("PATCH", "/api/v1/checkpoints", removal)).status == 403
        stranger = await cluster.agent()
        await cluster.submit()
        _, other = await cluster.task(stranger)
        assert (await other.call("GET", path)).status == 403


async def test_a_preview_of_a_retention_policy_names_what_it_would_delete_and_deletes_nothing(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await failed_after_a_checkpoint(cluster)
        path = "/experiments/1/preview_gc"
        for _ in range(2):
            preview = await cluster.user.get(path)
            (doomed,) = preview["checkpoints"]
            assert (doomed["uuid"], doomed["state"], doomed["resources"]) == (UUID, "STATE_COMPLETED", {"weights": "3"})
            assert preview["metric_name"] == "loss"
        assert (await cluster.user.get(path, saveTrialLatest=1))["checkpoints"] == []


async def test_a_checkpoint_that_was_deleted_is_no_beginning(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await failed_after_a_checkpoint(cluster)
        await cluster.user.call("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [UUID]})
        config = (CONFIG % 1).replace("name: single", f"name: single, source_checkpoint_uuid: {UUID}")
        answer = await cluster.user.call("POST", "/api/v1/experiments", {"config": config, "modelDefinition": TRAIN})
        assert (answer.status, answer.error.startswith("searcher.source_checkpoint_uuid: expected")) == (400, True)

        await cluster.user.post("/api/v1/experiments/continue", {"id": 1})
        order, _ = await cluster.task(agent)
        assert (order.spec.checkpoint, order.spec.steps_completed) == (None, 0)


async def test_removing_files_by_a_hostile_pattern_is_answered_at_once_and_hurts_nobody(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        await failed_after_a_checkpoint(cluster)
        (tmp_path / UUID).mkdir()
        (tmp_path / UUID / ("a" * 100)).touch()
        evil = {"checkpointUuids": [UUID], "checkpointGlobs": ["*a" * 12 + "b"]}
        await cluster.user.post("/api/v1/checkpoints/rm", evil)

        async def noted() -> bool:
            return bool(await cluster.told(CheckpointFilesRemoved))

        await cluster.until(noted)
        assert (tmp_path / UUID / ("a" * 100)).exists()
        assert await state(cluster) == "STATE_ERROR"
