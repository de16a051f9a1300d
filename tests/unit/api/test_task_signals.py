"""The end of a task that is no trial wakes those who follow its log."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from resolute.api import signals
from resolute.api.signals import Signals
from resolute.proto.interactive import TaskEnded, TaskReady
from resolute.proto.message import Cause, Event, Recorded


def recorded(event: Event, position: int, stream: str) -> Recorded:
    return Recorded(position, stream, position, event, Cause("cause"), datetime(2026, 1, 1, tzinfo=UTC))


async def test_its_end_is_heard_and_nothing_else_of_it() -> None:
    news = Signals()
    waiting = asyncio.create_task(news.wait(signals.task("0f8f"), timeout_s=20))
    await asyncio.sleep(0)
    news.deliver(recorded(TaskReady(), 1, stream="task-0f8f"))
    news.deliver(recorded(TaskEnded("exited", 0, ""), 2, stream="task-another"))
    assert news.heard(signals.task("0f8f")) == 0
    news.deliver(recorded(TaskEnded("exited", 0, ""), 3, stream="task-0f8f"))
    assert await waiting
    assert news.heard(signals.task("0f8f")) == 3
