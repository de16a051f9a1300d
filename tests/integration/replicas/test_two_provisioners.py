"""Two schedulers look after one elastic pool: each instance is asked for once, started once, and ended once."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from tests.integration.cluster.local import until
from tests.integration.cluster.searches import MODEL, STEPS
from tests.integration.cluster.test_elastic_pool import ElasticCluster
from tests.integration.cluster.test_kill_anything import SEARCH

pytestmark = pytest.mark.timeout(900)


class TwoSchedulers(ElasticCluster):
    def det(self, *args: str, check: bool = True) -> str:
        flags = ("--replicas", "scheduler=2") if "cluster-up" in args else ()
        return super().det(*args, *flags, check=check)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoSchedulers]:
    cluster = TwoSchedulers(tmp_path_factory.mktemp("provisioners"), separate=True, slots=1, agents=0)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down("--delete-db")


def agents_of(cluster: TwoSchedulers) -> list[int]:
    """The agents that run, by their processes."""
    found = []
    for process in psutil.process_iter():
        try:
            words, env = process.cmdline(), process.environ()
        except (psutil.Error, OSError):
            continue
        if "resolute.agent" in words and env.get("RESOLUTE_AGENT_WORK_DIR", "").startswith(str(cluster.data)):
            found.append(process.pid)
    return found


def test_no_instance_is_there_twice_whichever_scheduler_lives(cluster: TwoSchedulers) -> None:
    experiment_id = cluster.create({**SEARCH, "searcher": {**SEARCH["searcher"], "max_concurrent_trials": 3}}, MODEL)
    until("three agents work", lambda: len(cluster.agents()) == 3, 120)
    until("each is one process", lambda: len(agents_of(cluster)) == 3)
    cluster.kill("scheduler-1")
    assert cluster.ended(experiment_id) == "STATE_COMPLETED"
    for trial in cluster.trials(experiment_id):
        assert trial["restarts"] == 0
        assert cluster.validations(int(trial["id"])) == STEPS
    cluster.kill("scheduler-2")
    until("the pool is empty again", lambda: cluster.agents() == [], 120)
    until("so is the host", lambda: not agents_of(cluster))
    requested = [event["data"]["number"] for event in cluster.told("InstanceRequested")]
    assert requested == sorted(set(requested))
    assert "whole" in cluster.resolute("log", "verify")
