"""An agent that is frozen under a trial which never asks whether it should stop: two runs, and only one is believed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until

pytestmark = pytest.mark.timeout(900)

MODEL = Path(__file__).parent / "deaf"
MASTER = "resource_pools: [{pool_name: default, agent_reconnect_wait: 6s}]"
STEPS = 300
CONFIG: dict[str, Any] = {
    "name": "deaf",
    "entrypoint": "python3 train.py",
    "hyperparameters": {"steps": STEPS},
    "searcher": {"name": "single", "metric": "loss"},
    "max_restarts": 0,
}
LATE = timedelta(seconds=1)
"""The longest that a gateway may go on believing (docs/decisions/0039)."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    tmp_path.chmod(0o755)
    (tmp_path / "master.yaml").write_text(MASTER)
    flags = ("--master-config-path", str(tmp_path / "master.yaml"))
    with local_cluster(tmp_path, separate=True, slots=1, flags=flags) as cluster:
        cluster.agent_up("other", "default", 1)
        until("both agents are there", lambda: len(cluster.get("/api/v1/agents")["agents"]) == 2)
        yield cluster


def test_nothing_of_a_run_is_taken_after_its_agent_was_given_up(cluster: LocalCluster) -> None:
    experiment_id = cluster.create(CONFIG, MODEL)
    (trial,) = until("it has a trial", lambda: cluster.trials(experiment_id))
    until("it checkpoints", lambda: cluster.trials(experiment_id)[0]["checkpointCount"])
    agent, task = where(cluster, trial["id"])
    os.kill(agent, signal.SIGSTOP)
    try:
        until("the old task ends by itself", lambda: not Path(f"/proc/{task}").exists())
        lost_at = instant(cluster.get(f"/api/v1/allocations/{trial['taskId']}.1")["allocation"]["endTime"])
        given_up = "ERROR: the cluster gave this run up, and this process ends: "
        until("the old task's last line says why", lambda: last_line(cluster).startswith(given_up))
        assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    finally:
        os.kill(agent, signal.SIGCONT)

    reports = metrics(cluster, trial["id"])
    assert max(instant(one["endTime"]) for one in reports if one["trialRunId"] == 1) < lost_at + LATE
    assert [one["totalBatches"] for one in reports] == list(range(1, STEPS + 1))
    checkpoints = cluster.get(f"/api/v1/trials/{trial['id']}/checkpoints?limit=-1")["checkpoints"]
    completed = [one for one in checkpoints if one["state"] != "STATE_ACTIVE"]  # retention may have deleted it since
    first = [instant(one["reportTime"]) for one in completed if one["allocationId"].endswith(".1")]
    assert max(first) < lost_at + LATE
    steps = [one["metadata"]["steps_completed"] for one in completed if one["allocationId"].endswith(".2")]
    begun_after = min(steps) - 10
    assert sorted(steps) == list(range(begun_after + 10, STEPS + 1, 10)), "the new run's are whole"


def where(cluster: LocalCluster, trial_id: int) -> tuple[int, int]:
    """The process of the agent that the trial runs on, and the trial's own."""

    def begins() -> list[str]:
        return [line for line in cluster.logs(trial_id).splitlines() if "begins after step" in line]

    [said] = until("the line is in the log, which the agent ships now and then", begins)
    task = int(said.rpartition(" ")[2])
    lines = cluster.get(f"/api/v1/trials/{trial_id}/logs?limit=1&sources=task")
    name = (lines if isinstance(lines, dict) else lines[0])["result"]["agentId"]
    if name != "other":
        return cluster.children()[name], task
    raise AssertionError("the first trial runs on the first agent")


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def metrics(cluster: LocalCluster, trial_id: int) -> list[dict[str, Any]]:
    answer = cluster.get(f"/api/v1/trials/metrics/training_metrics?trialIds={trial_id}")
    pages = answer if isinstance(answer, list) else [answer]
    return [report for page in pages for report in page["result"]["metrics"]]


def last_line(cluster: LocalCluster) -> str:
    """What the task said last, as its host keeps it: the trial's log takes nothing from it any more. The process beside
    the task writes it, perhaps a moment after the task has ended; until then it is empty."""
    for path in cluster.data.rglob("tasks/*/log"):
        if "gave this run up" in (text := path.read_text()):
            return text.splitlines()[-1].split(" ", 2)[2]
    return ""
