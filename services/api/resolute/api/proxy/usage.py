"""Tells the service `tasks` which tasks are used, so that those that nobody uses can be ended."""

from __future__ import annotations

import time

from resolute.bus import Bus
from resolute.proto.errors import Unavailable
from resolute.proto.proxy import TASK_USED, TaskUsed

AT_MOST_EVERY_S = 15.0
KNOWN_MAX = 10_000


class Usage:
    """One for a gateway."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._said: dict[str, float] = {}
        """When `tasks` was last told, by task."""

    async def note(self, task_id: str) -> None:
        """The task is being used now."""
        now = time.monotonic()
        if now - self._said.get(task_id, -AT_MOST_EVERY_S) < AT_MOST_EVERY_S:
            return
        if len(self._said) >= KNOWN_MAX:
            self._said.clear()
        self._said[task_id] = now
        try:
            await self._bus.publish(TASK_USED, TaskUsed(task_id))
        except Unavailable:
            self._said.pop(task_id, None)


class ClientFrames:
    """Finds frames with data in what a client sends on a WebSocket (RFC 6455, 5.2). The control frames with which a
    browser answers by itself are no use of a task."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._left = 0
        """Bytes of the present frame that are still to come."""

    def has_data(self, data: bytes) -> bool:
        """Whether a frame with data begins in `data`, or goes on in it."""
        found, at = False, 0
        while at < len(data):
            if self._left:
                taken = min(self._left, len(data) - at)
                self._left -= taken
                at += taken
                continue
            self._head.append(data[at])
            at += 1
            if (length := _frame_rest(self._head)) is not None:
                found = found or self._head[0] & 0x0F < 8
                self._left = length
                self._head.clear()
        return found


def _frame_rest(head: bytearray) -> int | None:
    """The length of the mask and the payload after the head of a frame; None while the head is not whole."""
    if len(head) < 2:
        return None
    mask, short = (4 if head[1] & 0x80 else 0), head[1] & 0x7F
    more = {126: 2, 127: 8}.get(short, 0)
    if len(head) < 2 + more:
        return None
    return mask + (int.from_bytes(head[2:], "big") if more else short)
