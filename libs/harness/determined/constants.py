"""Names and numbers that several parts of the library and its launchers use."""

from __future__ import annotations

import os

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

_PORTS = {"INTER_TRAIN_PROCESS_COMM_PORT_1": 12360, "INTER_TRAIN_PROCESS_COMM_PORT_2": 12365, "C10D_PORT": 29400}
"""Default ports. The agent adds an offset when several tasks share the network of a host."""

DEFAULT_RUN_DIR = "/run/determined"
SHARED_FS_MOUNT = "/determined_shared_fs"
CONTEXT_ARCHIVE = "context.tgz"


def __getattr__(name: str) -> int:
    """A port, from the environment of this moment: a warm parent imports this module before it has a task."""
    if name in _PORTS:
        return int(os.environ.get(name, _PORTS[name]))
    raise AttributeError(f"module 'determined.constants' has no attribute {name!r}")
