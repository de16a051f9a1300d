"""Names and numbers that the parts of the library, and the launchers around it, agree on."""

from __future__ import annotations

import os

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

# The agent offsets these when several tasks share a host's network.
INTER_TRAIN_PROCESS_COMM_PORT_1 = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1", "12360"))
INTER_TRAIN_PROCESS_COMM_PORT_2 = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_2", "12365"))
C10D_PORT = int(os.environ.get("C10D_PORT", "29400"))

DEFAULT_RUN_DIR = "/run/determined"
SHARED_FS_MOUNT = "/determined_shared_fs"
CONTEXT_ARCHIVE = "context.tgz"
