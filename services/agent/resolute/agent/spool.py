"""Reads the file in which a shim keeps a task's output: a record for each line.

A record has the instant, its kind and the text. `o` and `e` are lines of stdout and stderr. For a task in a container
there are two more kinds, because the shim can write nowhere else: `s` says that the shim has started, and `x` how the
task ended.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from resolute.agent.runtime import Chunk, Line
from resolute.agent.task_files import open_to_read

CHUNK_BYTES_MAX = 256 * 1024
TAIL_BYTES = 4096
_STREAMS = {b"o": "stdout", b"e": "stderr"}
_SIGNS = (b"s", b"x")
_END = re.compile(rb"\d+(?:\.\d+)? x (\d{1,3}) ([01])\n")
EXIT_CODE_MAX = 255


@dataclass(frozen=True, slots=True)
class End:
    """The end of a task as its shim recorded it."""

    code: int
    asked: bool
    """Whether the shim had been asked to end the task."""


def read(file: Path, mark: int, limit: int) -> Chunk:
    """Up to `limit` lines from the byte `mark` on."""
    try:
        with open_to_read(file) as log:
            log.seek(mark)
            data = log.read(CHUNK_BYTES_MAX)
    except FileNotFoundError:
        return Chunk((), mark)
    lines: list[Line] = []
    for record in _records(data[: _whole(data)]):
        if len(lines) == limit:
            break
        mark += len(record)
        if not _is_sign(record):
            lines.append(_line(record))
    return Chunk(tuple(lines), mark)


def is_up(file: Path) -> bool:
    """Whether the shim has started: its first record says so."""
    try:
        with open_to_read(file) as log:
            first = log.readline()
    except FileNotFoundError:
        return False
    return first.endswith(b"\n") and _is_sign(first)


def end(file: Path) -> End | None:
    """The end of the task, which is the last record; None when the shim was killed before it wrote one."""
    try:
        with open_to_read(file) as log:
            before = max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES)
            log.seek(before)
            tail = log.read()
    except FileNotFoundError:
        return None
    begins = tail.rfind(b"\n", 0, -1) + 1
    if begins == 0 and before > 0:
        return None  # longer than any end record: this is the rest of a printed line, which could look like one
    end = _END.fullmatch(tail, begins)
    if end is None or int(end[1]) > EXIT_CODE_MAX:
        return None
    return End(int(end[1]), end[2] == b"1")


def note(file: Path, texts: Iterable[str]) -> None:
    """Adds lines of the agent to a task's log."""
    stamp = time.time()
    with file.open("ab") as log:
        log.write(b"".join(b"%.6f o %s\n" % (stamp, text.replace("\n", " ").encode()) for text in texts))


def _whole(data: bytes) -> int:
    """The length of the complete records. A record longer than a chunk, which no shim writes, is cut: it must not keep
    the records after it from being read."""
    return data.rfind(b"\n") + 1 or (len(data) if len(data) == CHUNK_BYTES_MAX else 0)


def _records(data: bytes) -> list[bytes]:
    """The records, each with its newline. (`splitlines` would also split at other characters.)"""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _is_sign(record: bytes) -> bool:
    return record.split(b" ", 2)[1:2] in ([_SIGNS[0]], [_SIGNS[1]])


def _line(record: bytes) -> Line:
    try:
        stamp, kind, text = record.rstrip(b"\n").split(b" ", 2)
        return Line(datetime.fromtimestamp(float(stamp), UTC), _STREAMS[kind], text.decode(errors="replace"))
    except (ValueError, KeyError, OverflowError, OSError):
        # Half a record, from when the disk was full; or text that the task wrote into the file itself.
        return Line(datetime.fromtimestamp(0, UTC), "stdout", record.decode(errors="replace").rstrip("\n"))
