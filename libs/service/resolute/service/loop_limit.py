"""Ends a process whose event loop is held for too long, so that the next process can find the event that holds it.

Such a process answers no request and does not end by itself. The code that holds the loop may be C that never releases
the interpreter, so that no other Python thread can run. `faulthandler` has a thread that needs no Python: it writes the
stack of every thread to stderr and ends the process with code 1. While the event loop runs, a timer postpones that.
"""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager

BEATS = 6
"""How many times the timer fires within the limit."""


@contextmanager
def loop_limit(limit_s: float) -> Iterator[None]:
    """Inside this context the process ends when one piece of work holds the running loop for `limit_s`; 0: never."""
    if limit_s <= 0:
        yield
        return
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def beat() -> None:
        nonlocal timer
        faulthandler.dump_traceback_later(limit_s, exit=True)
        timer = loop.call_later(limit_s / BEATS, beat)

    beat()
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
