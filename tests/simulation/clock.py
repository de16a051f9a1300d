"""A made-up clock: an event loop on which nothing takes time but waiting, and waiting is over at once.

When nothing is left to do now, the clock jumps to the next timer. So an hour of a cluster's life takes as long as
its events take to handle, and the same seed gives the same hour. Chance has one source as well: what asks the
operating system for random bytes (uuid4) is given the seed's.
"""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")

BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class NothingWillHappen(Exception):
    """Everybody waits for somebody else, and no timer is set."""


class _JumpingSelector(selectors.BaseSelector):
    """Watches nothing: there are no sockets. Instead of sleeping until the next timer it says that it has slept."""

    loop: SimulatedLoop

    def __init__(self) -> None:
        self._keys: dict[int, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        self._keys[fd] = key = selectors.SelectorKey(fileobj, fd, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys[fileobj if isinstance(fileobj, int) else fileobj.fileno()]

    def get_map(self) -> dict[Any, selectors.SelectorKey]:
        return self._keys

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingWillHappen
        if timeout > 0:
            self.loop.now_s += timeout
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.now_s = 0.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """At once and in place: a thread would bring a clock of its own."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  (for whoever awaits it)
            future.set_exception(error)
        return future


def now() -> datetime:
    """The made-up wall clock."""
    return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


def run(story: Callable[[], Coroutine[Any, Any, T]], seed: int) -> T:
    with _seeded(seed), asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(story())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with mock.patch.object(os, "urandom", Random(f"urandom/{seed}").randbytes):
        yield


def elapsed_s() -> float:
    return asyncio.get_running_loop().time()
