"""The first process of a task's container: a shim that has no folder, and tells everything on the container's stdout.

    python3 -I -S .../resolute/agent/contained.py GRACE_S COMMAND…

It keeps the time a task is given to end, so that it is kept without an agent and without a Docker daemon, and it
knows the instant and the stream of every line. Records are those of `shim.py`, and two more: `s` as soon as signals
are heard (the first process of a container is deaf to those it has no handler for), and `x` at the end, with the
exit code and whether the task had been told to end. Then it waits for HEARD, and says `x` again now and then: what
a container printed while no daemon was there to read is lost with the container, and a daemon that dies can lose what
it had read. When it ends the kernel kills whatever is left.

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
HEARD = signal.SIGURG
"""That the end of the task is known. Nothing else sends this, and who does not wait for it takes no notice."""
TELL_AGAIN_S = 5.0
TOLD_WAIT_S = 2.0
"""How long one that was told to end waits for that: somebody was there to tell it."""


def main(arguments: list[str]) -> int:
    grace_s, *command = arguments
    shim = ContainedShim(float(grace_s), lambda out, err: execute(command, out, err))
    shim.run()
    return shim.code


class ContainedShim(Shim):
    line_bytes_max = 16_000
    """The daemon cuts what is longer than 16 KiB anywhere, and spoils the character that it cuts."""

    def __init__(self, grace_s: float, become: Callable[[int, int], None]) -> None:
        self.grace_s, self.become = grace_s, become
        self.output = Output(STDOUT, 0.0)  # which waits where it is written to: nothing is ever held back
        self.status: int | None = None
        self.kill_at: float | None = None
        self.asked = False
        self.code = 0

    def _append(self, record: bytes) -> None:
        """All of it: a write to a pipe may be cut short by a signal."""
        while record:
            try:
                record = record[os.write(STDOUT, record) :]
            except OSError:
                return  # nobody listens any more; the training goes on

    def _handle_signals(self, numbers: bytes) -> None:
        self.asked = self.asked or signal.SIGTERM in numbers or signal.SIGABRT in numbers
        super()._handle_signals(numbers)

    def _kill_all(self) -> bool:
        if not self._reap():
            return False
        try:
            os.kill(-1, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return False  # of another user: it ends with this process
        self.kill_at = time.monotonic() + 0.02
        return True

    def _write_pids(self) -> None:
        self._append(b"%.6f s %d\n" % (time.time(), self.child))

    def _write_exit(self) -> None:
        self.code = self.exit_code()
        awaited = {HEARD, signal.SIGTERM, signal.SIGABRT}
        signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        told = b"x %d %d\n" % (self.code, self.asked)
        self._append(b"%.6f %s" % (time.time(), told))
        while not signal.sigtimedwait(awaited, TOLD_WAIT_S if self.asked else TELL_AGAIN_S) and not self.asked:
            self._append(b"%.6f %s" % (time.time(), told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
