"""Trial classes on real ranks: preempted in the middle, and validated where ranks have more and less to do."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from tests import needs
from tests.integration.training.conftest import Start
from tests.integration.training.ranks import started
from tests.unit.harness.conftest import Master, until

pytestmark = pytest.mark.timeout(900)

HERE = pathlib.Path(__file__).parent
ROOT = str(pathlib.Path(__file__).parents[3])
LAUNCHERS = pytest.mark.parametrize("by", ["torch", pytest.param("horovod", marks=needs.horovod)])
CONFIG = {
    "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 60}},
    "hyperparameters": {"global_batch_size": 24},
}


PROGRAM, ENV = str(HERE / "interrupted.py"), {"PYTHONPATH": ROOT}


def hurry(place: pathlib.Path) -> None:
    place.mkdir(exist_ok=True)
    (place / "hurry").touch()


def told(place: pathlib.Path, name: str) -> Any:
    return json.loads((place / f"{name}.json").read_text())


@LAUNCHERS
def test_a_trial_preempted_in_the_middle_ends_with_the_weights_of_one_process_left_alone(
    master: Master, start: Start, tmp_path: pathlib.Path, by: str
) -> None:
    hurry(tmp_path / "alone")
    start([PROGRAM, str(tmp_path / "alone")], 1, by="alone", env=ENV, **CONFIG).succeed()
    master.calls.clear()

    gang = start([PROGRAM, str(tmp_path / "gang")], 2, by=by, env=ENV, **CONFIG)
    until(lambda: len(master.metrics("training")) >= 10, within_s=100)
    master.preempt()
    gang.succeed()
    latest = master.checkpoints()[-1]
    assert 10 <= latest["metadata"]["steps_completed"] < 60
    assert len(master.posted("/signals/ack_preemption")) == 1

    master._preempt = False
    hurry(tmp_path / "gang")
    start([PROGRAM, str(tmp_path / "gang")], 2, by=by, latest=latest["uuid"], env=ENV, **CONFIG).succeed()
    assert [steps for steps, _ in master.metrics("training")] == list(range(1, 61))
    one, other = (told(tmp_path / "gang", str(rank)) for rank in (0, 1))
    alone = told(tmp_path / "alone", "0")
    assert one["weights"] == other["weights"]
    np.testing.assert_allclose(one["weights"], alone["weights"], rtol=0, atol=1e-5)
    assert one["validation"]["loss"] == pytest.approx(alone["validation"]["loss"], abs=1e-5)


@LAUNCHERS
def test_ranks_with_nothing_to_validate_wait_for_nobody_and_hear_the_same_numbers(
    tmp_path: pathlib.Path, by: str
) -> None:
    with started([str(HERE / "running_statistics.py"), str(tmp_path / "out")], tmp_path, 2, by=by) as gang:
        gang.succeed(within_s=100)
    for kind in ("batches", "dataset"):
        one, other = (told(tmp_path / "out", f"{kind}.{rank}") for rank in (0, 1))
        assert len(one["losses"]) == 3
        assert one == other
