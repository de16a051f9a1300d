"""Runs a program and begins each line it prints with its rank, as the log view expects.

python -m determined.launch.wrap_rank RANK python3 train.py
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from typing import BinaryIO


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
    process = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: process.send_signal(number))
    assert process.stdout is not None
    assert process.stderr is not None
    prefix = f"[rank={rank}] ".encode()
    pumps = [
        threading.Thread(target=prefix_lines, args=(source, target, prefix), daemon=True)
        for source, target in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer))
    ]
    for pump in pumps:
        pump.start()
    code = process.wait()
    for pump in pumps:
        pump.join(timeout=1.0)
    return code if code >= 0 else 128 - code


def prefix_lines(source: BinaryIO, target: BinaryIO, prefix: bytes) -> None:
    """Copy `source`, putting `prefix` before each line; lines end in a newline or a carriage return."""
    line = bytearray()
    while chunk := source.read1() if hasattr(source, "read1") else source.read(4096):
        for piece in chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines(keepends=True):
            line += piece
            if line.endswith(b"\n"):
                target.write(prefix + line)
                line.clear()
        target.flush()
    if line:
        target.write(prefix + line + b"\n")
        target.flush()


if __name__ == "__main__":
    sys.exit(main())
