"""A cluster of two pools, as an operator describes it and people share it, by the command line alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resolute.deploy.paths import ClusterPaths
from tests.integration.cluster.local import LocalCluster, local_cluster, until

pytestmark = pytest.mark.timeout(600)

MODEL = Path(__file__).parent / "model"

MASTER = """
resource_manager:
  type: agent
  scheduler: {type: priority, preemption: true, default_priority: 50}
  default_compute_resource_pool: gpu
  default_aux_resource_pool: small
resource_pools:
  - {pool_name: gpu, description: the big one}
  - {pool_name: small, scheduler: {type: fair_share}}
"""


def config(name: str, steps: int, **resources: Any) -> dict[str, Any]:
    return {
        "name": name,
        "entrypoint": "python3 train.py",
        "hyperparameters": {"x": 1.0, "steps": steps, "step_s": 0.02},
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": 1, **resources},
        "max_restarts": 0,
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One slot in each pool."""
    home = tmp_path_factory.mktemp("sharing")
    home.chmod(0o755)
    (home / "master.yaml").write_text(MASTER)
    with local_cluster(home, slots=1, flags=("--master-config-path", str(home / "master.yaml"))) as cluster:
        cluster.agent_up("small-1", "small", 1)
        until("both agents are there", lambda: len(json.loads(cluster.det("agent", "list", "--json"))) == 2)
        yield cluster


def queue(cluster: LocalCluster, pool: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads(cluster.det("job", "list", "-p", pool, "--json"))["jobs"]
    return jobs


def test_the_pools_are_those_of_the_master_configuration(cluster: LocalCluster) -> None:
    gpu, small = json.loads(cluster.det("resource-pool", "list", "--json"))
    assert (gpu["name"], gpu["description"], gpu["slotsAvailable"]) == ("gpu", "the big one", 1)
    assert gpu["details"]["priorityScheduler"] | {"k8Priorities": []} == {
        "preemption": True, "defaultPriority": 50, "k8Priorities": [],
    }  # fmt: skip
    assert (small["schedulerType"], small["numAgents"], small["defaultAuxPool"]) == (
        "SCHEDULER_TYPE_FAIR_SHARE", 1, True,
    )  # fmt: skip
    with pytest.raises(AssertionError, match="no pool 'none'; there are gpu, small"):
        cluster.agent_up("nobody", "none", 1)


def test_what_can_never_run_is_refused_at_once(cluster: LocalCluster) -> None:
    with pytest.raises(AssertionError, match=r"resources\.slots_per_trial: 2 slots can never run in pool 'gpu'"):
        cluster.create(config("too wide", 10, slots_per_trial=2), MODEL)
    with pytest.raises(AssertionError, match="no pool 'tpu'; there are gpu, small"):
        cluster.create(config("elsewhere", 10, resource_pool="tpu"), MODEL)


def test_a_queue_is_steered_and_explains_itself_and_the_log_says_why(cluster: LocalCluster) -> None:
    go = ClusterPaths(cluster.data).storage / "go"  # where trials may look, whoever they run as
    occupies = config("first", 100)
    occupies["hyperparameters"]["waits_for"] = str(go)  # after each checkpoint: it keeps its slot until it is preempted
    first = cluster.create(occupies, MODEL)
    until("it checkpoints", lambda: any(trial["checkpointCount"] for trial in cluster.trials(first)))
    second, third = (cluster.create(config(name, 20), MODEL) for name in ("second", "third"))
    until("all are in the queue", lambda: len(queue(cluster, "gpu")) == 3)
    jobs = {int(job["entityId"]): job["jobId"] for job in queue(cluster, "gpu")}
    cluster.det("job", "update", jobs[third], "--ahead-of", jobs[second])
    assert [int(job["entityId"]) for job in queue(cluster, "gpu")] == [first, third, second]
    said = cluster.det("job", "explain", str(second))
    assert "[in_line]" in said, "it was first, and is told that it is no more"
    assert "it waits: 1 job comes first; " in said
    assert f"ahead: {jobs[third]} (third ({third}), determined)" in said
    assert f"in its line: job {jobs[third]} (third ({third}), determined) waits: first in the queue" in said
    assert "1 slot by job" in said
    assert f"(first ({first}), determined)" in said

    [waiting] = cluster.trials(second)
    why = cluster.resolute("log", "why", f"trial-{waiting['id']}", "waits").splitlines()
    assert "came first" in why[0]
    assert "in its line" in why[1]
    assert "first in the queue at priority 50" in why[1]

    cluster.det("job", "update", jobs[third], "--resource-pool", "small")
    assert cluster.ended(third) == "STATE_COMPLETED"
    assert queue(cluster, "gpu")[0]["jobId"] == jobs[first], "it went past the others, in a pool of its own"

    cluster.det("job", "update", jobs[second], "--priority", "1")
    assert cluster.ended(second) == "STATE_COMPLETED", "the first has made room"
    go.touch()
    [trial] = cluster.trials(first)
    why = cluster.resolute("log", "why", f"trial-{trial['id']}", "preempted")
    assert f"run 1 of trial {trial['id']} gave its slots back" in why.splitlines()[1]
    assert "priority to 1" in why, "it is told what changed, and by whom"
    assert "determined" in why
    assert cluster.ended(first) == "STATE_COMPLETED"
    assert cluster.validations(int(trial["id"])) == list(range(10, 101, 10)), "nothing was lost on the way"
    assert "placed on agent-1" in cluster.det("job", "explain", str(first))
    assert "same" in cluster.resolute("replay", "--check")
