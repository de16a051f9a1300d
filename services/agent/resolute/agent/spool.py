"""A task's output as it is kept on this host: a file of records, one a line of output, written by a shim.

A record is the instant, what it is, and the text: `o` and `e` are lines of stdout and stderr. Those of a task in a
container say more, as nothing else comes out of it: `s` that its shim is up, `x` how the task ended.
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
    """How a shim says its task ended."""

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
    """Whether the shim that writes it has given its sign of life, which comes first."""
    try:
        with open_to_read(file) as log:
            first = log.readline()
    except FileNotFoundError:
        return False
    return first.endswith(b"\n") and _is_sign(first)


def end(file: Path) -> End | None:
    """None for a shim that was killed before it could tell: it writes this last."""
    try:
        with open_to_read(file) as log:
            before = max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES)
            log.seek(before)
            tail = log.read()
    except FileNotFoundError:
        return None
    begins = tail.rfind(b"\n", 0, -1) + 1
    if begins == 0 and before > 0:
        return None  # the last record is longer than any end: this is some of a line, and says what its task liked
    end = _END.fullmatch(tail, begins)
    if end is None or int(end[1]) > EXIT_CODE_MAX:
        return None
    return End(int(end[1]), end[2] == b"1")


def note(file: Path, texts: Iterable[str]) -> None:
    """Add lines of our own."""
    stamp = time.time()
    with file.open("ab") as log:
        log.write(b"".join(b"%.6f o %s\n" % (stamp, text.replace("\n", " ").encode()) for text in texts))


def _whole(data: bytes) -> int:
    """How much of it is whole records. What is longer than any shim writes does not hold up what follows."""
    return data.rfind(b"\n") + 1 or (len(data) if len(data) == CHUNK_BYTES_MAX else 0)


def _records(data: bytes) -> list[bytes]:
    """Each with its newline: nothing else ends a record."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _is_sign(record: bytes) -> bool:
    return record.split(b" ", 2)[1:2] in ([_SIGNS[0]], [_SIGNS[1]])


def _line(record: bytes) -> Line:
    try:
        stamp, kind, text = record.rstrip(b"\n").split(b" ", 2)
        return Line(datetime.fromtimestamp(float(stamp), UTC), _STREAMS[kind], text.decode(errors="replace"))
    except (ValueError, KeyError, OverflowError, OSError):
        # Half a record, from when the disk was full; or a task that found its supervisor's output.
        return Line(datetime.fromtimestamp(0, UTC), "stdout", record.decode(errors="replace").rstrip("\n"))
