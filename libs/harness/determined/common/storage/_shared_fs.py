"""The back end `shared_fs`: a folder below `host_path`, which every host sees under the same name."""

from __future__ import annotations

import os
import pathlib

from determined import constants
from determined.common.storage._backend import Access, Backend, Section, absolute_path
from determined.common.storage._directory import DirectoryStorageManager


def _open(section: Section, access: Access) -> DirectoryStorageManager:
    host_path = absolute_path(section, "host_path")
    root = _seen_by_a_task(host_path) if access is Access.TASK else host_path
    return DirectoryStorageManager(root / _below(host_path, section), follow_links=access.follows_links)


def _seen_by_a_task(host_path: pathlib.Path) -> pathlib.Path:
    """Where `host_path` is inside a task: at its mount, or at the host's own path without one."""
    named = os.environ.get("DET_SHARED_FS_ROOT")
    mount = constants.SHARED_FS_MOUNT
    return pathlib.Path(named or (mount if os.path.ismount(mount) else host_path))


def _below(host_path: pathlib.Path, section: Section) -> pathlib.PurePosixPath:
    """`storage_path`, relative to `host_path`; it may be given as an absolute path below `host_path`."""
    root = os.path.normpath(host_path)
    stated = section.get("storage_path") or ""
    whole = pathlib.PurePosixPath(os.path.normpath(os.path.join(root, str(stated))))
    if not whole.is_relative_to(root):
        raise ValueError(
            f"checkpoint_storage.storage_path: expected a folder inside host_path {host_path}, found {stated}"
        )
    return whole.relative_to(root)


BACKEND = Backend("shared_fs", ("host_path", "storage_path", "container_path"), _open)
