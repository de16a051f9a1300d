"""A folder that a checkpoint is downloaded to is complete, or does not look as if it were."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from determined.common.client.checkpoint_files import arriving

LAST = ("metadata.json",)


def contents(folder: Path) -> set[str]:
    return {str(entry.relative_to(folder)) for entry in folder.rglob("*")}


def fetch(folder: Path) -> None:
    (folder / "metadata.json").write_text("{}")
    (folder / "code" / "empty").mkdir(parents=True)
    (folder / "code" / "model.py").write_text("new")
    (folder / "latest").symlink_to("code")


def fail(target: Path) -> None:
    with arriving(target, LAST) as folder:
        fetch(folder)
        _ = 1 / 0


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def test_files_arrive_together_with_folders_and_links_in_place_of_older_ones(target: Path) -> None:
    (target / "code").mkdir()
    (target / "code" / "model.py").write_text("old")
    with arriving(target, LAST) as folder:
        fetch(folder)
    assert contents(target) == {"metadata.json", "code", "code/empty", "code/model.py", "latest"}
    assert (target / "latest" / "model.py").read_text() == "new"


def test_nothing_arrives_of_a_download_that_failed(target: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(target)
    assert contents(target) == set()


def test_what_says_that_a_folder_is_complete_comes_last(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, moved = os.replace, []

    def note(source: Path, target: Path) -> None:
        moved.append(target.name)
        replace(source, target)

    monkeypatch.setattr(os, "replace", note)
    with arriving(target, LAST) as folder:
        fetch(folder)
    assert moved[-1] == "metadata.json"
    assert set(moved) == {"model.py", "latest", "metadata.json"}
