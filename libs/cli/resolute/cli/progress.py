"""Saying on stderr how far something long is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Note = Callable[[str, int, int], None]
"""Reports progress: the name of the work, how much is done, and how much there is."""

LINE_EVERY_S = 5.0


@contextmanager
def progress(out: TextIO = sys.stderr) -> Iterator[Note]:
    """Within this, the note given shows each step of the work with its own bar or lines."""
    if not out.isatty():
        yield Lines(out)
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(*Progress.get_default_columns()[:-1], MofNCompleteColumn(), TimeRemainingColumn(),
                  console=Console(file=out)) as bars:  # fmt: skip
        known = {}

        def show(what: str, done: int, of: int) -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=of)
            bars.update(known[what], completed=done, total=of)

        yield show


class Lines:
    """A line when a step begins, every few seconds, and when it is done."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._said_at: dict[str, float] = {}

    def __call__(self, what: str, done: int, of: int) -> None:
        now = self._clock()
        if done < of and now - self._said_at.get(what, -LINE_EVERY_S) < LINE_EVERY_S:
            return
        self._said_at[what] = now
        print(f"{what}: {done} of {of}", file=self._out, flush=True)
