"""One trial over two hosts, in containers: preempted in the middle it ends with the weights of an undisturbed run, and
whoever of it is killed, that is told plainly, and it ends.

Four ranks train on two pretended hosts of two slots each, whose containers reach each other over one bridge only.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import needs
from tests.integration.cluster.local import LocalCluster, processes_with, until
from tests.integration.docker.hosts import docker
from tests.integration.shown.two_hosts import FarHost, TwoHosts, agents, two_hosts

pytestmark = [needs.docker, needs.horovod, pytest.mark.timeout(1800)]

MODEL = Path(__file__).parent / "model"
BATCHES = 60
TOLERANCE = 1e-5
"""Of each weight. Sums of floats depend on their order; here even that is the same, and the difference is 0."""

LAUNCHERS = ("horovod", "torch_distributed")
DONE = "disturbed"
"""The file in the storage without which trials take their time after batch `QUICK`, so that there is time to disturb
them: as many seconds as batches are left."""
QUICK = 10


def gang(launcher: str, **changed: Any) -> dict[str, Any]:
    return {
        "name": f"gang by {launcher}",
        "entrypoint": f"python3 -m determined.launch.{launcher} --trial model_def:Digits",
        "hyperparameters": {"global_batch_size": 64, "hurries_once_there_is": DONE, "quick_batches": QUICK},
        "searcher": {"name": "single", "metric": "validation_loss", "max_length": {"batches": BATCHES}},
        "scheduling_unit": 2,
        "min_checkpoint_period": {"batches": QUICK},
        "min_validation_period": {"batches": 30},
        "resources": {"slots_per_trial": 4},
        "environment": {"image": "resolute/trial:cpu", "environment_variables": ["OMP_NUM_THREADS=1"]},
        "reproducibility": {"experiment_seed": 11},
        "max_restarts": 2,
        **changed,
    }


URGENT = {
    "name": "urgent",
    "entrypoint": "python3 -c 'print(1)'",
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
    "resources": {"slots_per_trial": 1, "priority": 1},
    "environment": {"image": "resolute/trial:cpu"},
    "max_restarts": 0,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoHosts]:
    with two_hosts(tmp_path_factory.mktemp("shown")) as site:
        until("both agents are there", lambda: len(agents(site.cluster)) == 2)
        yield site


@pytest.fixture(scope="module")
def undisturbed(site: TwoHosts) -> dict[str, dict[str, torch.Tensor]]:
    """The weights that each launcher's trial ends with when nobody disturbs it."""
    trials = {launcher: ends_well(site, site.cluster.create(gang(launcher), MODEL)) for launcher in LAUNCHERS}
    return {launcher: weights(site.cluster, trial_id) for launcher, trial_id in trials.items()}


def ends_well(site: TwoHosts, experiment_id: int) -> int:
    """Let it hurry on to its end; its only trial."""
    done = site.cluster.data / "storage" / DONE
    done.touch()
    try:
        state = site.cluster.ended(experiment_id, within_s=240)
    finally:
        done.unlink()
    (trial,) = site.cluster.trials(experiment_id)
    assert state == "STATE_COMPLETED", site.cluster.logs(trial["id"])
    return int(trial["id"])


def trial_of(cluster: LocalCluster, experiment_id: int) -> dict[str, Any]:
    (trial,) = until("it has its trial", lambda: cluster.trials(experiment_id))
    return dict(trial)


def checkpointed(cluster: LocalCluster, experiment_id: int, times: int = 1) -> int:
    """Wait until the trial has stored so many checkpoints; its id."""
    trial_id = int(trial_of(cluster, experiment_id)["id"])
    until("it has stored checkpoints", lambda: len(stored(cluster, trial_id)) >= times, within_s=120)
    return trial_id


def stored(cluster: LocalCluster, trial_id: int) -> list[dict[str, Any]]:
    """The trial's checkpoints that are complete."""
    checkpoints: list[dict[str, Any]] = cluster.get(f"/api/v1/trials/{trial_id}/checkpoints")["checkpoints"]
    return [one for one in checkpoints if one["state"] == "STATE_COMPLETED"]


def weights(cluster: LocalCluster, trial_id: int) -> dict[str, torch.Tensor]:
    """Of the model, when all was trained."""
    checkpoints = cluster.get(f"/api/v1/trials/{trial_id}/checkpoints")["checkpoints"]
    last = max(checkpoints, key=lambda one: int(one["metadata"]["steps_completed"]))
    assert int(last["metadata"]["steps_completed"]) == BATCHES
    folder = cluster.data / "storage" / last["uuid"]
    found: dict[str, torch.Tensor] = torch.load(folder / "state_dict.pth", weights_only=False)["models_state_dict"][0]
    return found


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_gang_that_made_room_ends_with_the_weights_of_one_that_never_had_to(
    site: TwoHosts, undisturbed: dict[str, dict[str, torch.Tensor]], launcher: str
) -> None:
    """There is dropout in this network: each rank goes on with its own random numbers."""
    experiment_id = site.cluster.create(gang(launcher), MODEL)
    trial_id = checkpointed(site.cluster, experiment_id)
    urgent = site.cluster.create(URGENT, MODEL)
    assert site.cluster.ended(urgent) == "STATE_COMPLETED"
    ends_well(site, experiment_id)
    assert trial_of(site.cluster, experiment_id)["restarts"] == 0, "to make room is not to fail"
    why = site.cluster.resolute("log", "why", f"trial-{trial_id}", "preempted")
    assert f"run 1 of trial {trial_id} gave its slots back" in why
    after = weights(site.cluster, trial_id)
    for name, expected in undisturbed[launcher].items():
        torch.testing.assert_close(after[name], expected, rtol=0, atol=TOLERANCE)


def rank_process(site: TwoHosts, rank: int) -> int:
    """On this machine, whichever container it is in. What wraps it has the same variables, and one word more."""
    words = ("determined.exec.harness", f"HOROVOD_RANK={rank}\0", f"DET_CLUSTER_ID={site.hosts[0].cluster_id}\0")

    def found() -> set[int]:
        return set(processes_with(*words)) - set(processes_with("determined.launch.wrap_rank", *words))

    [pid] = until(f"rank {rank} trains", found)
    return int(pid)


def kill_rank(site: TwoHosts) -> str:
    os.kill(rank_process(site, 2), signal.SIGKILL)
    return r"rank 2 on host-b ended with exit code 137 \(SIGKILL\)"


def kill_container(site: TwoHosts) -> str:
    [container] = site.named("host-b").containers(alive=True)
    docker("kill", "--signal", "KILL", container)
    return r"(container|rank) \d.* on \S+ .*(gone|9|SIGKILL)"


def kill_agent(site: TwoHosts) -> str:
    """Its host with it, and all that ran there; the agent comes back after it was given up."""
    host = site.named("host-b")
    host.kill()
    until("it is given up", lambda: agents(site.cluster) == ["host-a"])
    host.start()
    return "agent host-b"


@pytest.mark.parametrize("kill", [kill_rank, kill_container, kill_agent])
def test_whoever_of_a_gang_is_killed_that_is_told_and_it_ends(site: TwoHosts, kill: Any) -> None:
    experiment_id = site.cluster.create(gang("horovod", name=kill.__name__), MODEL)
    trial_id = checkpointed(site.cluster, experiment_id)
    told = kill(site)
    ends_well(site, experiment_id)
    story = site.cluster.logs(trial_id) + site.cluster.resolute("log", "show", f"experiment-{experiment_id}")
    assert re.search(told, story), story
    assert trial_of(site.cluster, experiment_id)["restarts"] <= 1
    assert weights(site.cluster, trial_id)


def left(host: FarHost) -> list[str]:
    return host.containers(alive=True)


def test_nothing_of_them_is_left(site: TwoHosts) -> None:
    until("every container has gone", lambda: not any(left(host) for host in site.hosts))
