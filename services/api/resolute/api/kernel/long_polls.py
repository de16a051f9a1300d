"""Long polls: calls that wait until something happens, or until the time that the client gave is over.

A handler that waits looks at the read model in a loop:

    deadline = deadline_in(request.timeout_seconds)
    while True:
        seen = await newest_position(call, allocation_id)
        ...  # read, and answer when there is something to answer
        if not await changed_since(call, seen, allocation_id, deadline=deadline):
            ...  # answer that nothing happened
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolute.api.call import Call

LOOK_AGAIN_S = 5.0
"""A waiting call reads the tables again after this time, also when no event came. The bus may have lost a message, and
the read model shows the event all the same."""


def deadline_in(timeout_s: float) -> float:
    """Until when a call waits, on the clock of the event loop."""
    return _now() + timeout_s


async def newest_position(call: Call, *about: str) -> int:
    """The position of the newest event about these allocations, trials or experiments (`resolute.api.signals` has their
    names). The read model shows that event when this returns."""
    position = call.gateway.signals.heard(*about)
    await call.gateway.read.reached(position)
    return position


async def changed_since(call: Call, position: int, *about: str, deadline: float) -> bool:
    """Wait until there is an event about any of these after `position`. False when the deadline passes first. At least
    every `LOOK_AGAIN_S` the answer is True, whether there is such an event or not.

    Raises Refused or NotFound when the caller may not make this call any more.
    """
    left = deadline - _now()
    if left <= 0:
        return False
    if call.gateway.signals.heard(*about) == position:
        await call.gateway.signals.wait(*about, timeout_s=min(left, LOOK_AGAIN_S))
    await call.check_still_allowed()
    return True


def _now() -> float:
    return asyncio.get_running_loop().time()
