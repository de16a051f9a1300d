"""The DeepSpeed example, with real ranks: shards of one checkpoint, one decision to stop, and going on from there."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from tests import needs
from tests.integration.training.conftest import Start
from tests.integration.training.ranks import started
from tests.unit.harness.conftest import Master

pytestmark = [pytest.mark.timeout(900), needs.deepspeed]

EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "deepspeed_toy"
CONFIG: dict[str, Any] = yaml.safe_load((EXAMPLE / "const.yaml").read_text())
PROGRAM = [str(EXAMPLE / "train.py")]


def steps_of(checkpoint: Any) -> int:
    steps: int = checkpoint["metadata"]["steps_completed"]
    return steps


def test_zero_1_on_two_ranks_is_preempted_and_resumed_and_ends_as_if_nothing_had_been(
    master: Master, start: Start
) -> None:
    start(PROGRAM, 2, by="deepspeed", **CONFIG).succeed()
    straight = master.metrics("validation")
    assert [steps for steps, _ in straight] == [20, 40, 60, 80, 100, 120]
    assert straight[-1][1]["validation_loss"] < 0.06
    master.calls.clear()

    master.preempt()
    start(PROGRAM, 2, by="deepspeed", **CONFIG).succeed()
    (checkpoint,) = master.checkpoints()
    assert steps_of(checkpoint) == 20
    shares = [path for path in checkpoint["resources"] if path.endswith("optim_states.pt")]
    assert len(shares) == 2
    assert len(master.posted("/signals/ack_preemption")) == 1

    master._preempt = False
    resumed = start(PROGRAM, 2, by="deepspeed", latest=checkpoint["uuid"], **CONFIG)
    resumed.succeed()
    assert all(f"rank {rank} resumed after step 20" in resumed.logs[rank].read_text() for rank in (0, 1))
    after = master.metrics("validation")
    assert [steps for steps, _ in after] == [steps for steps, _ in straight]
    assert after[-1][1]["validation_loss"] == pytest.approx(straight[-1][1]["validation_loss"], abs=1e-6)


def test_the_example_runs_by_itself(tmp_path: pathlib.Path) -> None:
    with started(PROGRAM, tmp_path, 1, by="alone") as alone:
        alone.succeed()
        assert "progress: 100 %" in alone.said()
