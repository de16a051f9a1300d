"""Checkpoints of many ranks, on one machine and on several: who stores what, and that half of one is never offered."""

from __future__ import annotations

import pathlib

import pytest

from tests.integration.training.conftest import Start
from tests.unit.harness.conftest import Master, until

PROGRAM = str(pathlib.Path(__file__).with_name("shards.py"))
MACHINES = pytest.mark.parametrize("machines", [1, 2])


def told(place: pathlib.Path, rank: int) -> list[str]:
    path = place / f"told.{rank}"
    return path.read_text().splitlines() if path.exists() else []


@MACHINES
def test_every_rank_brings_its_files_and_what_is_the_same_is_stored_once(
    master: Master, start: Start, tmp_path: pathlib.Path, machines: int
) -> None:
    start([PROGRAM, "upload", str(tmp_path / "out")], 4, machines=machines).succeed()
    said = {told(tmp_path / "out", rank)[0] for rank in range(4)}
    assert len(said) == 1
    one, two = said.pop().split()
    completed = {checkpoint["uuid"]: checkpoint for checkpoint in master.checkpoints()}
    assert list(completed) == [one, two]
    files = {"metadata.json", "vocabulary", *(f"weights.{rank}" for rank in range(4))}
    assert set(completed[one]["resources"]) == files
    assert {path.name for path in (tmp_path / "storage" / one).iterdir()} == files
    assert (tmp_path / "storage" / one / "weights.3").read_text() == "3" * 100
    where = {str(rank): rank * machines // 4 for rank in range(4)}
    assert completed[one]["metadata"] == {"steps_completed": 3, "ranks": where}
    shared = {path for path in completed[two]["resources"] if path != "metadata.json"}
    assert shared == {f"of-machine-0.{rank}" for rank in range(4 // machines)}


@MACHINES
def test_every_rank_writes_into_one_folder(master: Master, start: Start, tmp_path: pathlib.Path, machines: int) -> None:
    start([PROGRAM, "store", str(tmp_path / "out")], 4, machines=machines).succeed()
    (checkpoint,) = master.checkpoints()
    assert set(checkpoint["resources"]) == {"metadata.json", "shards/", *(f"shards/{rank}" for rank in range(4))}


@MACHINES
def test_a_rank_that_fails_in_the_middle_is_named_on_all_and_leaves_nothing(
    master: Master, start: Start, tmp_path: pathlib.Path, machines: int
) -> None:
    start([PROGRAM, "fail", str(tmp_path / "out")], 4, machines=machines).succeed()
    for rank in range(4):
        said, _ = told(tmp_path / "out", rank)
        assert said == "the disk is full" if rank == 2 else "rank 2 failed with OSError: the disk is full" in said
    (later,) = master.checkpoints()
    assert [path.name for path in (tmp_path / "storage").iterdir()] == [later["uuid"]]


@pytest.mark.parametrize("killed", [0, 3])
def test_a_checkpoint_cut_off_by_a_death_is_never_offered_and_nobody_hangs(
    master: Master, start: Start, tmp_path: pathlib.Path, killed: int
) -> None:
    gang = start([PROGRAM, "hold", str(tmp_path / "out")], 4, machines=2)
    until(lambda: all(told(tmp_path / "out", rank) for rank in range(4)), within_s=60)
    gang.kill(killed)
    until(lambda: all(gang.processes[rank].poll() is not None for rank in range(3)), within_s=60)
    gang.kill(3)
    assert all(gang.wait())
    assert master.checkpoints() == []
    assert [path for path in (tmp_path / "storage").iterdir() if not path.name.endswith(".partial")] == []


def test_machines_without_a_common_place_are_told_so_instead_of_storing_half(
    master: Master, start: Start, tmp_path: pathlib.Path
) -> None:
    start([PROGRAM, "apart", str(tmp_path / "out")], 4, machines=2).succeed()
    for rank in range(4):
        uploaded, stored = told(tmp_path / "out", rank)
        assert "checkpoint_storage.host_path has to be the same shared folder on all of them" in uploaded
        assert "rank 0 does not see weights.2, weights.3" in uploaded
        assert "rank 2 does not see shards/0, shards/1" in stored
    assert master.checkpoints() == []
    assert [path for at in (0, 1) for path in (tmp_path / f"storage-of-{at}").iterdir()] == []


@pytest.mark.parametrize("machines", [1, 2, 4])
def test_a_machine_fetches_what_any_of_its_ranks_wants(
    master: Master, start: Start, tmp_path: pathlib.Path, machines: int
) -> None:
    start([PROGRAM, "store", str(tmp_path / "stored")], 4, machines=machines).succeed()
    (checkpoint,) = master.checkpoints()
    out = tmp_path / "out"
    start([PROGRAM, "fetch", str(out)], 4, machines=machines, latest=checkpoint["uuid"]).succeed()
    on_machine = 4 // machines
    for rank in range(4):
        first = rank // on_machine * on_machine
        together = [str(other) for other in range(first, first + on_machine)]
        alone = ["metadata.json", "shards"] if rank % 2 else []
        assert told(out, rank) == [" ".join([*together, *alone, str(rank)])]
    assert [path.name for path in (out / "alone-3" / "shards").iterdir()] == ["3"]


def test_where_one_machine_does_not_find_a_checkpoint_none_goes_on_without_it(
    start: Start, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "storage-of-0" / "c0ffee").mkdir(parents=True)
    start([PROGRAM, "seek", str(tmp_path / "out")], 4, machines=2, latest="c0ffee").succeed()
    for rank in range(4):
        (said,) = told(tmp_path / "out", rank)
        assert "no finished checkpoint c0ffee" in said
        assert said.startswith("RuntimeError: rank 2 failed" if rank < 2 else "CheckpointNotFound")
