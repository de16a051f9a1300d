"""What only a terminal gets: colours, and a line that rewrites itself while something takes its time."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TextIO

from resolute.cli import times

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}

STATES = {
    "ACTIVE": "cyan", "RUNNING": "cyan", "COMPLETED": "green", "PAUSED": "yellow", "QUEUED": "yellow",
    "CANCELED": "yellow", "ERROR": "red", "FAILED": "red",
}  # fmt: skip


def is_colourful(stream: TextIO) -> bool:
    """A terminal that did not ask for plain text (NO_COLOR); DET_CLI_COLORIZE asks for colour anywhere."""
    if os.environ.get("DET_CLI_COLORIZE"):
        return True
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def colour(text: str, name: str, stream: TextIO) -> str:
    return f"\033[{_CODES[name]}m{text}\033[0m" if is_colourful(stream) else text


class Progress:
    """One line on standard error that says how far something is, from a second on.

    Away from a terminal nothing is written, so that logs of scripts stay clean.
    """

    def __init__(self, doing: str, *, after_s: float = 1.0) -> None:
        self._doing, self._shown_from = doing, time.monotonic() + after_s
        self._last, self._width = 0.0, 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)

    def say(self, how_far: str) -> None:
        now = time.monotonic()
        if now < self._shown_from or now - self._last < 0.1 or not sys.stderr.isatty():
            return
        line = f"{self._doing} {how_far}"
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._last, self._width = now, max(self._width, len(line))

    def say_size(self, size_bytes: int) -> None:
        self.say(times.size(size_bytes))
