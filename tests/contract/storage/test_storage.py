"""What every storage of checkpoints promises."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from resolute.proto.errors import InvalidConfig, NotFound
from resolute.storage import Storage, open_storage, tar_chunks, zip_chunks

UUID = "6a2c3a1e-0d6f-4b8e-9d0f-1f2e3d4c5b6a"
OTHER = "00000000-0000-4000-8000-000000000001"

BACKENDS: dict[str, Callable[[Path], tuple[Path, Storage]]] = {
    "shared_fs": lambda tmp: (
        tmp / "ckpt", open_storage({"type": "shared_fs", "host_path": str(tmp), "storage_path": "ckpt"}),
    ),
    "shared_fs without storage_path": lambda tmp: (tmp, open_storage({"type": "shared_fs", "host_path": str(tmp)})),
    "directory": lambda tmp: (tmp / "d", open_storage({"type": "directory", "container_path": str(tmp / "d")})),
}  # fmt: skip


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Storage]:
    return BACKENDS[request.param](tmp_path)


@pytest.fixture
def root(place: tuple[Path, Storage]) -> Path:
    return place[0]


@pytest.fixture
def storage(place: tuple[Path, Storage], root: Path) -> Storage:
    for path, content in FILES.items():
        file = root / UUID / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return place[1]


FILES = {"metadata.json": b"{}", "weights/a.pt": b"aaaa", "weights/deep/b.pt": b"bb", "notes.txt": b""}


def test_listing_tells_files_with_sizes_and_directories(storage: Storage) -> None:
    assert storage.list(UUID) == {
        "metadata.json": 2, "notes.txt": 0, "weights/": 0, "weights/a.pt": 4, "weights/deep/": 0,
        "weights/deep/b.pt": 2,
    }  # fmt: skip


def test_a_storage_that_is_not_there_can_tell_nothing(place: tuple[Path, Storage]) -> None:
    root, storage = place
    with pytest.raises(OSError, match=r"No such file|nothing at all"):
        storage.check()
    (root / UUID).mkdir(parents=True)
    storage.check()


def test_a_checkpoint_that_never_was_has_no_files(storage: Storage) -> None:
    assert storage.list(OTHER) == {}
    assert storage.delete(OTHER) == {}


def test_a_file_is_read_as_it_was_written(storage: Storage) -> None:
    with storage.open(UUID, "weights/a.pt") as file:
        assert file.read() == b"aaaa"


@pytest.mark.parametrize("path", ["nope", "weights", "weights/deep"])
def test_what_is_no_file_is_not_found(storage: Storage, path: str) -> None:
    with pytest.raises(NotFound):
        storage.open(UUID, path)


def test_deleting_removes_every_file_and_may_be_repeated(storage: Storage, root: Path) -> None:
    assert storage.delete(UUID) == {}
    assert not (root / UUID).exists()
    assert storage.delete(UUID) == {}


def test_deleting_removes_what_was_cut_off_on_its_way_too(storage: Storage, root: Path) -> None:
    torn = root / f"{UUID}.partial"
    torn.mkdir(parents=True)
    (torn / "half").write_bytes(b"x")
    storage.delete(UUID)
    assert not torn.exists()


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
        (["nothing"], {*FILES, "weights/", "weights/deep/"}),
        (["../*", "/etc/*"], {*FILES, "weights/", "weights/deep/"}),
        (["notes.[!t]xt", "notes.[z-a]xt"], {*FILES, "weights/", "weights/deep/"}),
    ],
)
def test_globs_choose_what_goes(storage: Storage, globs: list[str], left: set[str]) -> None:
    assert set(storage.delete(UUID, globs)) == left
    assert set(storage.delete(UUID, globs)) == left
    assert set(storage.list(UUID)) == left


@pytest.mark.parametrize("uuid", ["", "..", "../x", ".", "a", f"{UUID}/..", f"{UUID}\n", f"{{{UUID}}}", "*"])
def test_only_a_uuid_names_a_checkpoint(storage: Storage, uuid: str) -> None:
    for attempt in (storage.list, storage.delete, lambda uuid: storage.open(uuid, "metadata.json")):
        with pytest.raises(InvalidConfig, match="uuid: expected"):
            attempt(uuid)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\0b"])
def test_only_a_plain_path_names_a_file(storage: Storage, path: str) -> None:
    with pytest.raises(InvalidConfig, match="path: expected"):
        storage.open(UUID, path)


def test_links_out_of_a_checkpoint_are_neither_listed_read_nor_followed_by_deletion(
    storage: Storage, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (root / UUID / "file_link").symlink_to(outside / "secret")
    (root / UUID / "dir_link").symlink_to(outside)
    (root / UUID / "inner_link").symlink_to("notes.txt")
    assert {"file_link", "dir_link", "dir_link/", "dir_link/secret"}.isdisjoint(storage.list(UUID))
    assert "inner_link" in storage.list(UUID)
    for path in ("file_link", "dir_link/secret"):
        with pytest.raises(NotFound):
            storage.open(UUID, path)
    assert storage.delete(UUID, ["dir_link/*", "**/*"]) == {}
    assert storage.delete(UUID) == {}
    assert (outside / "secret").read_text() == "s"


def test_a_checkpoint_that_is_a_link_holds_nothing_and_goes_while_its_target_stays(
    storage: Storage, root: Path
) -> None:
    (root / OTHER).symlink_to(root / UUID)
    assert storage.list(OTHER) == {}
    with pytest.raises(NotFound):
        storage.open(OTHER, "notes.txt")
    storage.delete(OTHER)
    assert not (root / OTHER).is_symlink()
    assert storage.list(UUID)


def test_event_files_go_with_their_experiment_alone(storage: Storage, root: Path) -> None:
    for path in ("cluster-1/{}/7", "cluster-1/{}/70", "cluster-2/{}/7"):
        folder = root / path.format("tensorboard/experiment") / "trial" / "1"
        folder.mkdir(parents=True)
        (folder / "events.tfevents").write_text("x")
    storage.delete_tensorboard("cluster-1", 7)
    storage.delete_tensorboard("cluster-1", 7)
    left = {str(folder.relative_to(root)) for folder in root.glob("*/tensorboard/experiment/*")}
    assert left == {"cluster-1/tensorboard/experiment/70", "cluster-2/tensorboard/experiment/7"}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_checkpoint_downloads_as_a_tar(storage: Storage, compressed: bool) -> None:
    blob = b"".join(tar_chunks(storage, UUID, compressed=compressed))
    assert (blob[:2] == b"\x1f\x8b") is compressed
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob) if compressed else blob)) as archive:
        found = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]
    assert found == FILES


def test_a_checkpoint_downloads_as_a_zip(storage: Storage) -> None:
    with zipfile.ZipFile(io.BytesIO(b"".join(zip_chunks(storage, UUID)))) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")} == FILES


def test_a_file_that_grows_while_it_is_downloaded_breaks_the_stream(storage: Storage, root: Path) -> None:
    chunks = tar_chunks(storage, UUID)
    next(chunks)
    (root / UUID / "notes.txt").write_text("longer than it was")
    with pytest.raises(OSError, match="changed while it was read"):
        b"".join(chunks)


def test_a_type_without_a_backend_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"checkpoint_storage\.type: expected shared_fs or directory.*'s3'"):
        open_storage({"type": "s3", "bucket": "b"})
