"""Checkpoints in a folder that all workers and the cluster's services can reach."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Collection, Iterator

from determined import errors
from determined.common.storage._base import METADATA_FILE, StorageManager, list_resources

UNFINISHED = ".partial"


class DirectoryStorageManager(StorageManager):
    """`<root>/<id>/` holds a finished checkpoint, `<root>/<id>.partial/` one that is being written.

    The step from one to the other is a rename, after everything is on the disk.
    """

    def __init__(self, root: pathlib.Path | str) -> None:
        self.root = pathlib.Path(root)

    def _finished(self, storage_id: str) -> pathlib.Path:
        return self.root / _plain(storage_id)

    def _unfinished(self, storage_id: str) -> pathlib.Path:
        return self.root / (_plain(storage_id) + UNFINISHED)

    @contextlib.contextmanager
    def staging(self, storage_id: str) -> Iterator[pathlib.Path]:
        folder = self._unfinished(storage_id)
        _make_for_all(self.root)
        folder.mkdir(exist_ok=True)
        yield folder

    def upload(self, source: pathlib.Path, storage_id: str, paths: Collection[str]) -> None:
        with self.staging(storage_id) as folder:
            _copy(source, folder, paths)

    def settle(self, storage_id: str) -> dict[str, int]:
        with self.staging(storage_id) as folder:
            resources = list_resources(folder)
            for path in resources:
                _sync(folder / path)
            _sync(folder)
        return resources

    def publish(self, storage_id: str, metadata: bytes) -> dict[str, int]:
        with self.staging(storage_id) as folder:
            (folder / METADATA_FILE).write_bytes(metadata)
            resources = self.settle(storage_id)
            folder.rename(self._finished(storage_id))
        _sync(self.root)
        return resources

    def discard(self, storage_id: str) -> None:
        shutil.rmtree(self._unfinished(storage_id), ignore_errors=True)

    def listing(self, storage_id: str) -> dict[str, int]:
        return list_resources(self._existing(storage_id))

    @contextlib.contextmanager
    def restore_path(self, storage_id: str) -> Iterator[pathlib.Path]:
        yield self._existing(storage_id)

    def download(self, storage_id: str, target: pathlib.Path, paths: Collection[str]) -> None:
        _copy(self._existing(storage_id), target, paths)

    def delete(self, storage_id: str) -> None:
        self.discard(storage_id)
        folder = self._finished(storage_id)
        if folder.exists():
            shutil.rmtree(folder)

    def put(self, source: pathlib.Path, target: str) -> None:
        place = self.root / target
        _make_for_all(_shared_part(self.root, place.parent))
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_name(f".{place.name}.{os.getpid()}")
        shutil.copyfile(source, fresh)
        fresh.replace(place)

    def _existing(self, storage_id: str) -> pathlib.Path:
        folder = self._finished(storage_id)
        if not folder.is_dir():
            raise errors.CheckpointNotFound(f"no finished checkpoint {storage_id} in {self.root}")
        return folder


def _make_for_all(folder: pathlib.Path) -> None:
    """A folder that trials of several owners put theirs into, each run by a user of its own: everybody may add to it,
    and delete only what is theirs. What is there already is left as it is."""
    if not folder.is_dir():
        _make_for_all(folder.parent)
        try:
            folder.mkdir()
            folder.chmod(0o1777)
        except FileExistsError:  # another trial was first
            return


def _shared_part(root: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The part of a path that experiments have in common: up to the first number, which is that of one experiment."""
    names = folder.relative_to(root).parts
    own = next((place for place, name in enumerate(names) if name.isdigit()), len(names))
    return root.joinpath(*names[:own])


def _plain(storage_id: str) -> str:
    if not storage_id or "/" in storage_id or storage_id in (".", ".."):
        raise ValueError(f"checkpoint id: expected a uuid, found {storage_id!r}")
    return storage_id


def _copy(source: pathlib.Path, target: pathlib.Path, paths: Collection[str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(paths):
        place = target / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / path, place)


def _sync(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
