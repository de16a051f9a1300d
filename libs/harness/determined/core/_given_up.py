"""How a task ends whose run the cluster has given up: at once, for whatever it still did would be thrown away.

The cluster gives a run up when it loses sight of the host it runs on, and may start the next one from the last
checkpoint. From then on it refuses every report of the old run (HTTP status 410).
"""

from __future__ import annotations

import os
import sys

EXIT_CODE = 76
"""EX_PROTOCOL of sysexits.h: the other side has refused to go on. It tells such an end from a failure of user code."""


def end_process(reason: str) -> None:
    """From whichever thread learnt it: the main thread may be anywhere in user code, and would go on training."""
    sys.stdout.flush()
    print(f"ERROR: the cluster gave this run up, and this process ends: {reason}", file=sys.stderr, flush=True)
    os._exit(EXIT_CODE)
