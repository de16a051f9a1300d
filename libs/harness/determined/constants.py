"""Names and numbers that the parts of the library, and the launchers around it, agree on."""

from __future__ import annotations

import os

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

_PORTS = {"INTER_TRAIN_PROCESS_COMM_PORT_1": 12360, "INTER_TRAIN_PROCESS_COMM_PORT_2": 12365, "C10D_PORT": 29400}
"""The agent offsets these when several tasks share a host's network."""

DEFAULT_RUN_DIR = "/run/determined"
SHARED_FS_MOUNT = "/determined_shared_fs"
CONTEXT_ARCHIVE = "context.tgz"


def __getattr__(name: str) -> int:
    """A port, read when it is asked for: this module may have been imported before there was a task to read it of."""
    if name in _PORTS:
        return int(os.environ.get(name, _PORTS[name]))
    raise AttributeError(f"module 'determined.constants' has no attribute {name!r}")
