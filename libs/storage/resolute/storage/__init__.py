"""Where checkpoints' files lie: one small interface, a backend for each type of `checkpoint_storage`."""

from __future__ import annotations

from resolute.storage.archive import tar_chunks, zip_chunks
from resolute.storage.backends import open_storage
from resolute.storage.storage import Storage, check_path, check_uuid

__all__ = ["Storage", "check_path", "check_uuid", "open_storage", "tar_chunks", "zip_chunks"]
