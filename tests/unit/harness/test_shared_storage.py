"""A storage that trials of several owners share, each run by a user of its own."""

from __future__ import annotations

from pathlib import Path

from determined.common import storage


def mode_of(folder: Path) -> int:
    return folder.stat().st_mode & 0o7777


def test_what_owners_share_is_open_to_all_and_a_checkpoint_is_its_owners_alone(tmp_path: Path) -> None:
    manager = storage.DirectoryStorageManager(tmp_path / "team" / "checkpoints")
    with manager.staging("c-1") as folder:
        assert mode_of(folder) & 0o022 == 0
    assert {mode_of(tmp_path / "team"), mode_of(tmp_path / "team" / "checkpoints")} == {0o1777}


def test_the_files_of_an_experiment_lie_in_a_folder_of_its_own_below_one_that_all_share(tmp_path: Path) -> None:
    (tmp_path / "event").write_text("x")
    manager = storage.DirectoryStorageManager(tmp_path / "checkpoints")
    manager.put(tmp_path / "event", "cluster-7/tensorboard/experiment/12/trial/3/event")
    shared = tmp_path / "checkpoints" / "cluster-7" / "tensorboard" / "experiment"
    assert mode_of(shared) == 0o1777
    assert mode_of(shared / "12") & 0o022 == 0


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with storage.DirectoryStorageManager(tmp_path).staging("c-1"):
        assert mode_of(tmp_path) == 0o750
