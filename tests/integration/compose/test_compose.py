"""All in containers: built, started, trained with, scaled while it trains, stopped, and started again as it was."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests import needs
from tests.integration.cluster.local import until
from tests.integration.compose.composed import Composed, composed

pytestmark = [needs.docker, needs.compose, pytest.mark.timeout(900)]

MODEL = Path(__file__).parents[1] / "cluster" / "model"
IMAGE = "python:3.11-slim-bookworm"

SEARCH = """
name: composed
entrypoint: python3 train.py
environment: {image: "python:3.11-slim-bookworm"}
hyperparameters: {x: {type: double, minval: 1, maxval: 2}, steps: 20, step_s: 0.05}
searcher: {name: random, metric: loss, max_trials: 3, max_concurrent_trials: 1}
max_restarts: 0
"""

LONG = """
name: long
entrypoint: python3 train.py
environment: {image: "python:3.11-slim-bookworm"}
hyperparameters: {x: 1.5, steps: 360, step_s: 0.05}
searcher: {name: single, metric: loss}
max_restarts: 0
"""

SERVICES = ("api", "directory", "searcher", "tasks", "scheduler", "checkpoint", "relay")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    with composed(tmp_path_factory.mktemp("composed")) as cluster:
        yield cluster


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True, timeout=60).stdout


def test_everything_comes_up_healthy(cluster: Composed) -> None:
    for service in (*SERVICES, "postgres", "nats", "agent"):
        (container,) = cluster.containers(service)
        until(f"{service} is healthy", lambda: _health(container) == "healthy", 120)  # noqa: B023


def _health(container: str) -> str:
    return docker("inspect", "--format", "{{.State.Health.Status}}", container).strip()


def test_a_search_ends_while_services_are_added_and_killed(cluster: Composed) -> None:
    file = cluster.home / "search.yaml"
    file.write_text(SEARCH)
    firsts = [container for service in ("searcher", "api") for container in cluster.containers(service)]
    cluster.det("experiment", "create", str(file), str(MODEL))
    until("a trial has ended", lambda: _states(cluster)[:1] == ["STATE_COMPLETED"], 120)
    cluster("up", "-d", "--no-recreate", "--scale", "searcher=2", "--scale", "api=2")
    for container in firsts:
        docker("kill", container)
    until("the search ends", lambda: _experiment(cluster)["state"] == "STATE_COMPLETED", 120)
    assert _states(cluster) == ["STATE_COMPLETED"] * 3
    assert "ends after step 20" in cluster.det("trial", "logs", "3")
    docker("start", *firsts)


def _experiment(cluster: Composed, experiment_id: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(f"/api/v1/experiments/{experiment_id}")["experiment"]
    return found


def _states(cluster: Composed) -> list[str]:
    trials = cluster.get("/api/v1/experiments/1/trials?sortBy=SORT_BY_ID")["trials"]
    return [trial["state"] for trial in trials]


def test_who_does_not_trust_the_certificate_or_speaks_no_tls_is_not_served(cluster: Composed) -> None:
    with pytest.raises(AssertionError, match="is not trusted"):
        cluster.det("experiment", "list", DET_MASTER_CERT_FILE="")
    with pytest.raises((URLError, OSError)):
        urlopen(f"http://localhost:{cluster.port}/api/v1/master", timeout=10)


def test_secrets_are_read_by_those_they_are_for_and_logged_by_nobody(cluster: Composed) -> None:
    for service in ("agent", "front"):
        (container,) = cluster.containers(service)
        mounted = docker("inspect", "--format", "{{range .Mounts}}{{.Destination}} {{end}}", container)
        assert not {"/run/resolute/services", "/run/resolute/gateway", "/run/resolute/postgres"} & {*mounted.split()}
    logged = cluster("logs", "--no-color")
    assert "the gateway listens" in logged
    assert cluster.password not in logged
    config = json.loads(cluster("exec", "-T", "relay", "cat", "/run/resolute/services/config.yaml"))
    assert not any(config[secret] in logged for secret in ("cluster_secret", "database_url"))


def test_tasks_have_no_way_to_the_database_or_the_bus(cluster: Composed) -> None:
    look = "import socket; print([socket.getaddrinfo('gateway', 8080)[0][4][1]]); socket.getaddrinfo('postgres', 5432)"
    asked = ["docker", "run", "--rm", "--network", f"{cluster.name}-tasks", IMAGE, "python", "-c", look]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "[8080]\n"), done.stderr


def test_services_run_as_nobody_in_particular_on_file_systems_they_cannot_write(cluster: Composed) -> None:
    who = "id -u; touch /opt/x 2>&1"
    for service in ("api", "searcher", "tasks", "scheduler", "relay"):
        uid, refused = cluster("exec", "-T", service, "sh", "-c", who, check=False).splitlines()
        assert uid == "10001"
        assert "Read-only file system" in refused
    (agent,) = cluster.containers("agent")
    status = docker("exec", agent, "cat", "/proc/1/status")
    assert "Uid:\t10001\t10001\t10001\t10001" in status
    assert "CapEff:\t0000000000000000" in status


def test_a_trial_that_is_under_way_outlives_down_and_up_and_yesterdays_experiment_is_there_again(
    cluster: Composed,
) -> None:
    until("retention is done", lambda: _checkpoints(cluster, 1) == {1}, 60)
    yesterdays, password = _experiment(cluster), cluster.password
    file = cluster.home / "long.yaml"
    file.write_text(LONG)
    cluster.det("experiment", "create", str(file), str(MODEL))
    until("something is checkpointed", lambda: cluster.get("/api/v1/experiments/2/checkpoints")["checkpoints"], 60)
    cluster("down", check=False)  # the network that the trial is on cannot be removed
    cluster.up()
    assert cluster.password == password
    assert _experiment(cluster) == yesterdays
    assert "ends after step 20" in cluster.det("trial", "logs", "1")
    until("the agent is there", lambda: cluster.get("/api/v1/agents")["agents"], 60)
    until("the trial ends", lambda: _experiment(cluster, 2)["state"] == "STATE_COMPLETED", 120)
    (trial,) = cluster.get("/api/v1/experiments/2/trials")["trials"]
    assert trial["restarts"] == 0
    logs = cluster.det("trial", "logs", str(trial["id"]))
    assert [int(step) for step in re.findall(r"root: step (\d+)$", logs, re.MULTILINE)] == list(range(1, 361))


def _checkpoints(cluster: Composed, experiment_id: int) -> set[int]:
    trials = cluster.get(f"/api/v1/experiments/{experiment_id}/trials")["trials"]
    return {trial["checkpointCount"] for trial in trials}


def test_a_backup_that_is_put_back_has_all_that_was_there(cluster: Composed) -> None:
    for experiment_id in (1, 2):  # nothing is still going on
        until("retention is done", lambda: _checkpoints(cluster, experiment_id) == {1}, 60)  # noqa: B023
    before = cluster.get("/api/v1/experiments")
    dump = cluster.bytes_of("exec", "-T", "postgres", "pg_dump", "-U", "resolute", "-Fc", "resolute")
    cluster.det("experiment", "archive", "1")
    cluster("stop", *SERVICES)
    restore = ("pg_restore", "-U", "resolute", "-d", "postgres", "--clean", "--if-exists", "--create")
    cluster.bytes_of("exec", "-T", "postgres", *restore, given=dump)
    cluster.up()
    assert cluster.get("/api/v1/experiments") == before
