"""Prints logs: the last lines of every file in a folder, and lines that are added, each with its file's name."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TextIO

LINES = 50
LOOK_EVERY_S = 0.3


def show(folder: Path, *, follow: bool, out: TextIO = sys.stdout) -> None:
    """Prints the last lines; with `follow`, goes on with new lines until interrupted."""
    offsets = {file: _print_last(file, out) for file in sorted(folder.glob("*.log"))}
    while follow:
        time.sleep(LOOK_EVERY_S)
        for file in sorted(folder.glob("*.log")):
            offsets[file] = _print_new(file, offsets.get(file, 0), out)


def _print_last(file: Path, out: TextIO) -> int:
    content = file.read_bytes()
    for line in content.splitlines()[-LINES:]:
        _print(file, line, out)
    return len(content)


def _print_new(file: Path, offset: int, out: TextIO) -> int:
    """Prints the whole lines after `offset`. A file that is smaller than before was rotated: it is read from its
    start."""
    try:
        size = file.stat().st_size
        if size == offset:
            return offset
        with file.open("rb") as opened:
            opened.seek(offset if size > offset else 0)
            added = opened.read()
    except FileNotFoundError:
        return 0
    whole = added[: added.rfind(b"\n") + 1]
    for line in whole.splitlines():
        _print(file, line, out)
    return (offset if size > offset else 0) + len(whole)


def _print(file: Path, line: bytes, out: TextIO) -> None:
    out.write(f"{file.stem:<12} | {line.decode(errors='replace')}\n")
    out.flush()
