"""Who decides which files TensorBoard gets."""

from __future__ import annotations

import enum


class TensorboardMode(enum.Enum):
    """AUTO: reported metrics are written and files uploaded by themselves; MANUAL: only what is asked for."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"
