"""What every storage of checkpoints promises to tasks and to services."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from determined.common import storage
from determined.common.storage import StorageManager
from determined.errors import CheckpointNotFound
from resolute.proto.errors import InvalidConfig
from resolute.storage import check_uuid, choosing, event_files, files_of, open_storage, tar_chunks, zip_chunks
from tests.contract.storage.conftest import FILES, OTHER, SECTIONS, UUID, Place

LISTING = {
    "metadata.json": 2, "notes.txt": 0, "weights/": 0, "weights/a.pt": 4, "weights/deep/": 0, "weights/deep/b.pt": 2,
}  # fmt: skip
FOLDERS = {"weights/", "weights/deep/"}


def test_every_type_of_storage_is_in_this_suite() -> None:
    assert {section(Path("/"))["type"] for section in SECTIONS.values()} == set(storage.TYPES)


def read(opened: StorageManager, path: str, storage_id: str = UUID) -> bytes:
    with opened.open(storage_id, path) as file:
        return file.read()


def test_publishing_answers_with_what_a_listing_then_tells_to_all(place: Place, tmp_path: Path) -> None:
    with place.task.staging(UUID) as folder:
        for path in ("weights/deep/b.pt", "notes.txt"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("bb")
    expected = {"metadata.json": 2, "notes.txt": 2, "weights/": 0, "weights/deep/": 0, "weights/deep/b.pt": 2}
    assert place.task.publish(UUID, b"{}") == expected
    for opened in (place.task, place.service):
        assert opened.listing(UUID) == expected
        assert list(opened.listing(UUID)) == sorted(expected)


def test_a_checkpoint_that_is_not_published_is_found_by_nobody(place: Place, tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("w")
    place.task.upload(tmp_path, UUID, {"weights"})
    assert place.task.settle(UUID) == {"weights": 1}
    for opened in (place.task, place.service):
        for attempt in (opened.listing, opened.restore_path, lambda id_: opened.open(id_, "weights")):  # noqa: B023
            with pytest.raises(CheckpointNotFound), contextlib.ExitStack() as stack:
                stack.enter_context(attempt(UUID))  # type: ignore[arg-type]
        with pytest.raises(CheckpointNotFound):
            opened.download(UUID, tmp_path / "target", {"weights"})
    assert files_of(place.service, UUID) == {}


@pytest.mark.parametrize("by", ["discard by its task", "delete by its task", "delete by a service"])
def test_what_was_cut_off_on_its_way_can_be_removed(place: Place, tmp_path: Path, by: str) -> None:
    (tmp_path / "half").write_text("x")
    place.task.upload(tmp_path, UUID, {"half"})
    remove: dict[str, Callable[[str], Any]] = {
        "discard by its task": place.task.discard,
        "delete by its task": place.task.delete,
        "delete by a service": place.service.delete,
    }
    remove[by](UUID)
    remove[by](UUID)
    assert place.task.settle(UUID) == {}


def test_a_checkpoint_is_published_once(stored: Place, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("of somebody else")
    stored.task.upload(tmp_path, UUID, {"notes.txt"})
    with pytest.raises(OSError, match=r"not empty|there already"):
        stored.task.publish(UUID, b"{}")
    assert stored.service.listing(UUID) == LISTING
    assert read(stored.service, "notes.txt") == b""


def test_listing_tells_files_with_sizes_and_directories(stored: Place) -> None:
    assert stored.task.listing(UUID) == stored.service.listing(UUID) == LISTING


def test_a_storage_that_is_not_there_can_tell_nothing(place: Place, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file|nothing at all"):
        place.service.check()
    (tmp_path / "source").mkdir()
    place.write(tmp_path / "source")
    place.service.check()


def test_a_checkpoint_that_never_was_has_no_files(stored: Place) -> None:
    assert files_of(stored.service, OTHER) == {}
    assert stored.service.delete(OTHER) == {}
    assert stored.service.delete(OTHER, choosing(["*"])) == {}


def test_a_file_is_read_as_it_was_written(stored: Place) -> None:
    for opened in (stored.task, stored.service):
        assert read(opened, "weights/a.pt") == b"aaaa"


@pytest.mark.parametrize("path", ["nope", "weights", "weights/", "weights/deep"])
def test_what_is_no_file_is_not_found(stored: Place, path: str) -> None:
    for opened in (stored.task, stored.service):
        with pytest.raises(CheckpointNotFound):
            opened.open(UUID, path)


def test_a_checkpoint_is_restored_whole_and_downloaded_in_part(stored: Place, tmp_path: Path) -> None:
    with stored.task.restore_path(UUID) as folder:
        assert storage.list_resources(folder) == LISTING
        assert (folder / "weights/a.pt").read_bytes() == b"aaaa"
    stored.task.download(UUID, tmp_path / "target", {"weights/", "weights/a.pt", "notes.txt"})
    assert storage.list_resources(tmp_path / "target") == {"notes.txt": 0, "weights/": 0, "weights/a.pt": 4}


def test_deleting_removes_every_file_and_may_be_repeated(stored: Place) -> None:
    for opened in (stored.service, stored.task, stored.service):
        assert opened.delete(UUID) == {}
        assert files_of(opened, UUID) == {}


@pytest.mark.parametrize(
    ("globs", "left"),
    [
        (["*.txt"], {"metadata.json", "weights/", "weights/a.pt", "weights/deep/", "weights/deep/b.pt"}),
        (["**/*.pt"], {"metadata.json", "notes.txt"}),
        (["weights/*.pt"], {"metadata.json", "notes.txt", "weights/", "weights/deep/", "weights/deep/b.pt"}),
        (["weights"], {"metadata.json", "notes.txt"}),
        (["weights/**", "n?tes.[st]xt"], {"metadata.json"}),
        (["**/*"], set()),
        (["**"], set()),
        (["nothing"], {*FILES, *FOLDERS}),
        (["../*", "/etc/*"], {*FILES, *FOLDERS}),
        (["notes.[!t]xt", "notes.[z-a]xt"], {*FILES, *FOLDERS}),
    ],
)
def test_globs_choose_what_goes(stored: Place, globs: list[str], left: set[str]) -> None:
    assert set(stored.service.delete(UUID, choosing(globs))) == left
    assert set(stored.service.delete(UUID, choosing(globs))) == left
    assert set(files_of(stored.service, UUID)) == left


def test_of_what_is_chosen_only_files_of_the_checkpoint_go(stored: Place, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("s")
    assert stored.service.delete(UUID, lambda paths: {"../../outside", str(tmp_path / "outside"), "..", ""}) == LISTING
    assert (tmp_path / "outside").exists()


BAD_IDS = ["", "..", "../x", ".", "/etc", f"{UUID}/..", "a\0b", f"{UUID}.partial"]
BAD_PATHS = ["", "/", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\0b", ".."]


@pytest.mark.parametrize("storage_id", BAD_IDS)
def test_only_a_plain_name_names_a_checkpoint(stored: Place, tmp_path: Path, storage_id: str) -> None:
    attempts: list[Callable[[StorageManager], Any]] = [
        lambda opened: opened.staging(storage_id).__enter__(),
        lambda opened: opened.upload(tmp_path, storage_id, ()),
        lambda opened: opened.settle(storage_id),
        lambda opened: opened.publish(storage_id, b"{}"),
        lambda opened: opened.discard(storage_id),
        lambda opened: opened.listing(storage_id),
        lambda opened: opened.restore_path(storage_id).__enter__(),
        lambda opened: opened.download(storage_id, tmp_path, ()),
        lambda opened: opened.open(storage_id, "notes.txt"),
        lambda opened: opened.delete(storage_id),
        lambda opened: opened.delete(storage_id, lambda paths: paths),
    ]
    for attempt in attempts:
        for opened in (stored.task, stored.service):
            with pytest.raises(ValueError, match="checkpoint id: expected"):
                attempt(opened)
    assert stored.service.listing(UUID) == LISTING


@pytest.mark.parametrize("path", BAD_PATHS)
def test_only_a_plain_path_names_a_file(stored: Place, tmp_path: Path, path: str) -> None:
    source = tmp_path / "event"
    source.write_text("x")
    attempts: list[Callable[[StorageManager], Any]] = [
        lambda opened: opened.upload(tmp_path, OTHER, {path}),
        lambda opened: opened.download(UUID, tmp_path / "target", {path}),
        lambda opened: opened.open(UUID, path),
        lambda opened: opened.put(source, path),
        lambda opened: opened.remove(path),
    ]
    for attempt in attempts:
        for opened in (stored.task, stored.service):
            with pytest.raises(ValueError, match="path: expected"):
                attempt(opened)
    assert stored.service.listing(UUID) == LISTING


@pytest.mark.parametrize("uuid", ["", "..", "../x", ".", "a", f"{UUID}/..", f"{UUID}\n", f"{{{UUID}}}", "*", UUID[:-1]])
def test_of_a_client_services_take_a_uuid_alone(uuid: str) -> None:
    with pytest.raises(InvalidConfig, match="uuid: expected"):
        check_uuid(uuid)
    assert check_uuid(UUID) == UUID


def test_event_files_go_with_their_experiment_alone(stored: Place, tmp_path: Path) -> None:
    (tmp_path / "events.tfevents").write_text("x")
    for cluster, experiment in (("cluster-1", 7), ("cluster-1", 70), ("cluster-2", 7)):
        target = f"{event_files(cluster, experiment)}/trial/1/events.tfevents"
        stored.task.put(tmp_path / "events.tfevents", target)
    stored.service.remove(event_files("cluster-1", 7))
    stored.service.remove(event_files("cluster-1", 7))
    assert not there(stored, event_files("cluster-1", 7))
    assert there(stored, event_files("cluster-1", 70))
    assert there(stored, event_files("cluster-2", 7))
    assert stored.service.listing(UUID) == LISTING


def there(place: Place, target: str) -> bool:
    beside = getattr(place.service, "beside", None)
    if beside is not None:
        return any(path.startswith(f"{target}/") for path in beside)
    return (place.root / target).is_dir()


@pytest.mark.parametrize("compressed", [False, True])
def test_a_checkpoint_downloads_as_a_tar(stored: Place, compressed: bool) -> None:
    blob = b"".join(tar_chunks(stored.service, UUID, compressed=compressed))
    assert (blob[:2] == b"\x1f\x8b") is compressed
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob) if compressed else blob)) as archive:
        found = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]
    assert found == FILES


def test_a_checkpoint_downloads_as_a_zip(stored: Place) -> None:
    with zipfile.ZipFile(io.BytesIO(b"".join(zip_chunks(stored.service, UUID)))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")} == FILES


def test_a_type_without_a_backend_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"checkpoint_storage\.type: expected shared_fs or directory.*'s3'"):
        open_storage({"type": "s3", "bucket": "b"})
