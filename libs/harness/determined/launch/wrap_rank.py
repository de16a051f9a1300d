"""Runs a program and begins each line it prints with its rank, as the log view expects.

python -m determined.launch.wrap_rank RANK python3 train.py

Under one of our launchers, `wrap_rank` also reports to the launcher how the program ends, passes on the signals that
the launcher sends, and ends the program when the launcher is gone.
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
from determined.launch._workers import AT_ONCE, GRACE_S, LINE

DRAIN_S = 1.0
"""How long to copy on after the program's end while a process that it left behind holds its output open."""
HOLD_S = 120.0
"""How long the last lines of both outputs may wait, after the program's end, for this process's own output to be read:
the agent reads nothing while the disk is full."""
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
    """The number itself, or the value of the first variable named that is set."""
    if text.isdigit():
        return text
    for name in text.split(","):
        if name in os.environ:
            return os.environ[name]
    raise SystemExit(f"wrap_rank: none of {text} is set, so the rank of this worker is unknown")


def run(rank: str, script: list[str]) -> int:
    """The exit code of the script, 128 + signal where one ended it."""
    line = _launcher()
    _tell(line, rank=int(rank))
    last_error = LastError()
    program = Program()
    at_once = os.environ.pop(AT_ONCE, None) is not None
    pass_on = program.signal if line is None or at_once else program.signal_later
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: pass_on(number))
    try:
        program.start(script)
    except OSError as problem:
        words = f"cannot run {script[0]!r}: {problem.strerror}"
        print(f"[rank={rank}] ERROR: {words}", file=sys.stderr, flush=True)
        _tell(line, rank=int(rank), code=127, words=words, age_s=0.0)
        return 127
    if line is not None:
        threading.Thread(target=_obey, args=(line, program), daemon=True).start()
    code = program.follow(f"[rank={rank}] ".encode(), last_error)
    said, began_at = last_error.at_end(time.monotonic())
    _tell(line, rank=int(rank), code=code, words=said, age_s=time.monotonic() - began_at)
    return code


class Program:
    """In a process group of its own, so that it ends with all that it started."""

    _process: subprocess.Popen[bytes] | None = None

    def __init__(self) -> None:
        self._asked: set[int] = set()

    def start(self, script: list[str]) -> None:
        """Raises OSError. A signal that came before is passed on now."""
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
        """Copy its output until it ends; its exit code."""
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
        """Pass a signal on, once each: the agent signals this process, and so may the process that started it."""
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
    """Copies one output of the program, with a prefix before each line, until nothing holds that output open."""

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
        """The program has ended: what it printed is what was read and what the pipe still holds."""
        held = array.array("i", [0])
        with self._counting:
            fcntl.ioctl(self._source, termios.FIONREAD, held)
            self._printed_bytes = self._read_bytes + held[0]

    def is_behind(self) -> bool:
        """Whether it has yet to copy something that the program itself printed, or has copied no line since the last
        call of this because nothing reads this process's own output."""
        before, self._seen_lines = self._seen_lines, self._lines
        stuck = self._writes and self._lines == before
        return self.is_alive() and (stuck or self._copied_bytes < self._printed_bytes)


class Copying(Protocol):
    """What `finish` needs of a `Copy`."""

    def note_end(self) -> None: ...

    def is_alive(self) -> bool: ...

    def is_behind(self) -> bool: ...

    def join(self, timeout: float | None = None) -> None: ...


def finish(copies: Sequence[Copying], clock: Callable[[], float] = time.monotonic) -> None:
    """Return once all that the program printed is copied, but after HOLD_S at the latest, whatever the reason.

    A process that the program left behind may hold an output open, or print without pause. It is waited for DRAIN_S;
    the time in which a copy is behind does not count.
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


def _launcher() -> socket.socket | None:
    """The line to the launcher, where one of ours started this."""
    name = os.environ.pop(LINE, None)  # of no use to the program, and to programs that start others
    if name is None:
        return None
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        line.connect(f"\0{name}")
    except OSError as problem:
        raise SystemExit(f"wrap_rank: the launcher of this rank is gone: {problem.strerror}") from problem
    return line


def _tell(line: socket.socket | None, **facts: object) -> None:
    if line is not None:
        with contextlib.suppress(OSError):  # the launcher is gone: `_obey` sees to that
            line.send(json.dumps(facts).encode())


def _obey(line: socket.socket, program: Program) -> None:
    """Pass on each signal whose number the launcher sends. End the program once the launcher hangs up, or is gone."""
    with contextlib.suppress(OSError):
        while number := line.recv(1):
            program.signal(number[0])
    program.end()


def _ignore(line: str) -> None:
    return


class Source(Protocol):
    """What has more to read, perhaps later; nothing at its end."""

    def read1(self) -> bytes: ...


def prefix_lines(source: Source, target: BinaryIO, prefix: bytes, hear: Callable[[str], None] = _ignore) -> None:
    """Copy `source`, putting `prefix` before each line; lines end in a newline or a carriage return."""
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
