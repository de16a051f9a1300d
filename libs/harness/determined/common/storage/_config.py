"""From the `checkpoint_storage` section of a configuration to the folder it means on this machine."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from determined import constants
from determined.common.storage._base import StorageManager
from determined.common.storage._directory import DirectoryStorageManager


def build(config: str | Mapping[str, Any]) -> StorageManager:
    """Raises ValueError naming the field for a section that makes no sense."""
    if isinstance(config, str):
        return DirectoryStorageManager(_folder_of_url(config))
    match config.get("type"):
        case "shared_fs":
            return DirectoryStorageManager(shared_fs_root(config))
        case "directory":
            return DirectoryStorageManager(_absolute(config, "container_path"))
        case kind:
            raise ValueError(
                f"checkpoint_storage.type: expected shared_fs or directory, found {kind!r}; "
                "other kinds are not supported by this release"
            )


def shared_fs_root(config: Mapping[str, Any]) -> pathlib.Path:
    """Where `shared_fs` storage is from inside a task: at its mount, or at the host's own path without one."""
    host_path = _absolute(config, "host_path")
    root = pathlib.Path(
        os.environ.get("DET_SHARED_FS_ROOT")
        or (constants.SHARED_FS_MOUNT if os.path.ismount(constants.SHARED_FS_MOUNT) else host_path)
    )
    below = config.get("storage_path")
    if not below:
        return root
    inside = pathlib.PurePosixPath(os.path.normpath(host_path / str(below)))
    if not inside.is_relative_to(host_path):
        raise ValueError(
            f"checkpoint_storage.storage_path: expected a folder inside host_path {host_path}, found {below}"
        )
    return root / inside.relative_to(host_path)


def default_root() -> pathlib.Path:
    """Where checkpoints go off the cluster: the user's own data folder."""
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(data) / "determined"


def _absolute(config: Mapping[str, Any], field: str) -> pathlib.Path:
    value = config.get(field)
    if not isinstance(value, str) or not os.path.isabs(value):
        raise ValueError(f"checkpoint_storage.{field}: expected an absolute path, found {value!r}")
    return pathlib.Path(value)


def _folder_of_url(url: str) -> pathlib.Path:
    scheme, separator, rest = url.partition("://")
    if not separator:
        return pathlib.Path(url).absolute()
    if scheme != "file":
        raise ValueError(f"checkpoint_storage: expected a folder or file:// address, found {url!r}")
    return pathlib.Path("/" + rest.lstrip("/"))
