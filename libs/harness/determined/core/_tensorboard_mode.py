"""Whether files for TensorBoard are written and uploaded automatically."""

from __future__ import annotations

import enum


class TensorboardMode(enum.Enum):
    """AUTO: reported metrics are written, and files uploaded, automatically. MANUAL: only by
    `upload_tensorboard_files`."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"
