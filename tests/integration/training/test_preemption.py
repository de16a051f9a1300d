"""Being asked to stop, with real ranks: one decision, heard by all after the same batch."""

from __future__ import annotations

import pathlib

import pytest

from tests.integration.training.conftest import Start
from tests.unit.harness.conftest import Master, until

PROGRAM = str(pathlib.Path(__file__).with_name("stops.py"))
RANKS = range(4)


def stopped(start: Start, master: Master, place: pathlib.Path, mode: str, machines: int) -> list[int]:
    """The batch after which each rank stopped, when it was asked in the middle of training."""
    gang = start([PROGRAM, mode, str(place)], len(RANKS), machines=machines)
    until(lambda: all((place / f"training.{rank}").exists() for rank in RANKS), within_s=60)
    master.preempt()
    gang.succeed(within_s=60)
    return [int((place / f"stopped.{rank}").read_text()) for rank in RANKS]


@pytest.mark.parametrize("machines", [1, 2])
@pytest.mark.parametrize("mode", ["WorkersAskChief", "ChiefOnly"])
def test_all_ranks_stop_after_the_same_batch_though_one_is_behind(
    master: Master, start: Start, tmp_path: pathlib.Path, mode: str, machines: int
) -> None:
    batches = stopped(start, master, tmp_path / "out", mode, machines)
    assert len(set(batches)) == 1
    assert batches[0] > 3
    assert len(master.posted("/signals/ack_preemption")) == 1


def test_where_only_the_chief_may_ask_the_others_are_refused(
    master: Master, start: Start, tmp_path: pathlib.Path
) -> None:
    place = tmp_path / "out"
    stopped(start, master, place, "ChiefOnly", 1)
    assert not (place / "refused.0").exists()
    for rank in (1, 2, 3):
        assert f"non-chief worker (rank {rank})" in (place / f"refused.{rank}").read_text()


def test_workers_that_ask_the_master_wait_for_nobody(master: Master, start: Start, tmp_path: pathlib.Path) -> None:
    batches = stopped(start, master, tmp_path / "out", "WorkersAskMaster", 2)
    assert min(batches) > 3
    assert len(master.posted("/signals/ack_preemption")) == len(RANKS)
