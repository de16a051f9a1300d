"""The first process of a task's container: a shim without a folder, which writes its records to the container's stdout.

    python3 -I -S .../resolute/agent/container_shim.py GRACE_S COMMAND…

The shim kills a task that does not end in time, also without an agent and without a Docker daemon, and it records the
instant and the stream of every line. Its records are those of `shim.py`, and two more: `s` when its signal handlers are
in place (the kernel drops signals for which the first process of a container has no handler), and `x` at the end, with
the exit code and whether the task had been asked to end. Then the shim waits for END_KNOWN, and repeats `x` now and
then: output that no daemon read is lost with the container, and a daemon that dies can lose what it had read. When the
shim ends, the kernel kills all other processes of the container.

Standard library only, and no newer than what images bring.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from resolute.agent.shim import Output, Shim, execute

STDOUT = 1
END_KNOWN = signal.SIGURG
"""The agent sends this signal when it has read how the task ended. A process without a handler ignores it."""
REPEAT_S = 5.0
ACKNOWLEDGE_S = 2.0
"""How long the shim of a task that was asked to end waits for END_KNOWN: an agent is there, since it sent the
request."""


def main(arguments: list[str]) -> int:
    grace_s, *command = arguments
    shim = ContainerShim(float(grace_s), lambda out, err: execute(command, out, err))
    shim.run()
    return shim.code


class ContainerShim(Shim):
    """The shim in a container: its records go to stdout, and it ends once the agent has read the end of the task."""

    line_bytes_max = 16_000
    """The Docker daemon splits longer lines after 16 KiB, also in the middle of a character."""

    def __init__(self, grace_s: float, become: Callable[[int, int], None]) -> None:
        self.grace_s, self.become = grace_s, become
        self.output = Output(
            STDOUT, 0.0
        )  # a write to stdout blocks while the pipe is full, so no output has to be held back
        self.status: int | None = None
        self.kill_at: float | None = None
        self.asked = False
        self.code = 0

    def _append(self, record: bytes) -> None:
        """Writes the whole record: a signal may interrupt a write to a pipe."""
        while record:
            try:
                record = record[os.write(STDOUT, record) :]
            except OSError:
                return  # stdout is closed; the training goes on

    def _handle_signals(self, numbers: bytes) -> None:
        self.asked = self.asked or signal.SIGTERM in numbers or signal.SIGABRT in numbers
        super()._handle_signals(numbers)

    def _kill_all(self) -> bool:
        if not self._reap():
            return False
        try:
            os.kill(-1, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return False  # processes of another user: they end together with this one
        self.kill_at = time.monotonic() + 0.02
        return True

    def _write_pids(self) -> None:
        self._append(b"%.6f s %d\n" % (time.time(), self.child))

    def _write_exit(self) -> None:
        self.code = self.exit_code()
        awaited = {END_KNOWN, signal.SIGTERM, signal.SIGABRT}
        signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        record = b"x %d %d\n" % (self.code, self.asked)
        self._append(b"%.6f %s" % (time.time(), record))
        while not signal.sigtimedwait(awaited, ACKNOWLEDGE_S if self.asked else REPEAT_S) and not self.asked:
            self._append(b"%.6f %s" % (time.time(), record))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
