"""Every back end, opened by a task and by a service: the contract suite runs on each."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from determined.common import storage
from determined.common.storage import Access, StorageManager
from resolute.storage.memory import MemoryStorage

UUID = "6a2c3a1e-0d6f-4b8e-9d0f-1f2e3d4c5b6a"
OTHER = "00000000-0000-4000-8000-000000000001"
FILES = {"metadata.json": b"{}", "weights/a.pt": b"aaaa", "weights/deep/b.pt": b"bb", "notes.txt": b""}


@dataclass(frozen=True)
class Place:
    """One storage, as a task sees it and as a service does."""

    task: StorageManager
    service: StorageManager

    @property
    def root(self) -> pathlib.Path:
        assert self.service.root is not None, "this storage is a folder"
        return self.service.root

    def write(self, source: pathlib.Path, storage_id: str = UUID, files: dict[str, bytes] = FILES) -> None:
        """Store a checkpoint, as a task does. `source`: an empty folder."""
        for path, content in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)
        self.task.upload(source, storage_id, storage.list_resources(source))
        self.task.publish(storage_id, files["metadata.json"])


SECTIONS: dict[str, Callable[[pathlib.Path], dict[str, str]]] = {
    "shared_fs": lambda tmp: {"type": "shared_fs", "host_path": str(tmp), "storage_path": "ckpt"},
    "shared_fs without storage_path": lambda tmp: {"type": "shared_fs", "host_path": str(tmp / "all")},
    "directory": lambda tmp: {"type": "directory", "container_path": str(tmp / "d")},
}
"""A section for each type that there is; further ones where a type has several forms."""

MEMORY = "memory"


def _place(name: str, folder: pathlib.Path) -> Place:
    if name == MEMORY:
        objects = MemoryStorage()
        return Place(objects, objects)
    section = SECTIONS[name](folder)
    return Place(storage.open_storage(section, Access.TASK), storage.open_storage(section, Access.SERVICE))


@pytest.fixture(params=[*SECTIONS, MEMORY])
def place(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Place:
    """An empty storage."""
    return _place(request.param, tmp_path / "storage")


@pytest.fixture
def stored(place: Place, tmp_path: pathlib.Path) -> Place:
    """A storage with one checkpoint, UUID, whose files are FILES."""
    (tmp_path / "source").mkdir()
    place.write(tmp_path / "source")
    return place


@pytest.fixture(params=SECTIONS)
def folder(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Place:
    """A storage that is a folder, to which tasks can write by themselves, with one checkpoint."""
    found = _place(request.param, tmp_path / "storage")
    (tmp_path / "source").mkdir()
    found.write(tmp_path / "source")
    return found
