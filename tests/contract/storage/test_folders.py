"""Storages that are folders: tasks write there by themselves, links included, while services read and delete."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from determined.common import storage
from determined.common.storage import Access, _directory
from determined.errors import CheckpointNotFound
from resolute.storage import choosing, files_of, open_storage, tar_chunks
from tests.contract.storage.conftest import OTHER, UUID, Place


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no task may read, with the file `a.pt`."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.pt").write_text("secret")
    return tmp_path / "outside"


def test_links_out_of_a_checkpoint_are_neither_listed_read_nor_followed_by_deletion(
    folder: Place, outside: Path
) -> None:
    home, service = folder.root / UUID, folder.service
    (home / "file_link").symlink_to(outside / "a.pt")
    (home / "dir_link").symlink_to(outside)
    (home / "circle").symlink_to("circle")
    (home / "inner_link").symlink_to("weights/a.pt")
    assert {"file_link", "dir_link", "dir_link/", "dir_link/a.pt", "circle"}.isdisjoint(service.listing(UUID))
    assert service.listing(UUID)["inner_link"] == 4
    with service.open(UUID, "inner_link") as file:
        assert file.read() == b"aaaa"
    for path in ("file_link", "dir_link/a.pt", "circle"):
        with pytest.raises(CheckpointNotFound):
            service.open(UUID, path)
    assert service.delete(UUID, choosing(["dir_link/*", "**/*"])) == {}
    assert service.delete(UUID) == {}
    assert (outside / "a.pt").read_text() == "secret"


def test_a_task_finds_behind_a_link_what_it_could_read_itself(folder: Place, outside: Path, tmp_path: Path) -> None:
    (folder.root / UUID / "file_link").symlink_to(outside / "a.pt")
    assert folder.task.listing(UUID)["file_link"] == len("secret")
    folder.task.download(UUID, tmp_path / "target", {"file_link"})
    assert (tmp_path / "target" / "file_link").read_text() == "secret"


def test_a_checkpoint_that_is_a_link_holds_nothing_and_goes_while_its_target_stays(folder: Place) -> None:
    (folder.root / OTHER).symlink_to(folder.root / UUID)
    assert files_of(folder.service, OTHER) == {}
    with pytest.raises(CheckpointNotFound):
        folder.service.open(OTHER, "notes.txt")
    folder.service.delete(OTHER)
    assert not (folder.root / OTHER).is_symlink()
    assert folder.service.listing(UUID)


def swap(place: Path, outside: Path) -> None:
    place.rename(place.with_name("moved"))
    place.symlink_to(outside)


def swap_when_checked(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Once the path was found to stay inside, the task puts something else there."""
    found = _directory.real  # type: ignore[attr-defined]  # the name that the module itself uses
    asked: list[Path] = []

    def real(place: Path) -> Path:
        answer = found(place)
        asked.append(place)
        if len(asked) == 2:
            act()
        return answer

    monkeypatch.setattr(_directory, "real", real)


@pytest.mark.parametrize("part", ["", "weights", "weights/a.pt"])
def test_a_link_that_a_task_puts_in_while_a_service_opens_a_file_is_not_followed(
    folder: Place, outside: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    (outside / "weights").mkdir()
    (outside / "weights" / "a.pt").write_text("secret")
    target = {"": outside, "weights": outside, "weights/a.pt": outside / "a.pt"}[part]
    swap_when_checked(monkeypatch, lambda: swap(folder.root / UUID / part, target))
    with pytest.raises(CheckpointNotFound):
        folder.service.open(UUID, "weights/a.pt")


def test_a_named_pipe_in_the_place_of_a_file_holds_no_service_up(
    folder: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder.root / UUID / "notes.txt"

    def make_pipe() -> None:
        place.unlink()
        os.mkfifo(place)

    swap_when_checked(monkeypatch, make_pipe)
    with pytest.raises(CheckpointNotFound):
        folder.service.open(UUID, "notes.txt")


@pytest.mark.parametrize("part", ["", "weights"])
def test_a_link_that_a_task_puts_in_while_a_service_deletes_is_not_followed(
    folder: Place, outside: Path, part: str
) -> None:
    (outside / "weights").mkdir()
    (outside / "weights" / "a.pt").write_text("precious")

    def choose(paths: Collection[str]) -> Collection[str]:
        swap(folder.root / UUID / part, outside)
        return paths

    folder.service.delete(UUID, choose)
    assert (outside / "a.pt").exists()
    assert (outside / "weights" / "a.pt").exists()


def test_event_files_behind_a_link_stay(folder: Place, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.root / "cluster").symlink_to(outside)
    folder.service.remove("cluster/a.pt")
    assert (outside / "a.pt").exists()
    (folder.root / "other" / "deep").mkdir(parents=True)
    (folder.root / "other" / "deep" / "a.pt").write_text("x")
    swap_when_checked(monkeypatch, lambda: swap(folder.root / "other" / "deep", outside))
    folder.service.remove("other/deep/a.pt")
    assert (outside / "a.pt").exists()


def test_what_cannot_be_removed_is_said(folder: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *, dir_fd: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr("determined.common.storage._confined.shutil.rmtree", refuse)
    with pytest.raises(PermissionError):
        folder.service.delete(UUID)


def test_a_file_that_grows_while_it_is_downloaded_breaks_the_stream(folder: Place) -> None:
    chunks = tar_chunks(folder.service, UUID)
    next(chunks)
    (folder.root / UUID / "notes.txt").write_text("longer than it was")
    with pytest.raises(OSError, match="changed while it was read"):
        b"".join(chunks)


@pytest.mark.parametrize(
    ("host_path", "storage_path", "root"),
    [
        ("/data", None, "/data"),
        ("/data", "team", "/data/team"),
        ("/data", "/data/team", "/data/team"),
        ("/data", "team/../other", "/data/other"),
        ("/data/x/../y", "team", "/data/x/../y/team"),
        ("/", "data", "/data"),
    ],
)
def test_tasks_services_and_people_look_for_shared_files_in_the_same_place(
    host_path: str, storage_path: str | None, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = {"type": "shared_fs", "host_path": host_path, "storage_path": storage_path}
    for access in Access:
        assert storage.open_storage(section, access).root == Path(root)
    monkeypatch.setenv("DET_SHARED_FS_ROOT", "/mounted")
    below = os.path.relpath(os.path.normpath(root), os.path.normpath(host_path))
    assert storage.open_storage(section, Access.TASK).root == Path("/mounted", below)
    assert open_storage(section).root == Path(root)
