"""Work that blocks, in a thread of its own: for as long as it takes, and no end of this process waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """What `work` returns, or raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(how: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else how())
        except RuntimeError:
            return  # the loop is closed, and nobody waits any more

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  (raised again where it is waited for)
            told = error
            tell(lambda: done.set_exception(told))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True).start()
    return await done
