"""`det deploy local … --runtime docker`: trials in containers on one machine, and nothing of them left behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests import needs
from tests.integration.cluster.local import LocalCluster, local_cluster, until

MODEL = Path(__file__).parents[1] / "cluster" / "model"

TRIAL: dict[str, Any] = {
    "name": "contained",
    "entrypoint": "python3 train.py",
    "environment": {"image": "python:3.11-slim-bookworm"},
    "hyperparameters": {"x": 1.0, "steps": 120, "step_s": 0.05},
    "searcher": {"name": "single", "metric": "loss"},
    "max_restarts": 0,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("contained"), flags=("--runtime", "docker")) as cluster:
        cluster.env |= {"DET_USER": "admin", "DET_PASS": ""}
        yield cluster


def left_of(cluster: LocalCluster, *what: str) -> list[str]:
    cluster_id = json.loads((cluster.data / "cluster.json").read_text())["id"]
    command = ["docker", *what, "-q", "--filter", f"label=ai.resolute.cluster={cluster_id}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()


@needs.docker
@pytest.mark.timeout(900)
def test_a_cluster_that_goes_down_takes_its_containers_along_and_its_trial_goes_on_when_it_is_back(
    cluster: LocalCluster,
) -> None:
    experiment_id = cluster.create(TRIAL, MODEL)
    until("something is checkpointed", lambda: any(t["checkpointCount"] for t in cluster.trials(experiment_id)))
    assert len(left_of(cluster, "ps")) == 1
    cluster.down()
    assert left_of(cluster, "ps", "-a") == left_of(cluster, "network", "ls") == []
    cluster.up()
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    (trial,) = cluster.trials(experiment_id)
    assert trial["restarts"] == 0
    assert cluster.validations(trial["id"]) == list(range(10, 121, 10))


@needs.docker
@pytest.mark.timeout(600)
def test_where_tasks_reach_the_gateway_a_blank_password_opens_nothing(cluster: LocalCluster) -> None:
    address = json.loads((cluster.data / "cluster.json").read_text())["task_host"]
    body = json.dumps({"username": "admin", "password": ""}).encode()
    url, as_if_local = f"http://{address}:{cluster.port}/api/v1/auth/login", {"Host": f"localhost:{cluster.port}"}
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(url, body, as_if_local), timeout=10)
    assert refused.value.code == 403
    assert f"at {address}" in refused.value.read().decode()


@needs.docker
@pytest.mark.timeout(600)
def test_an_agent_of_containers_is_taken_away_with_what_it_runs_and_finds_it_again_when_it_is_back(
    cluster: LocalCluster,
) -> None:
    where = ("--cluster-name", "test", "--data-dir", str(cluster.data))
    agent = ("--agent-name", "more", "--slots", "1", "--no-gpu", "--runtime", "docker")
    up = ("deploy", "local", "agent-up", "127.0.0.1", "--master-port", str(cluster.port), *agent, *where)
    cluster.det(*up)
    cluster.det("agent", "disable", "agent-1")
    experiment_id = cluster.create(TRIAL, MODEL)
    until("it runs", lambda: any(t["checkpointCount"] for t in cluster.trials(experiment_id)))
    cluster.det("deploy", "local", "agent-down", "--agent-name", "more", *where)
    assert left_of(cluster, "ps", "-a") == []
    cluster.det(*up)
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    (trial,) = cluster.trials(experiment_id)
    assert trial["restarts"] == 0


@needs.docker
@pytest.mark.timeout(900)
def test_a_cluster_for_others_runs_containers_too(tmp_path: Path) -> None:
    flags = ("--runtime", "docker", "--initial-user-password", "Correct-Horse-7")
    cluster = LocalCluster(tmp_path, separate=False, slots=1, agents=1, flags=flags)
    cluster.env |= {"RESOLUTE_API_HOST": "0.0.0.0", "DET_USER": "determined", "DET_PASS": "Correct-Horse-7"}
    try:
        cluster.up()
        cluster.create({**TRIAL, "hyperparameters": {"x": 1.0, "steps": 10, "step_s": 0.05}}, MODEL, "--follow")
        assert "COMPLETED" in cluster.det("experiment", "describe", "1")
    finally:
        cluster.down("--delete-db")


def test_without_a_docker_that_answers_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    cluster = LocalCluster(tmp_path, separate=False, slots=1, agents=1, flags=("--runtime", "docker"))
    with pytest.raises(AssertionError, match="no Docker daemon answers") as refused:
        cluster.up()
    assert "install Docker and start it" in str(refused.value)
    assert "leave out --runtime docker" in str(refused.value)
    assert not (cluster.data / "postgres").exists(), "nothing was begun"
