"""A storage of checkpoints, as its users see it, and what may name a place in one.

A checkpoint is a tree of files under its uuid. Nothing outside that tree can be named: uuids are checked, paths
are relative without `..`, and links that lead out are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO, Protocol

from resolute.proto.errors import InvalidConfig

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Storage(Protocol):
    """Calls block; an event loop makes them in a thread."""

    def list(self, uuid: str) -> dict[str, int]:
        """The checkpoint's files by path, with their sizes in bytes; directories end in `/` and have size 0.

        Empty for a checkpoint that has no files, or never had any.
        """
        ...

    def check(self) -> None:
        """Raises OSError where the storage cannot say which files it has, as where a file system is not mounted."""
        ...

    def delete(self, uuid: str, globs: Sequence[str] = ()) -> dict[str, int]:
        """Remove all files, or those that match one of `globs`, and answer what is left, as `list` does.

        `*` stays within a directory, `**` does not; a directory that matches goes with all it holds, and one
        left empty goes too. What is gone already is no error: deleting may be repeated after a crash.
        """
        ...

    def open(self, uuid: str, path: str) -> BinaryIO:
        """Read one file. Raises NotFound when there is none."""
        ...

    def delete_tensorboard(self, cluster_id: str, experiment_id: int) -> None:
        """Remove the event files of a cluster's experiment; those gone already are no error.

        Several clusters may keep theirs in one storage, and all of them number their experiments from 1.
        """
        ...


def check_uuid(uuid: str) -> str:
    """`uuid`, when it is one. Raises InvalidConfig otherwise."""
    if not _UUID.fullmatch(uuid):
        raise InvalidConfig(f"uuid: expected 8-4-4-4-12 hexadecimal digits; found {uuid!r}")
    return uuid


def check_path(path: str) -> str:
    """`path`, when it stays inside. Raises InvalidConfig otherwise."""
    parts = path.removesuffix("/").split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise InvalidConfig(f"path: expected a plain path inside the checkpoint; found {path!r}")
    return path
