"""An elastic pool of a real cluster: agents come for a search, go when it is over, and outlive their scheduler."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cluster.local import LocalCluster, until
from tests.integration.cluster.searches import MODEL, STEPS
from tests.integration.cluster.test_kill_anything import SEARCH

pytestmark = pytest.mark.timeout(900)

IDLE_S = 12
"""More than a killed scheduler may take to be back on a busy machine: an agent that waits for it is idle, and stays."""


class ElasticCluster(LocalCluster):
    """One that begins without any agent."""

    def up(self) -> None:
        provider = {
            "type": "local",
            "instance_slots": 1,
            "artificial_slots": True,
            "max_instances": 3,
            "max_idle_agent_period": f"{IDLE_S}s",
            "max_agent_starting_period": "60s",
        }
        pool = {"pool_name": "default", "agent_reconnect_wait": "8s", "provider": provider}
        master = self.home / "master.json"
        master.write_text(json.dumps({"resource_pools": [pool]}))
        self.det(
            *("deploy", "local", "cluster-up", *self._where(), "--agents", "0", "--master-port", str(self.port)),
            *("--master-config-path", str(master)),
        )

    def agents(self) -> list[str]:
        return sorted(agent["id"] for agent in self.get("/api/v1/agents")["agents"])

    def told(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of the pool of these kinds, in order."""
        lines = self.resolute("log", "show", "pool-default", "--json").splitlines()
        return [event for event in map(json.loads, lines) if event["type"] in kinds]

    def instance_pids(self) -> list[int]:
        locks = (self.data / "instances" / "default").glob("*/instance.lock")
        return [int(text) for lock in locks if (text := lock.read_text())]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ElasticCluster]:
    cluster = ElasticCluster(tmp_path_factory.mktemp("elastic"), separate=True, slots=1, agents=0)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down("--delete-db")


def test_a_search_brings_agents_a_killed_scheduler_loses_none_and_in_the_end_all_are_gone(
    cluster: ElasticCluster,
) -> None:
    assert cluster.agents() == []
    experiment_id = cluster.create({**SEARCH, "searcher": {**SEARCH["searcher"], "max_concurrent_trials": 3}}, MODEL)
    cluster.kill("scheduler")
    until("three agents work", lambda: len(cluster.agents()) == 3, 120)
    cluster.kill("scheduler")
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    for trial in cluster.trials(experiment_id):
        assert trial["restarts"] == 0
        assert cluster.validations(int(trial["id"])) == STEPS
    cluster.kill("scheduler")
    until("the pool is empty again", lambda: cluster.agents() == [], 120)
    until("so is the host", lambda: not cluster.instance_pids())
    requested = [event["data"]["number"] for event in cluster.told("InstanceRequested")]
    gone = [event["data"]["number"] for event in cluster.told("InstanceGone")]
    assert requested == [1, 2, 3], "nobody was started twice, and nobody was forgotten"
    assert sorted(gone) == requested
    assert "whole" in cluster.resolute("log", "verify")


def test_a_vanished_instance_is_replaced_and_its_trial_goes_on_from_its_checkpoint(cluster: ElasticCluster) -> None:
    single = {"name": "single", "metric": "loss", "max_length": {"batches": 40}}
    config = {**SEARCH, "hyperparameters": {"x": 1.0, "steps": 40, "step_s": 0.1}, "searcher": single}
    experiment_id = cluster.create(config, MODEL)
    until("a checkpoint", lambda: any(t["checkpointCount"] for t in cluster.trials(experiment_id)))
    (pid,) = cluster.instance_pids()
    os.kill(pid, signal.SIGKILL)
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    (trial,) = cluster.trials(experiment_id)
    assert cluster.validations(int(trial["id"])) == STEPS
    assert any("vanished" in event["data"]["reason"] for event in cluster.told("InstanceGone"))


def test_instances_go_with_the_cluster_and_are_replaced_when_it_is_up_again(cluster: ElasticCluster) -> None:
    single = {"name": "single", "metric": "loss", "max_length": {"batches": 40}}
    config = {**SEARCH, "hyperparameters": {"x": 1.0, "steps": 40, "step_s": 0.1}, "searcher": single}
    experiment_id = cluster.create(config, MODEL)
    until("a checkpoint", lambda: any(t["checkpointCount"] for t in cluster.trials(experiment_id)))
    (pid,) = cluster.instance_pids()
    cluster.down()
    assert not checks_alive(pid)
    cluster.up()
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"


def checks_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "resolute.agent" in Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
