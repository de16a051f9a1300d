"""What the library asks of a place for checkpoints."""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
from collections.abc import Collection

METADATA_FILE = "metadata.json"


class StorageManager(abc.ABC):
    """Checkpoints by id, each a folder of files.

    A checkpoint is written in two phases: files gather at a place of their own, and `publish` then makes the
    whole folder appear under its id at once. Whoever finds the id finds all of it.
    """

    @abc.abstractmethod
    def staging(self, storage_id: str) -> contextlib.AbstractContextManager[pathlib.Path]:
        """A folder that every rank may write into; what is there is the checkpoint once published."""

    @abc.abstractmethod
    def upload(self, source: pathlib.Path, storage_id: str, paths: Collection[str]) -> None:
        """Copy `paths` (relative to `source`, folders with a slash) to the staging place."""

    @abc.abstractmethod
    def settle(self, storage_id: str) -> dict[str, int]:
        """The listing of what is staged as this machine sees it; what this machine wrote is safe by then."""

    @abc.abstractmethod
    def publish(self, storage_id: str, metadata: bytes) -> dict[str, int]:
        """Add metadata.json, make the checkpoint appear; returns its listing (paths to sizes)."""

    @abc.abstractmethod
    def discard(self, storage_id: str) -> None:
        """Remove what was staged."""

    @abc.abstractmethod
    def listing(self, storage_id: str) -> dict[str, int]:
        """Paths to sizes. Raises CheckpointNotFound where there is no finished checkpoint of this id."""

    @abc.abstractmethod
    def restore_path(self, storage_id: str) -> contextlib.AbstractContextManager[pathlib.Path]:
        """The folder of a finished checkpoint, to read only. Raises CheckpointNotFound."""

    @abc.abstractmethod
    def download(self, storage_id: str, target: pathlib.Path, paths: Collection[str]) -> None:
        """Copy `paths` of a finished checkpoint into `target`."""

    @abc.abstractmethod
    def delete(self, storage_id: str) -> None:
        """Remove a checkpoint; one that is not there is removed already."""

    @abc.abstractmethod
    def put(self, source: pathlib.Path, target: str) -> None:
        """Store one file under `target`, relative to the root, replacing what is there at once."""


def list_resources(folder: pathlib.Path) -> dict[str, int]:
    """Every file below `folder` with its size, every folder with a trailing slash and 0."""
    resources: dict[str, int] = {}
    for at, folders, files in os.walk(folder):
        here = pathlib.Path(at)
        for name in folders:
            resources[(here / name).relative_to(folder).as_posix() + "/"] = 0
        for name in files:
            path = here / name
            resources[path.relative_to(folder).as_posix()] = path.stat().st_size
    return dict(sorted(resources.items()))
