"""Agents that join and leave a running cluster, and what becomes of their trials when the cluster goes down."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from resolute.deploy import cluster, processes
from tests.integration.deploy.test_embedded_cluster import Local
from tests.servers import wait_for

pytestmark = pytest.mark.timeout(600)

CONFIG = """
name: patient
entrypoint: sleep 600
hyperparameters: {}
searcher: {name: single, metric: loss, max_length: {batches: 1}}
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Local]:
    local = Local()
    started = local.up()
    assert started.returncode == 0, started.stdout + started.stderr
    yield local
    local.close()


def agents(local: Local) -> list[str]:
    return sorted(agent["id"] for agent in local.session().get("/api/v1/agents")["agents"])


def trials(local: Local) -> list[psutil.Process]:
    """The processes that run users' code for this cluster."""
    known = cluster.load(local.paths)
    assert known is not None
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("DET_CLUSTER_ID") == known.id and process.cmdline()[:1] == ["sleep"]:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def join(local: Local, name: str) -> None:
    done = local.det("agent-up", "127.0.0.1", "--master-port", str(local.port), "--agent-name", name, "--slots", "1")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: name in agents(local), what=f"{name} to be shown, which has joined")


def test_an_agent_joins_and_leaves_while_the_cluster_runs(running: Local) -> None:
    services = running.pid("services")
    join(running, "late")
    again = running.det("agent-up", "127.0.0.1", "--master-port", str(running.port), "--agent-name", "late")
    assert "there is one of that name" in again.stderr
    assert running.pid("late")
    assert running.det("agent-down", "--agent-name", "late").returncode == 0
    assert not running.pid("late")
    assert "no agent 'late' here" in running.det("agent-down", "--agent-name", "late").stderr
    assert running.pid("services") == services


def test_agents_that_join_and_leave_at_once_do_not_undo_each_other(running: Local) -> None:
    services = running.pid("services")
    names = ["one", "two", "three"]
    with ThreadPoolExecutor() as people:
        list(people.map(lambda name: join(running, name), names))
        assert set(names) <= set(agents(running))
        assert all(running.pid(name) for name in names)
        gone = people.map(lambda name: running.det("agent-down", "--agent-name", name), names[:2])
        assert [done.returncode for done in gone] == [0, 0]
    assert [bool(running.pid(name)) for name in names] == [False, False, True]
    assert running.pid("services") == services
    assert running.det("agent-down", "--agent-name", "three").returncode == 0


def test_an_agent_of_another_host_is_told_what_stands_in_its_way(running: Local) -> None:
    done = running.det("agent-up", "10.1.2.3", "--master-port", str(running.port))
    assert done.returncode != 0
    assert "runs on its host" in done.stderr


def test_trials_end_with_the_cluster_and_go_on_when_it_is_up_again(running: Local, tmp_path: Path) -> None:
    join(running, "agent-1")  # the name that the first agent of `cluster-up` has
    (tmp_path / "const.yaml").write_text(CONFIG)
    submitted = running.experiment("create", str(tmp_path / "const.yaml"), str(tmp_path))
    assert "Created experiment 1" in submitted
    first = wait_for(lambda: trials(running), what="the trial", within_s=180)
    assert isinstance(first, list)
    assert running.det("cluster-down").returncode == 0
    assert not any(processes.lives(process) for process in first)
    assert trials(running) == []
    assert running.up("--agents", "1", "--slots", "1").returncode == 0
    wait_for(lambda: trials(running), what="the trial to run again", within_s=180)
    (trial,) = running.session().get("/api/v1/experiments/1/trials")["trials"]
    assert trial["restarts"] == 0, "going down with the cluster is no failure of the trial"
    said = running.experiment("logs", "1")
    assert "its cluster or its agent was taken down" in said
    assert "ERROR" not in said
    running.experiment("kill", "1")
    wait_for(lambda: not trials(running), what="the end of the trial", within_s=180)


def test_a_trial_that_a_dead_supervisor_left_behind_ends_with_the_database_it_was_in(
    running: Local, tmp_path: Path
) -> None:
    if "agent-1" not in agents(running):
        join(running, "agent-1")
    (tmp_path / "const.yaml").write_text(CONFIG)
    running.experiment("create", str(tmp_path / "const.yaml"), str(tmp_path))
    left = wait_for(lambda: trials(running), what="the trial", within_s=180)
    assert isinstance(left, list)
    running.kill_supervisor()
    assert all(processes.lives(process) for process in left)
    done = running.up("--delete-db")
    assert done.returncode == 0, done.stderr
    assert trials(running) == []
    assert running.session().get("/api/v1/experiments")["experiments"] == []
