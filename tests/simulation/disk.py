"""The storage that checkpoints lie in, for all hosts and the checkpoint store: in memory, and the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from resolute.checkpoint.shell import CheckpointStore
from resolute.storage import files_of
from resolute.storage.memory import MemoryStorage

CONFIG = {"type": "shared_fs", "host_path": "/simulated"}


class Disk(MemoryStorage):
    """A storage that trials write to one file at a time."""

    def write(self, uuid: str, **contents: str) -> dict[str, int]:
        self.files.setdefault(uuid, {}).update({name: text.encode() for name, text in contents.items()})
        return self.list(uuid)

    def read(self, uuid: str, name: str) -> str:
        """Raises FileNotFoundError."""
        try:
            return self.files[uuid][name].decode()
        except KeyError:
            raise FileNotFoundError(f"{uuid}/{name}") from None

    def list(self, uuid: str) -> dict[str, int]:
        return files_of(self, uuid)

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Every checkpoint store that opens a storage is given this one."""
        with mock.patch.object(CheckpointStore.__init__, "__defaults__", (lambda storage: self,)):
            yield
