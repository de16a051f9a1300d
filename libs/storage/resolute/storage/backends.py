"""From the `checkpoint_storage` section of a configuration to the storage it means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resolute.proto.checkpoint import STORAGE_BUILT
from resolute.proto.errors import InvalidConfig
from resolute.storage.directory import DirectoryStorage
from resolute.storage.storage import Storage


def open_storage(section: Mapping[str, Any]) -> Storage:
    """The storage of a merged configuration's `checkpoint_storage`.

    Raises InvalidConfig for a type this release has no backend for.
    """
    match section.get("type"):
        case "shared_fs":
            host_path = Path(section["host_path"])
            # an absolute storage_path was checked, at submission, to lie below host_path
            return DirectoryStorage(host_path / (section.get("storage_path") or ""))
        case "directory":
            return DirectoryStorage(Path(section["container_path"]))
        case other:
            wanted = " or ".join(STORAGE_BUILT)
            raise InvalidConfig(f"checkpoint_storage.type: expected {wanted} in this release; found {other!r}")
