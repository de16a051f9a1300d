"""The messages about checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from resolute.api.kernel.fields import INT64, WireEnum, items

FileSizes = Annotated[Mapping[str, Annotated[int, INT64]], items(100_000)]
"""Bytes, by the path of the file within the checkpoint."""


class CheckpointState(WireEnum, wire_name="checkpointv1State"):
    """How far the checkpoint is written or deleted. Until its last byte is stored, it is ACTIVE."""

    UNSPECIFIED = "STATE_UNSPECIFIED"
    ACTIVE = "STATE_ACTIVE"
    COMPLETED = "STATE_COMPLETED"
    ERROR = "STATE_ERROR"
    DELETED = "STATE_DELETED"
    PARTIALLY_DELETED = "STATE_PARTIALLY_DELETED"
