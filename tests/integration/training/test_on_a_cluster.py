"""The examples that train on several slots, as somebody runs them: on a cluster of two agents with two slots each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sklearn.datasets import load_digits

from tests import needs
from tests.integration.cluster.local import ROOT, LocalCluster, local_cluster, until

pytestmark = pytest.mark.timeout(900)

TORCH = "python3 -m determined.launch.torch_distributed -- --trial slow:Slow"
LAST = 60
"""Batches that a trial trains."""
SLOW = """
import os, time
import data, torch
from model_def import MNistTrial
from torch.utils.data import TensorDataset

# The test reads the digits once: importing scikit-learn for them would take each rank more than a second.
data.digits = lambda: [TensorDataset(*tensors) for tensors in torch.load("digits.pt")]

class Slow(MNistTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        if not os.path.exists(self.context.get_hparam("hurries_once_there_is")):
            time.sleep(0.3)
        return super().train_batch(batch, epoch_idx, batch_idx)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    home = tmp_path_factory.mktemp("training")
    home.chmod(0o755)
    with local_cluster(home, agents=2, slots=2) as cluster:
        yield cluster


def example(name: str, file: str, **changes: Any) -> tuple[dict[str, Any], Path]:
    folder = ROOT / "examples" / name
    return {**yaml.safe_load((folder / file).read_text()), **changes}, folder


class Digits:
    """The distributed example, shorter. A trial takes its time, so that it can be interrupted, until it may hurry."""

    def __init__(self, cluster: LocalCluster, entrypoint: str, folder: Path) -> None:
        self.config, place = example("mnist_pytorch", "distributed.yaml", entrypoint=entrypoint, scheduling_unit=5)
        del self.config["min_checkpoint_period"], self.config["min_validation_period"]
        self._cluster, self._hurry = cluster, cluster.data / "storage" / "hurry"
        self.config["hyperparameters"]["hurries_once_there_is"] = str(self._hurry)
        self.config["searcher"]["max_length"] = {"batches": LAST}
        self._context = folder / "digits"
        shutil.copytree(place, self._context)
        (self._context / "slow.py").write_text(SLOW)
        torch.save(training_and_validation_data(), self._context / "digits.pt")

    def begin(self, *, hurry: bool) -> int:
        """The number of an experiment, whose one trial begins now."""
        self.may_hurry(hurry)
        return self._cluster.create(self.config, self._context)

    def may_hurry(self, hurry: bool = True) -> None:
        if hurry:
            self._hurry.touch()
        else:
            self._hurry.unlink(missing_ok=True)


def training_and_validation_data() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The images and labels that the example trains with, and those that it keeps for validation."""
    found = load_digits()
    images = torch.tensor(found.images / 16, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(found.target)
    held_out = torch.arange(len(labels)) % 5 == 0
    return [(images[~held_out], labels[~held_out]), (images[held_out], labels[held_out])]


def completed(cluster: LocalCluster, experiment_id: int) -> dict[str, Any]:
    """Wait for the end, which must be a good one; the trial."""
    if cluster.ended(experiment_id, within_s=180) != "STATE_COMPLETED":
        raise AssertionError("\n".join(cluster.logs(int(trial["id"])) for trial in cluster.trials(experiment_id)))
    (trial,) = cluster.trials(experiment_id)
    return trial


def checkpoints(cluster: LocalCluster, experiment_id: int) -> dict[int, str]:
    """Those that are complete, by the batch they were taken after."""
    found = cluster.get(f"/api/v1/experiments/{experiment_id}/checkpoints")["checkpoints"]
    complete = [one for one in found if one["state"] == "STATE_COMPLETED"]
    return {int(one["metadata"]["steps_completed"]): one["uuid"] for one in complete}


def batches_trained(cluster: LocalCluster, experiment_id: int) -> int:
    """As reported so far."""
    return max((int(trial.get("totalBatchesProcessed") or 0) for trial in cluster.trials(experiment_id)), default=0)


def weights(cluster: LocalCluster, experiment_id: int) -> torch.Tensor:
    """The trained network's parameters, one after another."""
    uuid = checkpoints(cluster, experiment_id)[LAST]
    state = torch.load(cluster.data / "storage" / uuid / "state_dict.pth", weights_only=False)
    return torch.cat([value.reshape(-1) for value in state["models_state_dict"][0].values()])


def pause_in_the_middle(cluster: LocalCluster, experiment_id: int) -> None:
    until("training has begun", lambda: batches_trained(cluster, experiment_id), within_s=120)
    cluster.det("experiment", "pause", str(experiment_id))
    until("they have left a checkpoint", lambda: checkpoints(cluster, experiment_id), within_s=120)
    assert max(checkpoints(cluster, experiment_id)) < LAST


def test_four_ranks_on_two_agents_that_are_paused_end_with_the_weights_of_those_that_were_not(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """There is dropout in this network: each rank goes on with its own random numbers. Gangs that make room for others,
    by Horovod as well, are in `integration/shown`."""
    digits = Digits(cluster, TORCH, tmp_path)
    straight = digits.begin(hurry=True)
    assert completed(cluster, straight)["restarts"] == 0

    stopped = digits.begin(hurry=False)
    pause_in_the_middle(cluster, stopped)
    digits.may_hurry()
    cluster.det("experiment", "activate", str(stopped))
    trial = completed(cluster, stopped)
    assert "resuming after batch" in cluster.logs(int(trial["id"]))
    difference = (weights(cluster, stopped) - weights(cluster, straight)).abs().max()
    assert difference < 1e-5


def test_a_trial_on_a_range_of_slots_loses_an_agent_and_learns_the_same(cluster: LocalCluster, tmp_path: Path) -> None:
    digits = Digits(cluster, TORCH, tmp_path)
    digits.config["resources"] = {"slots_per_trial": {"min": 2, "max": 4}}
    digits.config["hyperparameters"]["dropout"] = 0.0  # which records share a rank decides what is dropped
    straight = digits.begin(hurry=True)
    completed(cluster, straight)

    moved = digits.begin(hurry=False)
    pause_in_the_middle(cluster, moved)
    digits.may_hurry()
    as_admin(cluster, "agent", "disable", "agent-2")
    try:
        cluster.det("experiment", "activate", str(moved))
        trial = completed(cluster, moved)
    finally:
        as_admin(cluster, "agent", "enable", "agent-2")
    resumed = [line for line in cluster.logs(int(trial["id"])).splitlines() if "resuming after batch" in line]
    assert len(resumed) == 2, "two ranks went on of the four that began"
    difference = (weights(cluster, moved) - weights(cluster, straight)).abs().max()
    assert difference < 1e-4


def as_admin(cluster: LocalCluster, *words: str) -> None:
    user = {"DET_USER": "admin", "DET_PASS": ""}
    cluster.env.update(user)
    try:
        cluster.det(*words)
    finally:
        for name in user:
            del cluster.env[name]


@needs.deepspeed
def test_deepspeed_trains_under_our_launcher(cluster: LocalCluster) -> None:
    experiment_id = cluster.create(*example("deepspeed_toy", "const.yaml"))
    trial = completed(cluster, experiment_id)
    assert cluster.validations(int(trial["id"])) == [20, 40, 60, 80, 100, 120]
    newest = cluster.data / "storage" / checkpoints(cluster, experiment_id)[120] / "engine"
    assert len(list(newest.glob("*optim_states.pt"))) == 2
