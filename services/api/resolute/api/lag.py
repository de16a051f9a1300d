"""How far the tables of a gateway are behind the log, and when that is too far to be ready.

The gateways of one version share their tables, so they show the same at every moment. Gateways of two versions have
tables of their own, each of which follows the log by itself: one may be behind the other, usually by milliseconds. A
gateway whose tables are behind by more than `behind_max_s` is not ready, so that a load balancer passes it over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from prometheus_client import Gauge

from resolute.api.kernel.readmodel import ReadModel
from resolute.eventlog import EventLog
from resolute.proto.errors import Unavailable

LOOK_EVERY_S = 1.0

REMEMBERED = 256
"""Ends of the log that are remembered while the tables are behind. Of more, each second one is forgotten."""

_BEHIND = Gauge(
    "resolute_api_behind_seconds", "How long ago the log held something that this gateway does not show yet"
)


@dataclass(slots=True)
class Lag:
    _ends: list[tuple[float, int]] = field(default_factory=list)
    """When the log was seen to end at a position that the tables have not reached, oldest first."""

    def look(self, now_s: float, head: int, shown: int) -> float:
        """For how many seconds, at least, the log has held something that the tables do not show; 0 when they show all
        of it. `head` and `shown`: where the log ends now, and up to where the tables show it."""
        self._ends = [(at_s, end) for at_s, end in self._ends if end > shown]
        if head > shown and (not self._ends or head > self._ends[-1][1]):
            self._ends.append((now_s, head))
        if len(self._ends) > REMEMBERED:
            self._ends = self._ends[::2]
        return now_s - self._ends[0][0] if self._ends else 0.0


class LagWatch:
    """Looks at the log and at the tables from time to time, and says when the tables fall too far behind."""

    def __init__(
        self, read: ReadModel, log: EventLog, behind_max_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._log, self._behind_max_s, self._now_s = read, log, behind_max_s, now_s
        self._lag = Lag()

    async def run(self, on_behind: Callable[[str], None], on_caught_up: Callable[[], None]) -> None:
        """Until cancelled. `on_behind` is called with the reason at each look at tables that are too far behind, and
        `on_caught_up` once they no longer are. While the log cannot be read nothing is said: that has a check of its
        own (`/ready`), and nothing new can be in the log."""
        behind = False
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            with suppress(Unavailable):
                why = await self._too_far_behind()
                if why:
                    on_behind(why)
                elif behind:
                    on_caught_up()
                behind = bool(why)

    async def _too_far_behind(self) -> str:
        """Why the gateway is not ready; empty when its tables are near enough to the log."""
        head = await self._log.head()
        # Another gateway may have brought the tables further; and tables that were made anew are noticed here, when no
        # event and no question makes this gateway notice them.
        shown = await self._read.position()
        behind_s = self._lag.look(self._now_s(), head, shown)
        _BEHIND.set(behind_s)
        if behind_s <= self._behind_max_s:
            return ""
        return f"its tables are {behind_s:.0f} s behind the log: they show {shown} of {head} events"
