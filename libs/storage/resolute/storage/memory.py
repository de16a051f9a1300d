"""A storage in memory, for tests and simulations: objects under names, as in a store that knows no folders."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from determined.common.storage import METADATA_FILE, Choice, check_id, check_path, list_resources
from determined.errors import CheckpointNotFound


class MemoryStorage:
    """A `StorageManager`. What is staged lies in a folder of this process until it is published."""

    root = None

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        """The content of finished checkpoints, by id and path."""
        self.beside: dict[str, bytes] = {}
        """The files beside the checkpoints."""
        self._staged: dict[str, Path] = {}

    @contextlib.contextmanager
    def staging(self, storage_id: str) -> Iterator[Path]:
        if check_id(storage_id) not in self._staged:
            self._staged[storage_id] = Path(tempfile.mkdtemp(prefix="staged-"))
        yield self._staged[storage_id]

    def upload(self, source: Path, storage_id: str, paths: Collection[str]) -> None:
        with self.staging(storage_id) as folder:
            _write(folder, {path: _content(source, path) for path in map(check_path, paths)})

    def settle(self, storage_id: str) -> dict[str, int]:
        with self.staging(storage_id) as folder:
            return list_resources(folder)

    def publish(self, storage_id: str, metadata: bytes) -> dict[str, int]:
        if storage_id in self.files:
            raise FileExistsError(f"checkpoint {storage_id} is there already")
        with self.staging(storage_id) as folder:
            (folder / METADATA_FILE).write_bytes(metadata)
            self.files[storage_id] = {path: _content(folder, path) for path in list_resources(folder)}
        self.discard(storage_id)
        return self.listing(storage_id)

    def discard(self, storage_id: str) -> None:
        folder = self._staged.pop(check_id(storage_id), None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def listing(self, storage_id: str) -> dict[str, int]:
        return {path: len(content) for path, content in sorted(self._existing(storage_id).items())}

    @contextlib.contextmanager
    def restore_path(self, storage_id: str) -> Iterator[Path]:
        found = self._existing(storage_id)
        with tempfile.TemporaryDirectory(prefix="restored-") as folder:
            _write(Path(folder), found)
            yield Path(folder)

    def download(self, storage_id: str, target: Path, paths: Collection[str]) -> None:
        found = self._existing(storage_id)
        target.mkdir(parents=True, exist_ok=True)
        _write(target, {path: found[path] for path in map(check_path, paths)})

    def open(self, storage_id: str, path: str) -> BinaryIO:
        found = self._existing(storage_id)
        if check_path(path).endswith("/") or path not in found:
            raise CheckpointNotFound(f"no file {path!r} in checkpoint {storage_id}")
        return BytesIO(found[path])

    def check(self) -> None:
        if not self.files and not self.beside:
            raise FileNotFoundError("nothing at all is in the storage; is it mounted?")

    def delete(self, storage_id: str, choose: Choice | None = None) -> dict[str, int]:
        here = self.files.pop(check_id(storage_id), {})
        if choose is None:
            self.discard(storage_id)
            return {}
        chosen = set(choose(set(here)))
        folders = tuple(path for path in chosen if path.endswith("/"))
        kept = {path for path in here if path not in chosen and not path.startswith(folders)}
        files = {path for path in kept if not path.endswith("/")}
        left = {path for path in kept if any(file.startswith(path) for file in files)}
        if left:
            self.files[storage_id] = {path: content for path, content in here.items() if path in left}
        return self.listing(storage_id) if left else {}

    def put(self, source: Path, target: str) -> None:
        self.beside[check_path(target)] = source.read_bytes()

    def remove(self, target: str) -> None:
        folder = f"{check_path(target).rstrip('/')}/"
        for path in [path for path in self.beside if f"{path}/".startswith(folder)]:
            del self.beside[path]

    def _existing(self, storage_id: str) -> dict[str, bytes]:
        found = self.files.get(check_id(storage_id))
        if found is None:
            raise CheckpointNotFound(f"no finished checkpoint {storage_id}")
        return found


def _content(folder: Path, path: str) -> bytes:
    return b"" if path.endswith("/") else (folder / path).read_bytes()


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
