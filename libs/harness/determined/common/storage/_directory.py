"""The back end `directory`: checkpoints in a folder that all workers and the cluster's services can reach."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Collection, Iterator
from typing import BinaryIO

from determined import errors
from determined.common.storage import _confined
from determined.common.storage._backend import Access, Backend, Section, absolute_path
from determined.common.storage._listing import everything, list_resources, real
from determined.common.storage._names import UNFINISHED, check_id, check_path
from determined.common.storage._storage import METADATA_FILE, Choice


class DirectoryStorageManager:
    """`<root>/<id>/` holds a finished checkpoint, `<root>/<id>.partial/` one that is being written.

    The step from one to the other is a rename, after everything is on the disk.

    Without `follow_links`, a link in the place of a checkpoint holds no files, and a link that leads out of a
    checkpoint is not one of its files, also when a task puts the link there during the call.
    """

    def __init__(self, root: pathlib.Path | str, *, follow_links: bool = True) -> None:
        self.root = pathlib.Path(root)
        self._follow_links = follow_links

    def _finished(self, storage_id: str) -> pathlib.Path:
        return self.root / check_id(storage_id)

    def _unfinished(self, storage_id: str) -> pathlib.Path:
        return self.root / (check_id(storage_id) + UNFINISHED)

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
        return list_resources(self._existing(storage_id), follow_links=self._follow_links)

    @contextlib.contextmanager
    def restore_path(self, storage_id: str) -> Iterator[pathlib.Path]:
        yield self._existing(storage_id)

    def download(self, storage_id: str, target: pathlib.Path, paths: Collection[str]) -> None:
        _copy(self._existing(storage_id), target, paths)

    def open(self, storage_id: str, path: str) -> BinaryIO:
        home = self._existing(storage_id)
        place = home / check_path(path)
        if place.is_file():
            with contextlib.suppress(FileNotFoundError):
                return place.open("rb") if self._follow_links else self._open_inside(home, place)
        raise errors.CheckpointNotFound(f"no file {path!r} in checkpoint {storage_id}")

    def _open_inside(self, home: pathlib.Path, place: pathlib.Path) -> BinaryIO:
        """Links that are there now and stay inside are followed. Raises FileNotFoundError for others."""
        found, base = real(place), real(home)
        if not found.is_relative_to(base):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))
        return _confined.open_file(self.root, (home.name, *found.relative_to(base).parts))

    def check(self) -> None:
        with os.scandir(self.root) as entries:
            if next(entries, None) is None:
                raise FileNotFoundError(
                    errno.ENOENT, "nothing at all is in the storage; is it mounted?", str(self.root)
                )

    def delete(self, storage_id: str, choose: Choice | None = None) -> dict[str, int]:
        home = self._finished(storage_id)
        if choose is None or home.is_symlink():
            _confined.remove(self.root, (home.name,))
            _confined.remove(self.root, (self._unfinished(storage_id).name,))
            return {}
        there = {path.rstrip("/") if (home / path).is_symlink() else path for path in everything(home)}
        for path in sorted(there & set(choose(there)), reverse=True):
            _confined.remove(self.root, (home.name, *pathlib.PurePosixPath(path).parts))
        _confined.remove_empty(self.root, home.name)
        return self._left(storage_id)

    def _left(self, storage_id: str) -> dict[str, int]:
        try:
            return self.listing(storage_id)
        except errors.CheckpointNotFound:
            return {}

    def put(self, source: pathlib.Path, target: str) -> None:
        place = self.root / check_path(target)
        _make_for_all(_shared_part(self.root, place.parent))
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_name(f".{place.name}.{os.getpid()}")
        shutil.copyfile(source, fresh)
        fresh.replace(place)

    def remove(self, target: str) -> None:
        place = self.root / check_path(target)
        folder, root = real(place.parent), real(self.root)
        if folder.is_relative_to(root):
            _confined.remove(self.root, (*folder.relative_to(root).parts, place.name))

    def _existing(self, storage_id: str) -> pathlib.Path:
        folder = self._finished(storage_id)
        if not folder.is_dir() or (folder.is_symlink() and not self._follow_links):
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


def _copy(source: pathlib.Path, target: pathlib.Path, paths: Collection[str]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(map(check_path, paths)):
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


def _open(section: Section, access: Access) -> DirectoryStorageManager:
    return DirectoryStorageManager(absolute_path(section, "container_path"), follow_links=access.follows_links)


BACKEND = Backend("directory", ("container_path",), _open)
