"""Group commit: the appends of a process, gathered into one transaction at a time.

Nothing waits on purpose: while one batch is on its way to the disk the next one gathers, so a lone writer is as
fast as the disk, and many share its trips. (Two batches under way at once were tried, so that one is prepared while the
other is written: on two busy cores the additional trips cost more than that gained.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from resolute.eventlog import wishes
from resolute.eventlog.log import Appended
from resolute.eventlog.newest import Columns
from resolute.eventlog.wishes import Wish
from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable
from resolute.proto.message import Cause, Event, Recorded

BATCH_EVENTS = 2000
"""A batch takes no further caller once it holds this many events."""

Send = Callable[..., Awaitable[Sequence[Any]]]
"""Runs `eventlog.append` with these arguments, through outages if it can; answers a row per caller."""

FindCause = Callable[[str, str], Awaitable[list[Recorded]]]
"""What was written to a stream under a cause."""


class GroupCommit:
    """Gathers appends, sends them batch by batch, and hands every caller the outcome of its own."""

    def __init__(self, send: Send, find_cause: FindCause, committed: Callable[[list[Columns]], None]) -> None:
        """`committed` is given the rows of every batch that is durable."""
        self._send, self._find_cause, self._committed = send, find_cause, committed
        self._waiting: deque[Wish] = deque()
        self._busy: asyncio.Task[None] | None = None
        self._closed = False

    async def append(self, stream: str, events: Sequence[Event], expected_version: int, cause: Cause) -> Appended:
        answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        asked = await wishes.wish(stream, events, expected_version, cause, answer)
        if self._closed:
            raise Unavailable("the log is closed")
        self._waiting.append(asked)
        if self._busy is None:
            self._busy = asyncio.create_task(self._work(), name="group commit")
        return await answer

    async def close(self) -> None:
        """Finish what is under way, and take nothing more."""
        self._closed = True
        if self._busy is not None:
            await asyncio.wait({self._busy})

    async def _work(self) -> None:
        batch: list[Wish] = []
        try:
            while self._waiting:
                batch = self._next_batch()
                await self._commit(batch)
        finally:
            self._busy = None
            unknown = Unavailable("the log was closed before it could answer; the outcome is unknown")
            wishes.fail([*batch, *self._waiting], unknown)

    def _next_batch(self) -> list[Wish]:
        """As many as fit, in order; a repeat of a cause waits for the batch after, to find what the first wrote."""
        batch: list[Wish] = []
        asked: set[tuple[str, str]] = set()
        size = 0
        while self._waiting and size < BATCH_EVENTS:
            key = (self._waiting[0].stream, self._waiting[0].cause.id)
            if key in asked:
                break
            asked.add(key)
            batch.append(self._waiting.popleft())
            size += max(len(batch[-1].data), 1)
        return batch

    async def _commit(self, batch: list[Wish]) -> None:
        try:
            outcomes = await self._send(*wishes.arguments(batch))
            written: list[Columns] = []
            for wish, outcome in zip(batch, outcomes, strict=True):
                if outcome["outcome"] == "repeated":
                    await self._answer_repeated(wish)
                elif await wishes.answer(wish, outcome):
                    written += wishes.rows(wish, outcome)
            self._committed(written)
        except (InvalidConfig, asyncpg.PostgresError) as error:
            await self._one_by_one(batch, error)
        except ResoluteError as error:
            wishes.fail(batch, error)
        except Exception as error:  # noqa: BLE001  a bug, which must reach whoever waits: nobody else would notice
            wishes.fail(batch, error)

    async def _one_by_one(self, batch: list[Wish], error: Exception) -> None:
        """Something in the batch is not to be stored; nothing of it was. The others must not suffer from it."""
        if len(batch) == 1:
            where = f"{batch[0].stream}: {', '.join(batch[0].types)}"
            wishes.fail(batch, InvalidConfig(f"{where}: Postgres does not take it: {error}"))
            return
        for wish in batch:
            await self._commit([wish])

    async def _answer_repeated(self, wish: Wish) -> None:
        try:
            before = await self._find_cause(wish.stream, wish.cause.id)
        except ResoluteError as error:
            wishes.fail([wish], error)
        else:
            assert before, f"{wish.stream}: nothing was written under {wish.cause.id}, yet it is known"
            wishes.succeed(wish, Appended(tuple(before), repeated=True))
