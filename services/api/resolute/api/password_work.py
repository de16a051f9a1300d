"""The work of hashing passwords: on threads of its own, a few at once, and only so many in line.

One hash costs 19 MiB and tens of milliseconds of a core, by intent. Strangers and known callers have lines of their
own, so that a flood of guesses by strangers delays no one that an account knows.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from resolute.api import wire
from resolute.api.wire import WireError

P = ParamSpec("P")
T = TypeVar("T")

WAITING_MAX = 40
RETRY_AFTER_S = 5.0


class Line:
    """Threads, and a bounded number of those who wait for one."""

    def __init__(self, name: str, at_once: int, waiting_max: int = WAITING_MAX) -> None:
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=f"passwords of {name}")
        self._most, self._unfinished = at_once + waiting_max, 0

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The outcome of `work`. Raises WireError (503) when too many wait already.

        A caller that goes away keeps its place until the thread is done: leaving must not make room for more work.
        """
        if self._unfinished >= self._most:
            raise WireError(
                wire.UNAVAILABLE,
                "too many people sign in at this moment: try again in some seconds",
                retry_after_s=RETRY_AFTER_S,
            )
        loop = asyncio.get_running_loop()
        self._unfinished += 1
        future = self._threads.submit(work, *args, **kwargs)
        future.add_done_callback(lambda done: self._finished(loop, done))
        return await asyncio.wrap_future(future)

    def _finished(self, loop: asyncio.AbstractEventLoop, done: Future[T]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        self._unfinished -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class PasswordWork:
    def __init__(self) -> None:
        at_once = max(1, (os.cpu_count() or 1) // 2)
        self.strangers, self.known = Line("strangers", at_once), Line("known callers", at_once)

    def close(self) -> None:
        self.strangers.close()
        self.known.close()
