"""The storage that checkpoints lie in, for all hosts and the checkpoint store: in memory, and the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO
from unittest import mock

from resolute.checkpoint.shell import CheckpointStore
from resolute.proto.errors import NotFound
from resolute.storage.globs import matching

CONFIG = {"type": "shared_fs", "host_path": "/simulated"}


@dataclass
class Disk:
    """A `Storage` whose files are kept by checkpoint."""

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)

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
        return {name: len(content) for name, content in self.files.get(uuid, {}).items()}

    def delete(self, uuid: str, globs: Sequence[str] = ()) -> dict[str, int]:
        here = self.files.get(uuid, {})
        for name in matching(globs, here) if globs else list(here):
            del here[name]
        if not here:
            self.files.pop(uuid, None)
        return self.list(uuid)

    def open(self, uuid: str, path: str) -> BinaryIO:
        if path not in self.files.get(uuid, {}):
            raise NotFound(f"no file {path} in checkpoint {uuid}")
        return BytesIO(self.files[uuid][path])

    def delete_tensorboard(self, cluster_id: str, experiment_id: int) -> None:
        """There are none."""

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Every checkpoint store that opens a storage is given this one."""
        with mock.patch.object(CheckpointStore.__init__, "__defaults__", (lambda storage: self,)):
            yield
