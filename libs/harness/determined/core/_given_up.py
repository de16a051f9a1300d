"""Ends a task whose run the cluster has given up.

The cluster gives a run up when it has lost contact with the run's host, and may start the next run from the last
checkpoint. From then on it refuses every report of the old run with HTTP status 410 (fencing), so that two runs of a
trial never both report. The old run ends at once, because nothing that it does has an effect any more.
"""

from __future__ import annotations

import os
import sys

EXIT_CODE = 76
"""EX_PROTOCOL of sysexits.h. It distinguishes this end from a failure of user code."""


def end_process(reason: str) -> None:
    """Ends the process from any thread. The main thread may be anywhere in user code, so it cannot be asked to end."""
    sys.stdout.flush()
    print(f"ERROR: the cluster gave this run up, and this process ends: {reason}", file=sys.stderr, flush=True)
    os._exit(EXIT_CODE)
