"""Runs blocking work in a daemon thread, which does not keep the process from ending. (The threads of
`asyncio.to_thread` do.)"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Runs `work` in a new thread; returns its result, or raises its exception."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(how: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else how())
        except RuntimeError:
            return  # the loop is closed, so no caller waits

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            raised = error
            finish(lambda: done.set_exception(raised))
        else:
            finish(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True).start()
    return await done
