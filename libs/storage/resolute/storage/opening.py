"""The storage of checkpoints as services open it: with the errors that a person is answered with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from determined.common import storage
from determined.common.storage import Access, StorageManager
from determined.errors import CheckpointNotFound
from resolute.proto.errors import InvalidConfig

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def open_storage(section: Mapping[str, Any]) -> StorageManager:
    """The storage of a merged configuration's `checkpoint_storage`.

    Raises InvalidConfig for a type this release has no back end for, and for a section that makes no sense.
    """
    try:
        return storage.open_storage(section, Access.SERVICE)
    except ValueError as error:
        raise InvalidConfig(str(error)) from error


def files_of(opened: StorageManager, uuid: str) -> dict[str, int]:
    """The checkpoint's files with their sizes; empty for one that has no files, or never had any."""
    try:
        return opened.listing(uuid)
    except CheckpointNotFound:
        return {}


def check_uuid(uuid: str) -> str:
    """`uuid`, when it is one. Raises InvalidConfig otherwise."""
    if not _UUID.fullmatch(uuid):
        raise InvalidConfig(f"uuid: expected 8-4-4-4-12 hexadecimal digits; found {uuid!r}")
    return uuid
