"""How far behind the log a gateway may be when it decides whether a task or a trial is still believed.

A gateway hears of what happens over the bus, within milliseconds. While the bus is away, or drops something, this
bound holds: what a decision rests on was read from the log at most `FRESH_S` before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from resolute.api.kernel.readmodel import ReadModel

FRESH_S = 0.25

TRUSTED_S = 0.75
"""How long a gateway believes what it has looked up, when it hears nothing about it: with `FRESH_S`, one second."""


class Freshness:
    def __init__(self, read: ReadModel, now_s: Callable[[], float] = time.monotonic) -> None:
        self._read, self._now_s = read, now_s
        self._shown_at_s = float("-inf")
        self._one_at_a_time = asyncio.Lock()

    async def ensure(self) -> None:
        """Return once the read model shows everything that the log held `FRESH_S` ago. Many callers share one look
        at the log."""
        if self._is_fresh():
            return
        async with self._one_at_a_time:
            if not self._is_fresh():
                asked_at_s = self._now_s()
                await self._read.catch_up()
                self._shown_at_s = asked_at_s

    def _is_fresh(self) -> bool:
        return self._now_s() - self._shown_at_s <= FRESH_S
