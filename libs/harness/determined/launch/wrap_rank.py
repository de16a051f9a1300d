"""Runs a program and begins each line it prints with its rank, as the log view expects.

python -m determined.launch.wrap_rank RANK python3 train.py

Under one of our launchers it also tells that one how the program ends, and ends it when the launcher is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from determined.launch._verdict import LastWords
from determined.launch._workers import GRACE_S, LINE

DRAIN_S = 1.0
"""How long to read on after the program's end, should something else hold its output open."""
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
    last_words = LastWords()
    try:
        program = Program(script)
    except OSError as problem:
        words = f"cannot run {script[0]!r}: {problem.strerror}"
        print(f"[rank={rank}] ERROR: {words}", file=sys.stderr, flush=True)
        _tell(line, rank=int(rank), code=127, words=words, age_s=0.0)
        return 127
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: program.signal(number))
    if line is not None:
        threading.Thread(target=_end_with, args=(line, program), daemon=True).start()
    code = program.follow(f"[rank={rank}] ".encode(), last_words)
    said, began_at = last_words.at_end(time.monotonic())
    _tell(line, rank=int(rank), code=code, words=said, age_s=time.monotonic() - began_at)
    return code


class Program:
    """In a process group of its own, so that it ends with all that it started."""

    def __init__(self, script: list[str]) -> None:
        libc = ctypes.CDLL(None)
        self._process = subprocess.Popen(
            script,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
        self._asked: set[int] = set()

    def follow(self, prefix: bytes, last_words: LastWords) -> int:
        """Copy its output until it ends; its exit code."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        streams = (
            (self._process.stdout, sys.stdout.buffer, _ignore),
            (self._process.stderr, sys.stderr.buffer, lambda line: last_words.hear(line, time.monotonic())),
        )
        pumps = [
            threading.Thread(target=prefix_lines, args=(source, target, prefix, hear), daemon=True)
            for source, target, hear in streams
        ]
        for pump in pumps:
            pump.start()
        code = self._process.wait()
        for pump in pumps:
            pump.join(timeout=DRAIN_S)
        return code if code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Once each: the agent signals this process, and so may whoever started it."""
        if number not in self._asked:
            self._asked.add(number)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def end(self) -> None:
        self.signal(signal.SIGTERM)
        time.sleep(GRACE_S)
        self.signal(signal.SIGKILL)


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
        with contextlib.suppress(OSError):  # the launcher is gone: `_end_with` sees to that
            line.send(json.dumps(facts).encode())


def _end_with(line: socket.socket, program: Program) -> None:
    with contextlib.suppress(OSError):
        line.recv(1)  # nothing is ever sent: it returns when the launcher hangs up, or is gone
    program.end()


def _ignore(line: str) -> None:
    return


def prefix_lines(source: BinaryIO, target: BinaryIO, prefix: bytes, hear: Callable[[str], None] = _ignore) -> None:
    """Copy `source`, putting `prefix` before each line; lines end in a newline or a carriage return."""
    line = bytearray()
    while chunk := source.read1() if hasattr(source, "read1") else source.read(4096):
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
