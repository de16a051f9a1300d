"""The processes that one launcher starts, and the reports of the `wrap_rank` around each rank.

Every `wrap_rank`, whichever process started it, connects to the launcher at a Unix socket, whose name is in its
environment. It reports when its rank begins and how it ends. The launcher sends it the number of a signal to pass on to
the rank. When the connection breaks, `wrap_rank` ends its rank: no rank outlives its launcher.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from determined.launch._verdict import Failure

SOCKET_VARIABLE = "DET_LAUNCHER_LINE"
AT_ONCE = "DET_LAUNCHER_SIGNALS_AT_ONCE"
"""Set for the ranks of a worker that restarts them: `wrap_rank` then passes every signal on at once."""
GRACE_S = 4.0
"""How long `wrap_rank` waits between SIGTERM and SIGKILL for a rank. The launcher waits a little longer for
`wrap_rank`."""
_MESSAGE_BYTES_MAX = 1 << 16
"""Longer than any message: its text has at most `WORDS_MAX` characters, each at most twelve bytes in JSON. A longer
message would be cut off."""


class Worker(NamedTuple):
    """A process of this container: one rank, or a framework's own launcher that starts several."""

    name: str
    argv: tuple[str, ...]
    variables: Mapping[str, str]
    starts_ranks: bool = False
    restarts_ranks: bool = False
    """Whether this process restarts ranks that fail. Then only its own failure counts."""


def wrapped(rank: str, argv: Sequence[str]) -> tuple[str, ...]:
    """The command of one rank. `rank`: its number, or the name of the variable that will have it."""
    return (sys.executable, "-m", "determined.launch.wrap_rank", rank, *argv)


class Workers:
    """The processes of one launcher, and their ranks. `failures` grows as ranks fail; `over` once no process is
    left."""

    def __init__(self, where: str) -> None:
        self._where = where
        self.failures: list[Failure] = []
        self.begun: set[int] = set()
        self._running: set[int] = set()
        self._pardoned: list[Failure] = []
        self._processes: dict[int, tuple[Worker, subprocess.Popen[bytes]]] = {}
        # An abstract name (unix(7)) leaves no file behind. `_admit` checks the user of each process that connects.
        self._name = f"\0determined-{secrets.token_hex(16)}"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self._name)
        self._listener.listen(128)
        self._wrappers: set[socket.socket] = set()
        self._hanging_up = self._stopping = False

    def start(self, workers: Iterable[Worker]) -> None:
        launcher = {SOCKET_VARIABLE: self._name[1:]}
        for worker in workers:
            at_once = {AT_ONCE: "1"} if worker.restarts_ranks else {}
            process = subprocess.Popen(worker.argv, env={**os.environ, **launcher, **at_once, **worker.variables})
            self._processes[os.pidfd_open(process.pid)] = (worker, process)

    @property
    def over(self) -> bool:
        return not self._processes

    @property
    def running(self) -> int:
        """How many ranks have begun and have not reported their end; none once all processes are gone.

        These are not the slots: the flags of a framework's own launcher may start fewer ranks, or more.
        """
        return 0 if self.over else len(self._running)

    def sources(self) -> list[int]:
        """The descriptors to wait for: one is readable when there is something to `receive`."""
        return [self._listener.fileno(), *(one.fileno() for one in self._wrappers), *self._processes]

    def receive(self, ready: Iterable[int]) -> None:
        """Reads from those of `sources` that are readable."""
        found = set(ready)
        for wrapper in [one for one in self._wrappers if one.fileno() in found]:
            self._hear_wrapper(wrapper)
        for pidfd in found & set(self._processes):
            self._reap(pidfd)
        if self._listener.fileno() in found:
            self._admit()

    def _admit(self) -> None:
        wrapper, _ = self._listener.accept()
        _, user, _ = struct.unpack("3i", wrapper.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.getuid():
            wrapper.close()
            return
        self._wrappers.add(wrapper)
        if self._stopping:
            _pass_on(wrapper, signal.SIGTERM)
        if self._hanging_up:
            _hang_up(wrapper)

    def _hear_wrapper(self, wrapper: socket.socket) -> None:
        try:
            data = wrapper.recv(_MESSAGE_BYTES_MAX)
        except OSError:
            data = b""
        if not data:
            self._wrappers.discard(wrapper)
            wrapper.close()
            return
        self._note(json.loads(data))

    def _note(self, message: dict[str, Any]) -> None:
        rank = int(message["rank"])
        self.begun.add(rank)
        (self._running.discard if "code" in message else self._running.add)(rank)
        if message.get("code", 0) != 0:
            at = time.monotonic() - float(message["age_s"])
            failure = Failure(f"rank {rank}", self._where, int(message["code"]), str(message["words"]), at)
            restarts = any(worker.restarts_ranks for worker, _ in self._processes.values())
            (self._pardoned if restarts else self.failures).append(failure)

    def _reap(self, pidfd: int) -> None:
        # The reports of its ranks came before its end, and say more than its exit code.
        while ready := select.select(list(self._wrappers), [], [], 0)[0]:
            for wrapper in ready:
                self._hear_wrapper(wrapper)
        worker, process = self._processes.pop(pidfd)
        os.close(pidfd)
        code = process.wait()
        if code != 0 and not self.failures:
            # For a process that restarts ranks, the last failure of a rank is the reason why it gave up.
            unexplained = self._unexplained(worker, code if code > 0 else 128 - code)
            self.failures.append(next(filter(_is_a_reason, reversed(self._pardoned)), unexplained))

    def _unexplained(self, worker: Worker, code: int) -> Failure:
        """The failure of a process that ended before any of its ranks failed."""
        words = "" if self.begun else "it started no rank; what it printed says why"
        # argparse ends with code 2 for wrong flags, which would be wrong at the next try as well.
        return Failure(worker.name, self._where, code, words, time.monotonic(), code == 2 and not self.begun)

    def stop(self, patience_s: float) -> None:
        """Send SIGTERM to every rank and every process, because the cluster stops the task; then wait for them to end.

        This returns as soon as all have ended, and after `patience_s` at the latest. The ranks get the signal over
        their connection to this launcher, because `wrap_rank` delays a SIGTERM that another process sends to it.
        """
        self._stopping = True
        for wrapper in self._wrappers:
            _pass_on(wrapper, signal.SIGTERM)
        self._signal(signal.SIGTERM)
        self._wait(patience_s)

    def _wait(self, patience_s: float) -> None:
        deadline = time.monotonic() + patience_s
        while self._processes and (left := deadline - time.monotonic()) > 0:
            self.receive(select.select(self.sources(), [], [], min(left, 0.2))[0])

    def end(self) -> None:
        """Ends all processes and ranks, by SIGKILL if necessary; returns when none is left."""
        self._hanging_up = True
        # Stopped, because a framework's launcher would print long errors about the ranks that are ended now.
        self._signal(signal.SIGSTOP, [worker for worker, _ in self._processes.values() if worker.starts_ranks])
        for wrapper in self._wrappers:
            _hang_up(wrapper)
        deadline = time.monotonic() + GRACE_S + 1.0
        while self._alive() and (left := deadline - time.monotonic()) > 0:
            self.receive(select.select(self.sources(), [], [], min(left, 0.2))[0])
        self._signal(signal.SIGKILL)
        self._wait(GRACE_S)
        self._listener.close()

    def _alive(self) -> bool:
        """Whether there are ranks, or processes that may still start some."""
        return bool(self._wrappers) or any(not worker.starts_ranks for worker, _ in self._processes.values())

    def _signal(self, number: int, only: Collection[Worker] | None = None) -> None:
        for worker, process in self._processes.values():
            if only is None or worker in only:
                process.send_signal(number)


def _is_a_reason(failure: Failure) -> bool:
    return not failure.is_echo


def _pass_on(wrapper: socket.socket, number: int) -> None:
    """Have `wrap_rank` send this signal to its rank."""
    with contextlib.suppress(OSError):  # `wrap_rank` has ended
        wrapper.send(bytes([number]))


def _hang_up(wrapper: socket.socket) -> None:
    """Makes `wrap_rank` end its rank, by closing this side of the connection. It closes its side when the rank
    ended."""
    with contextlib.suppress(OSError):  # `wrap_rank` has ended
        wrapper.shutdown(socket.SHUT_WR)
