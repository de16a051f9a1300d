"""What people read of a search: its trials, checkpoints, agents and files."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.api import a_search
from tests.integration.api.a_search import BEGUN, BEST, DROPPED
from tests.integration.api.running import Client, running


@pytest.fixture
async def someone(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Client]:
    async with running(postgres_dsn) as cluster:
        a_search.keep_files(tmp_path)
        await a_search.tell(cluster, tmp_path)
        yield await cluster.nobody.login("admin")


async def test_a_trial_shows_how_far_it_came_and_what_it_measured(someone: Client) -> None:
    first, second = (await someone.get("/api/v1/experiments/1/trials"))["trials"]
    assert (first["state"], second["state"]) == ("STATE_COMPLETED", "STATE_RUNNING")
    trial = (await someone.get("/api/v1/trials/1"))["trial"]
    assert trial["totalBatchesProcessed"] == 100
    assert trial["bestValidation"]["metrics"]["avgMetrics"] == {"loss": 0.25, "accuracy": 0.75}
    assert trial["bestCheckpoint"]["uuid"] == BEST
    assert (trial["checkpointCount"], trial["totalCheckpointSize"]) == (1, "5")
    assert trial["summaryMetrics"]["validation_metrics"]["loss"]["min"] == 0.25


async def test_an_experiment_shows_its_best(someone: Client) -> None:
    experiment = (await someone.get("/api/v1/experiments/1"))["experiment"]
    assert (experiment["state"], experiment["numTrials"], experiment["trialIds"]) == ("STATE_RUNNING", 2, [1, 2])
    assert (experiment["bestTrialId"], experiment["bestTrialSearcherMetric"]) == (1, 0.25)
    assert experiment["notes"] == "hopeful"
    history = (await someone.get("/api/v1/experiments/1/validation-history"))["validationHistory"]
    assert [entry["searcherMetric"] for entry in history] == [0.5, 0.25]
    path = "/api/v1/experiments/1/searcher/best_searcher_validation_metric"
    assert await someone.get(path) == {"metric": 0.25}


async def test_checkpoints_are_listed_best_first_and_by_state(someone: Client) -> None:
    path = "/api/v1/experiments/1/checkpoints"
    listed = (await someone.get(path, sortByAttr="SORT_BY_SEARCHER_METRIC"))["checkpoints"]
    assert [checkpoint["uuid"] for checkpoint in listed] == [BEST, DROPPED, BEGUN]
    assert [checkpoint["state"] for checkpoint in listed] == ["STATE_COMPLETED", "STATE_DELETED", "STATE_ACTIVE"]
    completed = (await someone.get(path, states="STATE_COMPLETED", limit=1))["checkpoints"]
    assert [checkpoint["uuid"] for checkpoint in completed] == [BEST]
    of_trial = await someone.get("/api/v1/trials/1/checkpoints", sortByMetric="accuracy", orderBy="ORDER_BY_DESC")
    assert [checkpoint["uuid"] for checkpoint in of_trial["checkpoints"]] == [BEST, DROPPED]


async def test_a_checkpoint_says_everything_that_its_download_needs(someone: Client) -> None:
    checkpoint = (await someone.get(f"/api/v1/checkpoints/{BEST}"))["checkpoint"]
    assert checkpoint["resources"] == {"state/": "0", "state/weights": "5"}
    assert checkpoint["metadata"] == {"steps_completed": 100}
    assert checkpoint["training"]["experimentConfig"]["checkpoint_storage"]["type"] == "shared_fs"
    assert checkpoint["training"]["validationMetrics"]["avgMetrics"]["loss"] == 0.25
    assert (checkpoint["training"]["trialId"], checkpoint["training"]["searcherMetric"]) == (1, 0.25)


async def test_a_checkpoint_comes_as_tar_gzip_or_zip(someone: Client) -> None:
    async def fetch(accept: str) -> bytes:
        answer = await someone.call("GET", f"/checkpoints/{BEST}", headers={"Accept": accept})
        assert answer.status == 200, answer.body
        return bytes(answer.body)

    for accept in ("application/x-tar", "application/gzip", "*/*"):
        with tarfile.open(fileobj=io.BytesIO(await fetch(accept))) as archive:
            member = archive.extractfile("state/weights")
            assert member is not None
            assert member.read() == b"12345"
    with zipfile.ZipFile(io.BytesIO(await fetch("application/zip"))) as zipped:
        assert zipped.read("state/weights") == b"12345"
    assert (await someone.call("GET", f"/checkpoints/{BEST}", headers={"Accept": "text/html"})).status == 415
    assert (await someone.call("GET", f"/checkpoints/{BEGUN}")).status == 409
    assert (await someone.call("GET", f"/checkpoints/{DROPPED}")).status == 409


async def test_agents_show_which_slots_are_in_use_and_by_what(someone: Client) -> None:
    [agent] = (await someone.get("/api/v1/agents"))["agents"]
    assert {slot: bool(found["container"]) for slot, found in agent["slots"].items()} == {"0": False, "1": True}
    assert list(agent["containers"]) == ["resources-2"]
    assert agent["slotStats"]["typeStats"]["TYPE_CPU"] == {
        "states": {"STATE_RUNNING": 1},
        "disabled": 0,
        "draining": 0,
        "total": 2,
    }
    [pool] = (await someone.get("/api/v1/resource-pools"))["resourcePools"]
    assert (pool["numAgents"], pool["slotsAvailable"], pool["slotsUsed"]) == (1, 2, 1)


async def test_tasks_and_allocations_tell_how_they_ended(someone: Client) -> None:
    task = (await someone.get("/api/v1/tasks/task-1"))["task"]
    assert task["taskType"] == "TASK_TYPE_TRIAL"
    [allocation] = task["allocations"]
    assert (allocation["state"], allocation["exitReason"], allocation["statusCode"]) == ("STATE_TERMINATED", "done", 0)
    assert (await someone.get("/api/v1/allocations/alloc-2"))["allocation"]["state"] == "STATE_RUNNING"
    assert list((await someone.get("/api/v1/tasks"))["allocationIdToSummary"]) == ["alloc-2"]
