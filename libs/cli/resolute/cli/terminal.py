"""What only a terminal gets: colours, and a line that rewrites itself while something takes its time."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import ClassVar, TextIO

from resolute.cli import times
from resolute.proto.states import ExperimentState

_QUIET_S, _TICK_S = 1.0, 0.25
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}

STATES = {
    ExperimentState.ACTIVE: "cyan", "RUNNING": "cyan", ExperimentState.COMPLETED: "green",
    ExperimentState.PAUSED: "yellow", "QUEUED": "yellow", ExperimentState.CANCELED: "yellow",
    ExperimentState.ERROR: "red", "FAILED": "red",
}  # fmt: skip


def is_colourful(stream: TextIO) -> bool:
    """A terminal that did not ask for plain text (NO_COLOR); DET_CLI_COLORIZE asks for colour anywhere."""
    if os.environ.get("DET_CLI_COLORIZE"):
        return True
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def colour(text: str, name: str, stream: TextIO) -> str:
    return f"\033[{_CODES[name]}m{text}\033[0m" if is_colourful(stream) else text


class Progress:
    """One line on standard error with the name of the work, its progress and its duration, after the first second.

    Away from a terminal nothing is written, so that the logs of scripts stay clean; and while one line
    shows, others that begin within it stay quiet.
    """

    _showing: ClassVar[bool] = False

    def __init__(self, doing: str) -> None:
        self._doing, self._how_far = doing, ""
        self._began, self._width = time.monotonic(), 0
        self._done = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and not Progress._showing:
            Progress._showing = True
            self._ticking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._ticking.ident is not None:
            self._ticking.join()
            Progress._showing = False
        if self._width:
            self._write("", "\r")

    def say(self, how_far: str) -> None:
        self._how_far = how_far

    def say_size(self, size_bytes: int) -> None:
        self.say(times.size(size_bytes))

    def _tick(self) -> None:
        while not self._done.wait(_TICK_S):
            since_s = time.monotonic() - self._began
            if since_s >= _QUIET_S:
                self._write(f"{self._doing} {self._how_far} [{since_s:.0f} s]".replace("  ", " "))

    def _write(self, line: str, end: str = "") -> None:
        print("\r" + line.ljust(self._width), end=end, file=sys.stderr, flush=True)
        self._width = max(self._width, len(line))
