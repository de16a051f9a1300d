"""A trial that takes two to four slots, on a cluster of two agents with two each, one of which goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until

pytestmark = pytest.mark.timeout(900)

MODEL = Path(__file__).parent / "model"
MASTER = "resource_pools: [{pool_name: default, agent_reconnect_wait: 4s}]"


def config(slots: Any, steps: int, hurry: Path) -> dict[str, Any]:
    """A trial that takes its time until there is a file `hurry`."""
    return {
        "name": "a range",
        "entrypoint": "python3 train.py",
        "hyperparameters": {"steps": steps, "hurries_once_there_is": str(hurry)},
        "searcher": {"name": "single", "metric": "loss"},
        "resources": {"slots_per_trial": slots},
        "max_restarts": 0,
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    tmp_path.chmod(0o755)
    (tmp_path / "master.yaml").write_text(MASTER)
    with local_cluster(tmp_path, slots=2, flags=("--master-config-path", str(tmp_path / "master.yaml"))) as cluster:
        cluster.agent_up("other", "default", 2)
        until("both agents are there", lambda: len(cluster.get("/api/v1/agents")["agents"]) == 2)
        yield cluster


def test_a_trial_on_four_slots_loses_an_agent_and_goes_on_with_two(cluster: LocalCluster) -> None:
    hurry = cluster.data / "storage" / "hurry"
    with pytest.raises(AssertionError, match=r"resources\.slots_per_trial\.min: expected at most .*max"):
        cluster.create(config({"min": 4, "max": 2}, 10, hurry), MODEL)
    with pytest.raises(AssertionError, match="5 to 6 slots can never run in pool 'default'"):
        cluster.create(config({"min": 5, "max": 6}, 10, hurry), MODEL)

    experiment = cluster.create(config({"min": 2, "max": 4}, 200, hurry), MODEL)
    (trial,) = until("it has a trial", lambda: cluster.trials(experiment))
    until("it checkpoints", lambda: cluster.trials(experiment)[0]["checkpointCount"])
    assert cluster.experiment(experiment)["config"]["resources"]["slots_per_trial"] == 4, "as older clients know it"
    assert "it takes 2 to 4 slots and has 4, all it asks for" in cluster.det("job", "explain", str(experiment))

    cluster.det("deploy", "local", "agent-down", "--agent-name", "other", *cluster._where())
    until("it goes on", lambda: "on 2 slots of 1" in cluster.logs(trial["id"]), within_s=120)
    assert "it takes 2 to 4 slots and has 2: more do not fit now" in cluster.det("job", "explain", str(experiment))
    hurry.touch()
    assert cluster.ended(experiment) == "STATE_COMPLETED"
    first, second = (line for line in cluster.logs(trial["id"]).splitlines() if ", after step " in line)
    assert first.endswith("on 4 slots of 2, after step 0")
    assert int(second.rpartition(" ")[2]) > 0, "from its checkpoint"
    assert cluster.validations(trial["id"]) == list(range(10, 201, 10))
    assert cluster.trials(experiment)[0]["restarts"] == 0, "a lost host is nobody's failure"
