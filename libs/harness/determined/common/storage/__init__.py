"""Where checkpoints are kept."""

from __future__ import annotations

from determined.common.storage._base import StorageManager as StorageManager
from determined.common.storage._base import list_resources as list_resources
from determined.common.storage._config import build as build
from determined.common.storage._config import default_root as default_root
from determined.common.storage._directory import DirectoryStorageManager as DirectoryStorageManager

__all__ = ["DirectoryStorageManager", "StorageManager", "build", "default_root", "list_resources"]
