"""Free ports for the servers of tests: each port is given to one caller only, whichever process on this machine asks.

A port that the kernel chooses (`bind` to port 0) is free again as soon as the probe closes. Until the server listens on
it, and each time the server restarts, the kernel may give it to another test's probe or to any outgoing connection.
The ports given here lie below those that the kernel chooses from, and a counter in a file, which all test processes
share, makes sure that two callers get different ones.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from pathlib import Path

LOWEST, BEYOND = 13_000, 20_000
"""Beyond them lie the ports that `cluster-up` chooses (resolute.deploy.checks)."""
STEP = 4
"""Some servers take a few ports in a row: as many belong to the caller."""
COUNTER = Path(tempfile.gettempdir()) / f"resolute-tests-of-{os.geteuid()}.port"


def free_port(counter: Path = COUNTER) -> int:
    """The first of `STEP` ports in a row that nothing listens on and that no other caller is given for a long time."""
    with counter.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        last = int(file.read() or LOWEST)
        for _ in range((BEYOND - LOWEST) // STEP):
            last = last + STEP if last + 2 * STEP <= BEYOND else LOWEST
            if all(map(_is_free, range(last, last + STEP))):
                file.truncate(0)
                file.write(str(last))
                return last
    raise OSError(f"all ports from {LOWEST} to {BEYOND} are in use")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a closed connection is no obstacle
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
