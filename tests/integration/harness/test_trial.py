"""Whole trials as processes: preempted, killed, resumed, on several slots, and tried out without a cluster."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.integration.harness.conftest import Task
from tests.unit.harness.conftest import Master

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
SMALL = """
import time, torch
from determined import pytorch

class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))
    def loader(self):
        records = torch.arange(16.0).unsqueeze(1) / 16
        return pytorch.DataLoader(torch.utils.data.TensorDataset(records),
                                  batch_size=self.context.get_per_slot_batch_size(), shuffle=True)
    build_training_data_loader = build_validation_data_loader = loader
    def train_batch(self, batch, epoch_idx, batch_idx):
        time.sleep(self.context.get_hparams().get("pause_s", 0.005))
        loss = (self.model(batch[0]) - 2 * batch[0]).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}
    def evaluate_batch(self, batch, batch_idx):
        return {"loss": (self.model(batch[0]) - 2 * batch[0]).pow(2).mean()}
"""
CONFIG = {
    "entrypoint": "model_def:Trial",
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 300}},
    "hyperparameters": {"global_batch_size": 4},
    "scheduling_unit": 10,
    "min_checkpoint_period": {"batches": 20},
    "checkpoint_policy": "none",
}


def test_a_trial_that_was_preempted_then_killed_ends_with_the_weights_of_one_that_was_not(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes], until: Callable[..., None]
) -> None:
    master.context = tgz({"model_def.py": SMALL})
    code, output = task(CONFIG).run()
    assert code == 0, output
    straight = master.metrics("validation")[-1]
    master.calls.clear()

    slow = {**CONFIG, "hyperparameters": {"global_batch_size": 4, "pause_s": 0.04}}
    process = task(slow).start()
    until(lambda: len(master.checkpoints()) >= 2, 120)
    master.preempt()
    assert process.wait(120) == 0
    assert len(master.posted("/signals/ack_preemption")) == 1
    preempted_at = steps_of(master.checkpoints()[-1])
    assert preempted_at < 300
    master.stop()
    master._preempt = False
    master.start()

    process = task(slow, DET_LATEST_CHECKPOINT=master.checkpoints()[-1]["uuid"]).start()
    until(lambda: steps_of(master.checkpoints()[-1]) >= preempted_at + 20, 120)
    process.send_signal(signal.SIGKILL)
    process.wait(120)
    killed_at = steps_of(master.checkpoints()[-1])
    assert killed_at < 300

    code, output = task(CONFIG, DET_LATEST_CHECKPOINT=master.checkpoints()[-1]["uuid"]).run()
    assert code == 0, output
    assert master.metrics("validation")[-1] == straight
    assert {steps for steps, _ in master.metrics("training")} == set(range(10, 301, 10))


def steps_of(checkpoint: dict[str, Any]) -> int:
    return int(checkpoint["metadata"]["steps_completed"])


def test_a_gateway_that_restarts_in_the_middle_goes_unnoticed(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes], until: Callable[..., None]
) -> None:
    master.context = tgz({"model_def.py": SMALL})
    process = task(CONFIG).start()
    until(lambda: len(master.metrics("training")) >= 5, 120)
    master.stop()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    master.start()
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert [steps for steps, _ in master.metrics("training")] == list(range(10, 301, 10))


def test_two_slots_train_one_model(master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]) -> None:
    master.context = tgz({"model_def.py": SMALL})
    config = {**CONFIG, "resources": {"slots_per_trial": 2}}
    config["searcher"] = {"name": "single", "metric": "loss", "max_length": {"batches": 20}}
    code, output = task(config, DET_SLOT_IDS="[0, 1]").run()
    assert code == 0, output
    assert "[rank=1] " in output
    assert [steps for steps, _ in master.metrics("training")] == [10, 20]
    assert [one["metadata"]["steps_completed"] for one in master.checkpoints()] == [20]


def test_two_machines_train_one_model(master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]) -> None:
    master.context = tgz({"model_def.py": SMALL})
    config = {**CONFIG, "resources": {"slots_per_trial": 2}}
    config["searcher"] = {"name": "single", "metric": "loss", "max_length": {"batches": 20}}
    for rank in (0, 1):
        place = {"addresses": ["127.0.0.1", "127.0.0.1"], "rank": rank, "slots": [1, 1]}
        master.answers[f"/container-{rank}/rendezvous"] = (200, {"rendezvousInfo": place})
    machines = []
    for rank in (0, 1):
        one = task(config, DET_RESOURCES_ID=f"container-{rank}")
        # Each machine has folders of its own; only the storage is shared.
        for name, folder in (("DET_RUN_DIR", f"run{rank}"), ("DET_WORKDIR", f"work{rank}")):
            (one.folder / folder).mkdir()
            one.env[name] = str(one.folder / folder)
        one.start()
        machines.append(one.process)
    outputs = [process.communicate(timeout=240)[0] for process in machines]
    assert [process.returncode for process in machines] == [0, 0], outputs
    assert [steps for steps, _ in master.metrics("training")] == [10, 20]
    assert [steps_of(one) for one in master.checkpoints()] == [20]


def test_the_core_api_example_runs_on_a_cluster_and_resumes(
    master: Master, task: Callable[..., Task], example: Callable[[str], bytes], until: Callable[..., None]
) -> None:
    master.context = example("core_api")
    config = yaml.safe_load((EXAMPLES / "core_api" / "const.yaml").read_text())
    code, output = task(config).run()
    assert code == 0, output
    assert master.metrics("validation")[-1][1]["accuracy"] > 0.9
    seventh = master.checkpoints()[6]
    master.calls.clear()
    code, output = task(config, DET_LATEST_CHECKPOINT=seventh["uuid"]).run()
    assert code == 0, output
    assert "resumed after step 140" in output
    assert [steps for steps, _ in master.metrics("validation")] == [160, 180, 200]


def test_the_core_api_example_runs_by_itself(tmp_path: pathlib.Path) -> None:
    command = [sys.executable, str(EXAMPLES / "core_api" / "train.py")]
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    answer = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert "progress: 100 %" in answer.stderr


def test_the_digits_example_is_read_above_95_percent(
    master: Master, task: Callable[..., Task], example: Callable[[str], bytes]
) -> None:
    pytest.importorskip("sklearn")
    master.context = example("mnist_pytorch")
    config = yaml.safe_load((EXAMPLES / "mnist_pytorch" / "const.yaml").read_text())
    code, output = task(config).run()
    assert code == 0, output
    assert "deprecated" not in output, "a newcomer's first experiment is written in the present way"
    validations = master.metrics("validation")
    assert len(validations) >= 5
    assert validations[-1][1]["accuracy"] > 0.95
    assert len(master.checkpoints()) >= 2


LOCAL = """
import sys, yaml
from determined import local_test
sys.exit(local_test.run(yaml.safe_load(open(sys.argv[1])), sys.argv[2]))
"""


def try_out(config: pathlib.Path, folder: pathlib.Path) -> tuple[int, str]:
    command = [sys.executable, "-c", LOCAL, str(config), str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.returncode, answer.stdout + answer.stderr


def test_a_trial_class_is_tried_out_without_a_cluster(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text(SMALL)
    searched = {"global_batch_size": {"type": "int", "minval": 2, "maxval": 8}}
    (tmp_path / "const.yaml").write_text(yaml.safe_dump({**CONFIG, "hyperparameters": searched}))
    code, output = try_out(tmp_path / "const.yaml", tmp_path)
    assert code == 0, output
    assert "passed: one batch trained, one validation, one checkpoint" in output


def test_a_broken_one_shows_its_traceback(tmp_path: pathlib.Path) -> None:
    (tmp_path / "model_def.py").write_text(SMALL.replace("loss = ", "1 / 0; loss = "))
    (tmp_path / "const.yaml").write_text(yaml.safe_dump(CONFIG))
    code, output = try_out(tmp_path / "const.yaml", tmp_path)
    assert code == 1
    assert "ZeroDivisionError" in output
    assert "model_def.py" in output


def test_a_script_cannot_be_tried_out_and_is_told_so(tmp_path: pathlib.Path) -> None:
    (tmp_path / "const.yaml").write_text(yaml.safe_dump({**CONFIG, "entrypoint": "python3 train.py"}))
    code, output = try_out(tmp_path / "const.yaml", tmp_path)
    assert code == 1
    assert "entrypoint" in output
