"""What happened lately, for clients that come again: which objects which events changed."""

from __future__ import annotations

import asyncio
from collections import deque

from resolute.api.stream.touched import Touch, touched
from resolute.eventlog import EventLog

REACH = 10_000
"""How many events the gateway reads back for a client that was away. One that was away for longer is sent all."""

PAGE = 1_000


class Recent:
    """All touches of the events after `floor`, up to `end`."""

    def __init__(self, log: EventLog, reach: int = REACH) -> None:
        self._log, self._reach = log, reach
        self.floor = self.end = 0
        self._touches: deque[tuple[int, Touch]] = deque()
        self._one_at_a_time = asyncio.Lock()

    def begin(self, position: int) -> None:
        self.floor = self.end = position
        self._touches.clear()

    def add(self, position: int, touches: list[tuple[int, Touch]]) -> None:
        """What the events up to `position` did; those before were added before."""
        if position <= self.end:
            return
        self._touches.extend(pair for pair in touches if pair[0] > self.end)
        self.end = position
        if self.end - self.floor > 2 * self._reach:
            self.floor = self.end - self._reach
            while self._touches and self._touches[0][0] <= self.floor:
                self._touches.popleft()

    async def between(self, position: int, upto: int, kind: str) -> list[tuple[int, Touch]] | None:
        """What events after `position`, at least those up to `upto`, did to objects of that kind; None where that is
        too long ago to say."""
        if position < self.floor:
            async with self._one_at_a_time:
                if position < self.floor:
                    await self._read_back(position)
        if position < self.floor:
            return None
        found = [pair for pair in self._touches if pair[0] > position]
        found += await self._read(max(self.end, position), upto)
        return [pair for pair in found if pair[1].kind == kind]

    async def _read_back(self, position: int) -> None:
        end = self.floor
        if self.end - position > self._reach:
            return
        found = await self._read(position, end)
        if self.floor == end:  # else it was moved on meanwhile
            self._touches.extendleft(reversed(found))
            self.floor = position

    async def _read(self, begin: int, end: int) -> list[tuple[int, Touch]]:
        """What the events after `begin` up to `end` did."""
        found: list[tuple[int, Touch]] = []
        while begin < end and (events := await self._log.read_next(begin, min(PAGE, end - begin))):
            found += [(one.position, touch) for one in events if one.position <= end for touch in touched(one)]
            begin = events[-1].position
        return found
