"""A process that dies of a message, within one process: the handler never goes on, and the asker gets no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from resolute.proto.errors import Unavailable
from resolute.proto.message import Reply

UNANSWERED = set[asyncio.Task[Reply]]()
"""What was asked of processes that died: kept, so that it is not collected while the handler waits."""


async def answered(asking: Coroutine[object, object, Reply], died: asyncio.Event) -> Reply:
    """Raises Unavailable where the process dies. Unlike the bus in memory, this does not stop the handler."""
    asked = asyncio.create_task(asking)
    died.clear()
    dying = asyncio.create_task(died.wait())
    await asyncio.wait({asked, dying}, return_when=asyncio.FIRST_COMPLETED)
    dying.cancel()
    if not asked.done():
        UNANSWERED.add(asked)
        raise Unavailable("no answer")
    return asked.result()
