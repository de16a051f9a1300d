"""The back ends that there are, and the way from a `checkpoint_storage` section to the storage that it means."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from determined.common.storage import _directory, _shared_fs
from determined.common.storage._backend import Access, Section
from determined.common.storage._directory import DirectoryStorageManager
from determined.common.storage._storage import StorageManager

BACKENDS = {backend.type: backend for backend in (_shared_fs.BACKEND, _directory.BACKEND)}
"""A further back end is a file with a BACKEND of its own, and its name here."""

TYPES = tuple(BACKENDS)


def open_storage(section: Section, access: Access) -> StorageManager:
    """Raises ValueError naming the field for a section that makes no sense, or whose type has no back end."""
    backend = BACKENDS.get(str(section.get("type")))
    if backend is None:
        wanted = " or ".join(TYPES)
        raise ValueError(f"checkpoint_storage.type: expected {wanted} in this release; found {section.get('type')!r}")
    return backend.open(section, access)


def build(config: str | Section) -> StorageManager:
    """The storage as a task sees it: of a section, or of a folder by its path or `file://` address.

    Raises ValueError as `open_storage` does.
    """
    if isinstance(config, str):
        return DirectoryStorageManager(_folder_of_url(config))
    return open_storage(config, Access.TASK)


def place_of(section: Section) -> dict[str, Any]:
    """The fields of a section that say where the files are. Two sections in which they are equal mean one storage."""
    backend = BACKENDS.get(str(section.get("type")))
    fields = ("type", *(backend.place if backend else ()))
    return {name: section[name] for name in fields if section.get(name) is not None}


def default_root() -> pathlib.Path:
    """Where checkpoints go off the cluster: the user's own data folder."""
    data = os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share"
    return pathlib.Path(data) / "determined"


def _folder_of_url(url: str) -> pathlib.Path:
    scheme, separator, rest = url.partition("://")
    if not separator:
        return pathlib.Path(url).absolute()
    if scheme != "file":
        raise ValueError(f"checkpoint_storage: expected a folder or file:// address, found {url!r}")
    return pathlib.Path("/" + rest.lstrip("/"))
