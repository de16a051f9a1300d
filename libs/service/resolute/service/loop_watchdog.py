"""Measures how long one piece of work holds the event loop of this process, and logs which work it is.

A process has one event loop. While one callback computes, all else in the process waits: requests, heartbeats,
followers. Two parts measure this:

- A *beat*: a timer on the loop. How late it fires is how long the loop was held.
- A *watcher*: a thread that notices that no beat came, while the loop is still held, and takes the stack of the
  loop's thread, which names the work. A thread is needed, because nothing runs on a loop that is held.

An idle loop pays less than 0.1 ms for each beat, 25 times a second: about 0.2 % of a core.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import structlog
from prometheus_client import Gauge, Histogram

log_ = structlog.get_logger()

BEAT_S = 0.04
"""The period of the timer. A hold that is shorter may be missed, and the measured time of a longer one may be too short
by this much."""
TELL_S = 0.25
"""A hold that is longer than this is logged, with the stack of the loop's thread."""
COUNTED_S = 0.01
"""Holds that are longer than this are counted in the histogram."""
STACK_FRAMES_MAX = 30

_LONGEST = Gauge(
    "resolute_event_loop_longest_hold_seconds",
    "The longest time for which one piece of work held the event loop, since the process started",
)
_HOLDS = Histogram(
    "resolute_event_loop_hold_seconds",
    "How long pieces of work held the event loop, each one of more than 10 ms",
    buckets=(0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)

_longest_ever_s = 0.0


def _report_longest(held_s: float) -> None:
    global _longest_ever_s
    _longest_ever_s = max(_longest_ever_s, held_s)
    _LONGEST.set(_longest_ever_s)


@dataclass(frozen=True, slots=True)
class Held:
    """A hold that goes on: its length in seconds so far, and the stack of the loop's thread."""

    for_s: float
    stack: str


OnHeld = Callable[[Held], None]


class LoopWatch:
    """Watches the running event loop from `__enter__` to `__exit__`, which must be called on that loop.

    `on_held` is called on the watcher's thread, again and again (about every `tell_s / 2`) for as long as the loop is
    held for more than `tell_s`. It must not need the loop. The first call of each hold is logged as well.
    """

    def __init__(self, *, beat_s: float = BEAT_S, tell_s: float = TELL_S, on_held: OnHeld | None = None) -> None:
        self.longest_s = 0.0
        """The longest hold so far."""
        self.longest_cpu_s = 0.0
        """The longest hold so far, counting only the time for which this process was using a processor. On a busy
        machine a process also waits for a processor: this number leaves that out, and blocking system calls with it."""
        self._beat_s, self._tell_s, self._on_held = beat_s, tell_s, on_held
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beat_at, self._cpu_at = 0.0, 0.0
        self._logged_hold_at = 0.0
        self._loop_thread = 0
        self._leaving = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="loop-watchdog", daemon=True)

    def __enter__(self) -> LoopWatch:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._next_beat()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._measure()  # the work that held the loop until now counts, although its beat has not fired
        self._leaving.set()
        self._watcher.join()

    # -- on the loop

    def _next_beat(self) -> None:
        assert self._loop is not None
        self._beat_at, self._cpu_at = time.monotonic(), time.process_time()
        self._timer = self._loop.call_later(self._beat_s, self._beat)

    def _beat(self) -> None:
        self._measure()
        self._next_beat()

    def _measure(self) -> None:
        held_s = time.monotonic() - self._beat_at - self._beat_s
        if held_s <= COUNTED_S:
            return
        self.longest_s = max(self.longest_s, held_s)
        self.longest_cpu_s = max(self.longest_cpu_s, min(held_s, time.process_time() - self._cpu_at))
        _HOLDS.observe(held_s)
        _report_longest(held_s)
        if held_s > self._tell_s:
            log_.warning("the event loop was held, and is free again", for_s=round(held_s, 3))

    # -- on the watcher's thread

    def _watch(self) -> None:
        while not self._leaving.wait(self._tell_s / 2):
            beat_at = self._beat_at
            held_s = time.monotonic() - beat_at - self._beat_s
            if held_s > self._tell_s:
                self._report(Held(held_s, self._stack()), beat_at)

    def _report(self, held: Held, beat_at: float) -> None:
        if self._on_held is not None:
            self._on_held(held)
        if self._logged_hold_at != beat_at:
            self._logged_hold_at = beat_at
            log_.warning("the event loop is held", for_s=round(held.for_s, 3), stack=held.stack)

    def _stack(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
        return "".join(traceback.format_stack(frame, STACK_FRAMES_MAX)) if frame else ""
