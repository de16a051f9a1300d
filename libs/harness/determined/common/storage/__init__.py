"""Where checkpoints are kept: one library, for tasks, for people's programs and for the cluster's services.

| file | what it holds |
|---|---|
| `_storage.py` | the interface, with its guarantees |
| `_registry.py` | the back ends that there are; opening the storage that a configuration means |
| `_backend.py` | what a back end says about itself |
| `_shared_fs.py`, `_directory.py` | the back ends, one file each |
| `_names.py` | what may name a place in a storage |
| `_listing.py`, `_confined.py` | the files of a folder; opening and removing files below a folder that tasks write to |

It needs the standard library alone, and travels into tasks as a part of the harness.
"""

from __future__ import annotations

from determined.common.storage._backend import Access as Access
from determined.common.storage._directory import DirectoryStorageManager as DirectoryStorageManager
from determined.common.storage._listing import list_resources as list_resources
from determined.common.storage._names import check_id as check_id
from determined.common.storage._names import check_path as check_path
from determined.common.storage._names import event_files as event_files
from determined.common.storage._registry import TYPES as TYPES
from determined.common.storage._registry import build as build
from determined.common.storage._registry import default_root as default_root
from determined.common.storage._registry import open_storage as open_storage
from determined.common.storage._registry import place_of as place_of
from determined.common.storage._storage import METADATA_FILE as METADATA_FILE
from determined.common.storage._storage import Choice as Choice
from determined.common.storage._storage import StorageManager as StorageManager

__all__ = [
    "METADATA_FILE",
    "TYPES",
    "Access",
    "Choice",
    "DirectoryStorageManager",
    "StorageManager",
    "build",
    "check_id",
    "check_path",
    "default_root",
    "event_files",
    "list_resources",
    "open_storage",
    "place_of",
]
