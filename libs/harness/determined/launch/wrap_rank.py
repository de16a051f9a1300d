"""Runs a program, and puts its rank before each line that it prints, as the log view expects.

python -m determined.launch.wrap_rank RANK python3 train.py

Under a launcher of `determined.launch`, `wrap_rank` also reports to the launcher how the program ends, passes on the
signals that the launcher sends, and ends the program when the launcher has ended.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, BinaryIO, Protocol

from determined.launch._verdict import ECHO_S, LastError
from determined.launch._workers import AT_ONCE, GRACE_S, SOCKET_VARIABLE

DRAIN_S = 1.0
"""How long output is still copied after the program's end, when a process that it left behind holds the output open."""
HOLD_S = 120.0
"""How long the last lines of both outputs may wait, after the program's end, until this process's own output is read.
The shim reads nothing while the disk is full."""
_LOOK_S = 0.02
_CHUNK_BYTES = 1 << 14
_PR_SET_PDEATHSIG = 1


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="wrap_rank")
    parser.add_argument("--no-redirect-stdio", action="store_true", help="accepted for older callers")
    parser.add_argument("rank", help="a number, or names of environment variables of which the first set counts")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    arguments = parser.parse_args(words)
    if not arguments.script:
        parser.error("empty script")
    return run(rank_of(arguments.rank), arguments.script)


def rank_of(text: str) -> str:
    """The number itself, or the value of the first of the named variables that is set. Raises SystemExit."""
    if text.isdigit():
        return text
    for name in text.split(","):
        if name in os.environ:
            return os.environ[name]
    raise SystemExit(f"wrap_rank: none of {text} is set, so the rank of this worker is unknown")


def run(rank: str, script: list[str]) -> int:
    """Runs the script; returns its exit code, 128 + n for a signal n."""
    launcher = _connect()
    _report(launcher, rank=int(rank))
    last_error = LastError()
    program = Program()
    at_once = os.environ.pop(AT_ONCE, None) is not None
    pass_on = program.signal if launcher is None or at_once else program.signal_later
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: pass_on(number))
    try:
        program.start(script)
    except OSError as problem:
        words = f"cannot run {script[0]!r}: {problem.strerror}"
        print(f"[rank={rank}] ERROR: {words}", file=sys.stderr, flush=True)
        _report(launcher, rank=int(rank), code=127, words=words, age_s=0.0)
        return 127
    if launcher is not None:
        threading.Thread(target=_follow_launcher, args=(launcher, program), daemon=True).start()
    code = program.follow(f"[rank={rank}] ".encode(), last_error)
    said, began_at = last_error.at_end(time.monotonic())
    _report(launcher, rank=int(rank), code=code, words=said, age_s=time.monotonic() - began_at)
    return code


class Program:
    """The program of the rank, in a process group of its own, so that signals reach all processes that it starts."""

    _process: subprocess.Popen[bytes] | None = None

    def __init__(self) -> None:
        self._asked: set[int] = set()

    def start(self, script: list[str]) -> None:
        """Starts the program, and passes on the signals that came before. Raises OSError."""
        libc = ctypes.CDLL(None)
        self._process = subprocess.Popen(
            script,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
        for number in tuple(self._asked):
            self._send(number)

    def follow(self, prefix: bytes, last_error: LastError) -> int:
        """Copies the output of the program until it ends; returns its exit code."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        copies = (
            Copy(self._process.stdout, sys.stdout.buffer, prefix, _ignore),
            Copy(self._process.stderr, sys.stderr.buffer, prefix, lambda line: last_error.read(line, time.monotonic())),
        )
        for copy in copies:
            copy.start()
        code = self._process.wait()
        finish(copies)
        return code if code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Passes a signal on, each only once: the agent and the process that started this one may both send it."""
        if number not in self._asked:
            self._asked.add(number)
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def signal_later(self, number: int) -> None:
        """Pass a signal on that the launcher has not sent, unless the program ends by itself within ECHO_S.

        torch's launcher stops every rank once it has seen one end. That one may only have lost its connection to this
        rank, which failed first and is slower to end: stopped now, it would never end with its own exit code. Where
        the cluster stops the task, the launcher is signalled as well, and sends the signal at once. A rank that torch
        restarts is stopped by `signal` instead: nothing ends it sooner, and all ranks would wait for it.
        """
        timer = threading.Timer(ECHO_S, self.signal, (number,))
        timer.daemon = True
        timer.start()

    def end(self) -> None:
        self.signal(signal.SIGTERM)
        time.sleep(GRACE_S)
        self.signal(signal.SIGKILL)


class Copy(threading.Thread):
    """Copies one output of the program, with a prefix before each line, until no process holds that output open."""

    def __init__(self, source: IO[bytes], target: BinaryIO, prefix: bytes, hear: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._source, self._target, self._prefix, self._hear = source, target, prefix, hear
        self._counting = threading.Lock()
        self._read_bytes = self._copied_bytes = self._printed_bytes = 0
        self._lines = self._seen_lines = 0
        self._writes = False

    def run(self) -> None:
        prefix_lines(self, self._target, self._prefix, self._hear_line)

    def read1(self) -> bytes:
        self._copied_bytes = self._read_bytes
        self._writes = False
        select.select([self._source], [], [])  # the lock is not held while there is nothing to read
        with self._counting:
            data = os.read(self._source.fileno(), _CHUNK_BYTES)
            self._read_bytes += len(data)
        self._writes = True
        return data

    def _hear_line(self, line: str) -> None:
        self._lines += 1
        self._hear(line)

    def note_end(self) -> None:
        """Called when the program has ended: it has printed the bytes read so far, and those still in the pipe."""
        held = array.array("i", [0])
        with self._counting:
            fcntl.ioctl(self._source, termios.FIONREAD, held)
            self._printed_bytes = self._read_bytes + held[0]

    def is_behind(self) -> bool:
        """Whether bytes that the program itself printed are not copied yet, or no line was copied since the last call
        because this process's own output is not read."""
        before, self._seen_lines = self._seen_lines, self._lines
        stuck = self._writes and self._lines == before
        return self.is_alive() and (stuck or self._copied_bytes < self._printed_bytes)


class Copying(Protocol):
    """The part of `Copy` that `finish` uses."""

    def note_end(self) -> None: ...

    def is_alive(self) -> bool: ...

    def is_behind(self) -> bool: ...

    def join(self, timeout: float | None = None) -> None: ...


def finish(copies: Sequence[Copying], clock: Callable[[], float] = time.monotonic) -> None:
    """Returns when all that the program printed is copied, and after HOLD_S in any case.

    A process that the program left behind may hold an output open, or print without pause. The copies go on for DRAIN_S
    because of it; the time in which a copy is behind does not count.
    """
    for copy in copies:
        copy.note_end()
    give_up_at = clock() + HOLD_S
    left_s = DRAIN_S
    while left_s > 0 and clock() < give_up_at and (alive := [one for one in copies if one.is_alive()]):
        alive[0].join(_LOOK_S)
        behind = [one.is_behind() for one in copies]
        if not any(behind):
            left_s -= _LOOK_S


def _connect() -> socket.socket | None:
    """The connection to the launcher; None when no launcher of `determined.launch` started this rank. Raises
    SystemExit when the launcher has ended."""
    name = os.environ.pop(SOCKET_VARIABLE, None)  # removed: a `wrap_rank` that the program starts must not use it
    if name is None:
        return None
    launcher = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        launcher.connect(f"\0{name}")
    except OSError as problem:
        raise SystemExit(f"wrap_rank: the launcher of this rank is gone: {problem.strerror}") from problem
    return launcher


def _report(launcher: socket.socket | None, **facts: object) -> None:
    if launcher is not None:
        with contextlib.suppress(OSError):  # the launcher has ended: `_follow_launcher` ends the program
            launcher.send(json.dumps(facts).encode())


def _follow_launcher(launcher: socket.socket, program: Program) -> None:
    """Passes on each signal whose number the launcher sends. Ends the program when the launcher closes the connection,
    or has ended."""
    with contextlib.suppress(OSError):
        while number := launcher.recv(1):
            program.signal(number[0])
    program.end()


def _ignore(line: str) -> None:
    return


class Source(Protocol):
    """Something to read from: `read1` waits for bytes, and returns none at the end."""

    def read1(self) -> bytes: ...


def prefix_lines(source: Source, target: BinaryIO, prefix: bytes, hear: Callable[[str], None] = _ignore) -> None:
    """Copies `source` to `target` with `prefix` before each line. Lines end with a newline or a carriage return."""
    line = bytearray()
    while chunk := source.read1():
        for piece in chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines(keepends=True):
            line += piece
            if line.endswith(b"\n"):
                target.write(prefix + line)
                hear(line.decode(errors="replace"))
                line.clear()
        target.flush()
    if line:
        target.write(prefix + line + b"\n")
        hear(line.decode(errors="replace"))
        target.flush()


if __name__ == "__main__":
    sys.exit(main())
