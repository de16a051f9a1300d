"""Experiments over REST, with the real searcher, scheduler and checkpoint store behind the gateway."""

from __future__ import annotations

import asyncio
import base64
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

import resolute.checkpoint.shell as checkpoint
import resolute.searcher.shell as searcher
from resolute.api.queue import agreement
from resolute.proto.errors import Unavailable
from resolute.proto.experiment import EditExperiment
from resolute.proto.message import Cause, Command, Reply
from resolute.proto.pool import ChangeJob, MoveJob
from tests.integration.api import a_search
from tests.integration.api.running import Client, running

CONFIG = """
name: digits
description: how well does it read
labels: [mnist, first]
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
hyperparameters: {lr: {type: log, minval: -3, maxval: -1, base: 10}}
resources: {slots_per_trial: 1}
"""


def files(**contents: str) -> list[dict[str, Any]]:
    return [
        {
            "path": path.replace("__", "/"),
            "type": 48,
            "content": base64.b64encode(text.encode()).decode(),
            "mode": 420,
            "mtime": "1700000000",
            "uid": 0,
            "gid": 0,
        }
        for path, text in contents.items()
    ]


TRAIN = files(**{"train.py": "print('hello')", "lib__net.py": "x = 1"})


async def submit(client: Client, config: str = CONFIG, **more: Any) -> dict[str, Any]:
    body = {"config": config, "modelDefinition": TRAIN, "activate": True, "parentId": None, **more}
    answer: dict[str, Any] = await client.post("/api/v1/experiments", body)
    return answer


async def test_what_was_submitted_is_there_when_the_answer_comes(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        created = (await submit(someone))["experiment"]
        assert (created["id"], created["name"], created["username"]) == (1, "digits", "determined")
        assert created["labels"] == ["first", "mnist"]
        [listed] = (await someone.get("/api/v1/experiments", archived="false", users="determined"))["experiments"]
        assert listed["id"] == created["id"]
        [trial] = (await someone.get("/api/v1/experiments/1/trials"))["trials"]
        assert (trial["experimentId"], trial["state"], trial["restarts"]) == (1, "STATE_QUEUED", 0)
        assert 0.001 <= trial["hparams"]["lr"] <= 0.1
        assert (await someone.get(f"/api/v1/trials/{trial['id']}"))["trial"]["taskId"] == trial["taskId"]


async def test_a_wrong_configuration_is_refused_with_the_path_and_creates_nothing(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        wrong = CONFIG.replace("slots_per_trial: 1", "slots_per_trial: many")
        answer = await someone.call("POST", "/api/v1/experiments", {"config": wrong, "modelDefinition": TRAIN})
        assert (answer.status, answer.body["error"]["reason"]) == (400, "InvalidArgument")
        assert "resources.slots_per_trial" in answer.error
        missing = CONFIG.replace("train.py", "gone.py")
        answer = await someone.call("POST", "/api/v1/experiments", {"config": missing, "modelDefinition": TRAIN})
        assert (answer.status, "gone.py" in answer.error) == (400, True)
        assert (await someone.get("/api/v1/experiments"))["pagination"]["total"] == 0


async def test_a_pool_that_is_not_there_is_refused_and_one_without_agents_is_shown(postgres_dsn: str) -> None:
    async with running(postgres_dsn, pools=("default", "gpu"), services=(searcher.serve,)) as cluster:
        someone = await cluster.nobody.login("determined")
        elsewhere = CONFIG.replace("slots_per_trial: 1", "slots_per_trial: 1, resource_pool: tpu")
        answer = await someone.call("POST", "/api/v1/experiments", {"config": elsewhere, "modelDefinition": TRAIN})
        assert (answer.status, answer.error) == (400, "resources.resource_pool: no pool 'tpu'; there are default, gpu")
        created = await someone.post("/api/v1/experiments", {"config": CONFIG, "modelDefinition": TRAIN})
        patch = {"resources": {"resourcePool": "tpu"}}
        answer = await someone.call("PATCH", f"/api/v1/experiments/{created['experiment']['id']}", patch)
        assert (answer.status, answer.error) == (400, "resources.resourcePool: no pool 'tpu'; there are default, gpu")
        pools = (await someone.get("/api/v1/resource-pools"))["resourcePools"]
        assert [(pool["name"], pool["numAgents"]) for pool in pools] == [("default", 0), ("gpu", 0)]


async def test_a_storage_that_nobody_can_open_is_refused(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        config = CONFIG + "checkpoint_storage: {type: s3, bucket: models}\n"
        answer = await someone.call("POST", "/api/v1/experiments", {"config": config, "modelDefinition": TRAIN})
        assert answer.status == 400
        assert answer.error.startswith("checkpoint_storage.type: expected shared_fs or directory")


async def test_a_trial_to_start_from_becomes_its_latest_checkpoint(postgres_dsn: str, tmp_path: Path) -> None:
    here = {"type": "shared_fs", "host_path": str(tmp_path)}
    async with running(postgres_dsn, services=(checkpoint.serve,), checkpoint_storage=here) as cluster:
        await a_search.tell(cluster, tmp_path)
        someone = await cluster.nobody.login("determined")

        async def starts_from(source: str, storage: str = "") -> Any:
            config = CONFIG.replace("batches: 100}", f"batches: 100}}, {source}") + storage
            body = {"config": config, "modelDefinition": TRAIN, "validateOnly": True}
            answer = await someone.call("POST", "/api/v1/experiments", body)
            return answer.body["config"]["searcher"] if answer.status == 200 else (answer.status, answer.error)

        searcher = await starts_from("source_trial_id: 1")
        assert (searcher["source_checkpoint_uuid"], searcher.get("source_trial_id")) == (a_search.BEST, None)
        searcher = await starts_from(f"source_checkpoint_uuid: {a_search.BEST}")
        assert searcher["source_checkpoint_uuid"] == a_search.BEST
        path = "searcher.source_trial_id"
        status, says = await starts_from("source_trial_id: 1", "checkpoint_storage: {host_path: /elsewhere}\n")
        assert (status, says.startswith(f"{path}: checkpoint"), "lies in another storage" in says) == (400, True, True)
        assert await starts_from("source_trial_id: 77") == (404, f"{path}: trial 77 not found")
        none = f"{path}: expected a trial with a completed checkpoint; found 2, which has none"
        assert await starts_from("source_trial_id: 2") == (400, none)
        status, says = await starts_from(f"source_checkpoint_uuid: {a_search.BEGUN}")
        assert (status, says.endswith("which is ACTIVE")) == (400, True)
        status, says = await starts_from("source_checkpoint_uuid: 44444444-4444-4444-8444-444444444444")
        assert (status, says.startswith("searcher.source_checkpoint_uuid: checkpoint")) == (404, True)


async def test_checking_only_creates_nothing(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        checked = await submit(someone, validateOnly=True)
        assert checked["config"]["searcher"]["metric"] == "loss"
        assert (await someone.get("/api/v1/experiments"))["experiments"] == []


async def test_a_life_in_verbs(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone, activate=False)

        async def state() -> str:
            return str((await someone.get("/api/v1/experiments/1"))["experiment"]["state"])

        assert await state() == "STATE_PAUSED"
        await someone.post("/api/v1/experiments/1/activate")
        assert await state() == "STATE_QUEUED"
        assert (await someone.call("POST", "/api/v1/experiments/1/archive")).status == 409
        await someone.post("/api/v1/experiments/1/pause")
        assert await state() == "STATE_PAUSED"
        await someone.post("/api/v1/experiments/1/kill")
        await cluster.until(state, "STATE_CANCELED")
        await someone.post("/api/v1/experiments/1/archive")
        assert (await someone.get("/api/v1/experiments", archived="false"))["experiments"] == []
        await someone.post("/api/v1/experiments/1/unarchive")
        assert (await someone.call("POST", "/api/v1/experiments/77/pause")).status == 404
        assert (await someone.call("DELETE", "/api/v1/experiments/1")).status == 200


async def test_what_somebody_else_has_made_only_an_administrator_deletes(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        admin, owner = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        await admin.post(
            "/api/v1/users", {"user": {"username": "bob", "active": True, "admin": False}, "password": "s"}
        )
        bob = await cluster.nobody.login("bob", "s")
        for _ in range(2):
            await submit(owner, activate=False)
        for experiment_id in (1, 2):
            await owner.post(f"/api/v1/experiments/{experiment_id}/kill")
        answer = await bob.call("DELETE", "/api/v1/experiments/1")
        refusal = "this belongs to another user: only its owner, or an administrator, may do that"
        assert (answer.status, answer.error) == (403, refusal)
        answer = await bob.call("DELETE", "/api/v1/projects/1/experiments/delete", {"experimentIds": [1]})
        assert answer.body == {"results": [{"id": 1, "error": refusal}]}
        assert (await owner.get("/api/v1/experiments/1"))["experiment"]["id"] == 1
        assert (await admin.call("DELETE", "/api/v1/experiments/1")).status == 200
        assert (await owner.call("DELETE", "/api/v1/experiments/2")).status == 200


async def test_a_patch_leaves_alone_what_is_null(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone, activate=False)
        patch = {"id": 1, "description": None, "labels": ["foo"], "name": "renamed", "notes": None}
        await someone.call("PATCH", "/api/v1/experiments/1", patch)
        await someone.call("PATCH", "/api/v1/experiments/1", {"id": 1, "resources": {"maxSlots": 2}})
        await someone.call("PATCH", "/api/v1/experiments/1", {"id": 1, "maxRestarts": 7})
        experiment = (await someone.get("/api/v1/experiments/1"))["experiment"]
        assert (experiment["name"], experiment["labels"]) == ("renamed", ["foo"])
        assert experiment["description"] == "how well does it read"
        assert experiment["config"]["resources"]["max_slots"] == 2
        assert experiment["config"]["max_restarts"] == 7
        answer = await someone.call("PUT", "/api/v1/experiments/1/labels/a/b")
        assert answer.body["labels"] == ["a/b", "foo"]
        assert (await someone.get("/api/v1/experiment/labels"))["labels"] == ["a/b", "foo"]


async def test_labels_that_two_people_change_at_once_are_all_changed(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        ada, bob = [await cluster.nobody.login(name) for name in ("admin", "determined")]
        await submit(ada, activate=False)
        before = (await ada.get("/api/v1/experiments/1"))["experiment"]["labels"]
        labels = "/api/v1/experiments/1/labels"
        asked = [
            *(ada.call("PUT", f"{labels}/ada-{n}") for n in range(8)),
            *(bob.call("PUT", f"{labels}/bob-{n}") for n in range(8)),
            *(ada.call("DELETE", f"{labels}/{label}") for label in before),
        ]
        assert before
        assert {answer.status for answer in await asyncio.gather(*asked)} == {200}
        experiment = (await bob.get("/api/v1/experiments/1"))["experiment"]
        assert experiment["labels"] == [f"{name}-{n}" for name in ("ada", "bob") for n in range(8)]
        assert experiment["config"]["labels"] == experiment["labels"]


async def test_a_limit_of_slots_is_taken_away_by_null(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone)

        async def limit() -> Any:
            return await cluster.gateway.read.value("SELECT coalesce(max_slots, -1) FROM read_tasks.allocations")

        await someone.call("PATCH", "/api/v1/experiments/1", {"id": 1, "resources": {"maxSlots": 2}})
        await cluster.until(limit, 2)
        answer = await someone.call("PATCH", "/api/v1/experiments/1", {"id": 1, "resources": {"maxSlots": None}})
        assert answer.body["experiment"]["config"]["resources"]["max_slots"] is None
        await cluster.until(limit, -1)


async def test_the_code_comes_back_as_it_went_in(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone, activate=False)
        encoded = (await someone.get("/api/v1/experiments/1/model_def"))["b64Tgz"]
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(encoded)), mode="r:gz") as archive:
            assert sorted(archive.getnames()) == ["lib/net.py", "train.py"]
        tree = (await someone.get("/api/v1/experiments/1/file_tree"))["files"]
        assert [(node["path"], node["isDir"]) for node in tree] == [("lib", True), ("train.py", False)]
        file = await someone.post("/api/v1/experiments/1/file", {"experimentId": 1, "path": "lib/net.py"})
        assert base64.b64decode(file["file"]) == b"x = 1"
        plain = await someone.call("GET", "/experiments/1/model_def")
        assert plain.headers["Content-Disposition"].endswith('exp1_digits_model_def.tar.gz"')


async def test_a_fork_takes_its_parents_code(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone, activate=False)
        fork = (await submit(someone, activate=False, parentId=1, modelDefinition=[]))["experiment"]
        assert fork["forkedFrom"] == 1
        first = await someone.get("/api/v1/experiments/1/model_def")
        assert await someone.get(f"/api/v1/experiments/{fork['id']}/model_def") == first


async def test_an_experiment_may_come_without_files_and_so_may_its_fork(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        first = (await submit(someone, modelDefinition=[]))["experiment"]
        fork = (await submit(someone, activate=False, parentId=first["id"], modelDefinition=[]))["experiment"]
        for each in (first, fork):
            answer = await someone.call("GET", f"/api/v1/experiments/{each['id']}/model_def")
            assert (answer.status, "was submitted without a model definition" in answer.error) == (404, True)
        [trial] = (await someone.get(f"/api/v1/experiments/{first['id']}/trials"))["trials"]
        assert (await someone.get(f"/api/v1/tasks/{trial['taskId']}/context_directory"))["b64Tgz"] == ""
        launcher = CONFIG.replace("python3 train.py", "python3 -m determined.launch.slurm -- train.py")
        answer = await someone.call("POST", "/api/v1/experiments", {"config": launcher})
        assert (answer.status, "expected a launcher of this release" in answer.error) == (400, True)


async def test_settings_that_nothing_comes_of_are_told_beside_what_clients_know(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True, task_runtime="process") as cluster:
        someone = await cluster.nobody.login("determined")
        extra = "environment: {image: 'python:3.11'}\noptimizations: {mixed_precision: O1}\n"
        for more in ({"validateOnly": True}, {}):
            answer = await submit(someone, CONFIG + extra, modelDefinition=[], **more)
            assert [line.partition(":")[0] for line in answer["configWarnings"]] == [
                "optimizations.mixed_precision", "environment.image", "entrypoint",
            ]  # fmt: skip
            assert answer["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]  # the words that clients know
        assert (await submit(someone))["configWarnings"] == []


async def test_what_there_is_is_told_in_the_wires_words(postgres_dsn: str, tmp_path: Path) -> None:
    here = {"type": "shared_fs", "host_path": str(tmp_path)}
    async with running(postgres_dsn, services=(checkpoint.serve,), checkpoint_storage=here) as cluster:
        await a_search.tell(cluster, tmp_path)
        someone = await cluster.nobody.login("determined")
        assert "sso_providers" not in await cluster.nobody.get("/info")
        [agent] = (await someone.get("/api/v1/agents"))["agents"]
        assert (agent["version"], agent["release"]) == ("0.38.1", "1.2.3")
        found = (await someone.get("/api/v1/experiments/1/checkpoints"))["checkpoints"]
        places = {checkpoint["storageId"] for checkpoint in found}
        assert len(places) == 1
        assert 0 < places.pop() < 2**31
        gone = next(checkpoint for checkpoint in found if checkpoint["uuid"] == a_search.DROPPED)
        assert (gone["state"], gone["resources"]) == ("STATE_DELETED", {})


async def test_without_globs_the_files_of_a_checkpoint_are_looked_for_again(postgres_dsn: str, tmp_path: Path) -> None:
    here = {"type": "shared_fs", "host_path": str(tmp_path)}
    async with running(postgres_dsn, services=(checkpoint.serve,), checkpoint_storage=here) as cluster:
        await a_search.tell(cluster, tmp_path)
        a_search.keep_files(tmp_path)
        admin = await cluster.nobody.login("admin")
        path, body = f"/api/v1/checkpoints/{a_search.BEST}", {"checkpointUuids": [a_search.BEST]}
        await admin.post("/api/v1/checkpoints/rm", {**body, "checkpointGlobs": []})
        whole = (await admin.get(path))["checkpoint"]
        assert (whole["state"], set(whole["resources"])) == ("STATE_COMPLETED", {"state/", "state/weights"})
        (tmp_path / a_search.BEST / "state" / "notes").write_text("more")
        (tmp_path / a_search.BEST / "state" / "weights").unlink()
        await admin.post("/api/v1/checkpoints/rm", body)
        left = (await admin.get(path))["checkpoint"]
        assert (left["state"], set(left["resources"])) == ("STATE_PARTIALLY_DELETED", {"state/", "state/notes"})


async def test_lists_are_paged_from_either_end(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        for _ in range(5):
            await submit(someone, activate=False)

        async def page(**query: Any) -> tuple[list[int], dict[str, int]]:
            answer = await someone.get("/api/v1/experiments", **query)
            return [experiment["id"] for experiment in answer["experiments"]], answer["pagination"]

        assert await page(limit=2, offset=1) == (
            [2, 3],
            {"offset": 1, "limit": 2, "startIndex": 1, "endIndex": 3, "total": 5},
        )
        assert (await page(offset=-2))[0] == [4, 5]
        assert (await page(orderBy="ORDER_BY_DESC", sortBy="SORT_BY_ID", limit=1))[0] == [5]
        assert (await page(limit=-2))[0] == []
        assert (await page(**{"experimentIdFilter.gt": 3}))[0] == [4, 5]
        assert (await page(name="dig", labels="mnist"))[1]["total"] == 5
        answer = await someone.call("GET", "/api/v1/experiments", params={"sortBy": "SORT_BY_LUCK"})
        assert answer.status == 400


async def test_a_whole_project_is_steered_at_once(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        for _ in range(2):
            await submit(someone, activate=False)
        body = {"projectId": 1, "experimentIds": [1, 2, 9]}
        results = (await someone.post("/api/v1/projects/1/experiments/kill", body))["results"]
        assert [(result["id"], bool(result["error"])) for result in results] == [(1, False), (2, False), (9, True)]


async def test_an_action_on_many_finds_by_filters_what_it_is_meant_for(postgres_dsn: str) -> None:
    """Filters that name no states: activate finds the paused, pause the active, kill what has not ended, and so on."""
    many = "/api/v1/projects/1/experiments"
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        for activate in (False, True, False):
            await submit(someone, activate=activate)

        async def acted_on(verb: str, **filters: Any) -> list[int]:
            results = (await someone.post(f"{many}/{verb}", {"filters": filters}))["results"]
            assert [result["error"] for result in results] == [""] * len(results), (verb, results)
            return [result["id"] for result in results]

        async def first() -> str:
            return str((await someone.get("/api/v1/experiments/1"))["experiment"]["state"])

        async def states() -> set[str]:
            return {found["state"] for found in (await someone.get("/api/v1/experiments"))["experiments"]}

        await someone.post("/api/v1/experiments/3/kill")
        assert await acted_on("activate") == [1]
        assert await acted_on("pause") == [1, 2]
        assert await acted_on("pause") == []
        assert await acted_on("kill", excludedExperimentIds=[2]) == [1]
        await cluster.until(first, "STATE_CANCELED")  # while it still stops, it may be canceled once more
        assert await acted_on("cancel") == [2]
        await cluster.until(states, {"STATE_CANCELED"})
        assert await acted_on("cancel") == []
        assert await acted_on("archive", excludedExperimentIds=[3]) == [1, 2]
        assert await acted_on("archive") == [3]
        assert await acted_on("kill", states=["STATE_CANCELED"]) == []
        named = (await someone.post(f"{many}/kill", {"experimentIds": [1], "filters": {}}))["results"]
        assert named == [{"id": 1, "error": "experiment 1 not found: it is archived; unarchive it first"}]
        assert await acted_on("unarchive") == [1, 2, 3]
        assert await acted_on("kill", states=["STATE_CANCELED"]) == [1, 2, 3]


@pytest.mark.parametrize("path", ["/api/v1/experiments/5", "/api/v1/trials/5", "/api/v1/checkpoints/nope"])
async def test_what_does_not_exist_is_not_found(postgres_dsn: str, path: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        answer = await someone.call("GET", path)
        assert (answer.status, answer.body["error"]["code"]) == (404, 5)


async def test_the_queue_tells_what_waits_and_the_cluster_what_it_has(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        await submit(someone)
        await submit(someone)

        async def waiting() -> int:
            return len((await someone.get("/api/v1/job-queues-v2"))["jobs"])

        await cluster.until(waiting, 2)
        jobs = [job["full"] for job in (await someone.get("/api/v1/job-queues-v2"))["jobs"]]
        assert [job["summary"]["jobsAhead"] for job in jobs] == [0, 1]
        [pool] = (await someone.get("/api/v1/resource-pools"))["resourcePools"]
        assert (pool["name"], pool["stats"]) == ("default", {"queuedCount": 2, "scheduledCount": 0})
        assert len((await someone.get("/api/v1/tasks"))["allocationIdToSummary"]) == 2
        assert (await someone.get("/api/v1/agents"))["agents"] == []
        assert (await someone.call("POST", "/api/v1/agents/a/enable")).status == 403


async def test_of_two_priorities_set_at_once_the_queue_goes_by_the_one_that_stays(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool is asked for the first only after the configuration has the second."""
    async with running(postgres_dsn, services=True) as cluster:
        ada, bob = [await cluster.nobody.login(name) for name in ("admin", "determined")]
        job_id = (await submit(ada))["experiment"]["jobId"]

        async def priority() -> Any:
            return await cluster.gateway.read.value("SELECT coalesce(min(priority), -1) FROM read_tasks.allocations")

        await cluster.until(priority, 42)
        on_its_way, second_is_decided = asyncio.Event(), asyncio.Event()
        request = cluster.bus.request

        async def late(command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
            if isinstance(command, ChangeJob) and command.changes == {"priority": 10}:
                on_its_way.set()
                await second_is_decided.wait()
            reply = await request(command, cause, timeout_s)
            if isinstance(command, EditExperiment) and command.changes == {"priority": 20}:
                second_is_decided.set()
            return reply

        monkeypatch.setattr(cluster.bus, "request", late)

        async def put(someone: Client, value: int) -> None:
            await someone.post("/api/v1/job-queues", {"updates": [{"jobId": job_id, "priority": value}]})

        async with asyncio.TaskGroup() as group:
            group.create_task(put(ada, 10))
            await on_its_way.wait()
            group.create_task(put(bob, 20))
        assert await priority() == 20
        assert (await ada.get("/api/v1/experiments/1"))["experiment"]["config"]["resources"]["priority"] == 20


async def test_each_change_of_an_experiment_is_one_command_and_the_owners_tell_each_other_the_rest(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        first, second = [(await submit(someone))["experiment"]["jobId"] for _ in range(2)]

        async def waiting() -> int:
            return len((await someone.get("/api/v1/job-queues-v2"))["jobs"])

        await cluster.until(waiting, 2)
        sent: list[Command] = []
        request = cluster.bus.request

        async def noted(command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
            if cause.id.startswith("req-"):
                sent.append(command)
            return await request(command, cause, timeout_s)

        async def update(**change: Any) -> Command:
            sent.clear()
            await someone.post("/api/v1/job-queues", {"updates": [change]})
            (command,) = sent
            return command

        async def shown() -> list[Any]:
            """The first in the queue, with its priority there and in the configuration."""
            job = (await someone.get("/api/v1/job-queues"))["jobs"][0]
            experiment = (await someone.get(f"/api/v1/experiments/{job['entityId']}"))["experiment"]
            return [job["jobId"], job["priority"], experiment["config"]["resources"]["priority"]]

        monkeypatch.setattr(cluster.bus, "request", noted)
        assert isinstance(await update(jobId=second, priority=7), EditExperiment)
        assert await shown() == [second, 7, 7]
        assert isinstance(await update(jobId=first, aheadOf=second), MoveJob)
        assert await shown() == [first, 7, 7]
        assert isinstance(await update(jobId=first, aheadOf=second), MoveJob), "which changes nothing"
        sent.clear()
        retention = {"saveTrialLatest": 0, "saveTrialBest": 0}
        patch = {"name": "another", "resources": {"priority": 9}, "checkpointStorage": retention}
        assert (await someone.call("PATCH", "/api/v1/experiments/2", patch)).status == 200
        (edit,) = sent
        assert isinstance(edit, EditExperiment)
        assert set(edit.changes) == {"name", "priority", "save_trial_latest", "save_trial_best"}


async def test_a_change_of_the_queue_that_the_pool_does_not_follow_is_no_success(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "FOLLOWED_WITHIN_S", 0.0)
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        job_id = (await submit(someone))["experiment"]["jobId"]

        async def waiting() -> int:
            return len((await someone.get("/api/v1/job-queues-v2"))["jobs"])

        await cluster.until(waiting, 1)
        request = cluster.bus.request

        async def silent(command: Command, cause: Cause, timeout_s: float = 10.0) -> Reply:
            if isinstance(command, ChangeJob):
                raise Unavailable("the scheduler does not answer")
            return await request(command, cause, timeout_s)

        monkeypatch.setattr(cluster.bus, "request", silent)
        answer = await someone.call("POST", "/api/v1/job-queues", {"updates": [{"jobId": job_id, "priority": 5}]})
        assert answer.status == 503
        assert "the queue does not go by it yet" in answer.error
        monkeypatch.setattr(cluster.bus, "request", request)

        async def priority() -> Any:
            return (await someone.get("/api/v1/job-queues"))["jobs"][0]["priority"]

        await cluster.until(priority, 5)
