"""What the services add to the library of storages, `determined.common.storage`, which they share with tasks.

The back ends are there. Here are the archives that people download, the patterns by which they choose files, and
the errors that they are answered with.
"""

from __future__ import annotations

from determined.common.storage import StorageManager, event_files, place_of
from resolute.storage.archive import tar_chunks, zip_chunks
from resolute.storage.globs import choosing
from resolute.storage.opening import check_uuid, files_of, open_storage

__all__ = [
    "StorageManager",
    "check_uuid",
    "choosing",
    "event_files",
    "files_of",
    "open_storage",
    "place_of",
    "tar_chunks",
    "zip_chunks",
]
