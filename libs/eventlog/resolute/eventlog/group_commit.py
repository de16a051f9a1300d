"""Group commit: the appends of a process, gathered into one transaction at a time.

No append waits for others on purpose: while one batch is being written to the disk, the next one is gathered. So a
single writer is as fast as the disk, and many writers share the writes. (Two batches at once were tried, one prepared
while the other was written: on two busy cores the additional round trips cost more than that gained.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from resolute.eventlog import append_requests
from resolute.eventlog.append_requests import AppendRequest
from resolute.eventlog.log import Appended
from resolute.eventlog.newest_events import Columns
from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable
from resolute.proto.message import Cause, Event, Recorded

BATCH_EVENTS = 2000
"""No further append is added to a batch that has at least this many events."""

Send = Callable[..., Awaitable[Sequence[Any]]]
"""Runs `eventlog.append` with these arguments, again after an outage; returns a row for each append of the batch."""

FindCause = Callable[[str, str], Awaitable[list[Recorded]]]
"""Returns the events that were written to a stream under a cause."""


class GroupCommit:
    """Gathers the appends of a process, sends them batch by batch, and gives every caller the outcome of its append."""

    def __init__(self, send: Send, find_cause: FindCause, committed: Callable[[list[Columns]], None]) -> None:
        """`committed` is given the rows of every batch that is durable."""
        self._send, self._find_cause, self._committed = send, find_cause, committed
        self._waiting: deque[AppendRequest] = deque()
        self._busy: asyncio.Task[None] | None = None
        self._closed = False

    async def append(self, stream: str, events: Sequence[Event], expected_version: int, cause: Cause) -> Appended:
        answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        request = await append_requests.encoded_request(stream, events, expected_version, cause, answer)
        if self._closed:
            raise Unavailable("the log is closed")
        self._waiting.append(request)
        if self._busy is None:
            self._busy = asyncio.create_task(self._work(), name="group commit")
        return await answer

    async def close(self) -> None:
        """Finishes the appends that are under way; later ones are refused."""
        self._closed = True
        if self._busy is not None:
            await asyncio.wait({self._busy})

    async def _work(self) -> None:
        batch: list[AppendRequest] = []
        try:
            while self._waiting:
                batch = self._next_batch()
                await self._commit(batch)
        finally:
            self._busy = None
            unknown = Unavailable("the log was closed before it could answer; the outcome is unknown")
            append_requests.fail([*batch, *self._waiting], unknown)

    def _next_batch(self) -> list[AppendRequest]:
        """As many requests as fit, in order. A request with the cause of an earlier one goes into the next batch, so
        that it finds what the earlier one wrote."""
        batch: list[AppendRequest] = []
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

    async def _commit(self, batch: list[AppendRequest]) -> None:
        try:
            outcomes = await self._send(*append_requests.arguments(batch))
            written: list[Columns] = []
            for request, outcome in zip(batch, outcomes, strict=True):
                if outcome["outcome"] == "repeated":
                    await self._answer_repeated(request)
                elif await append_requests.answer(request, outcome):
                    written += append_requests.rows(request, outcome)
            self._committed(written)
        except (InvalidConfig, asyncpg.PostgresError) as error:
            await self._one_by_one(batch, error)
        except ResoluteError as error:
            append_requests.fail(batch, error)
        except Exception as error:  # noqa: BLE001  a bug: raised in the callers, as no other code waits for this task
            append_requests.fail(batch, error)

    async def _one_by_one(self, batch: list[AppendRequest], error: Exception) -> None:
        """Postgres refused a value of one request, and stored nothing of the batch: sends each request by itself, so
        that the others are stored."""
        if len(batch) == 1:
            where = f"{batch[0].stream}: {', '.join(batch[0].types)}"
            append_requests.fail(batch, InvalidConfig(f"{where}: Postgres does not take it: {error}"))
            return
        for request in batch:
            await self._commit([request])

    async def _answer_repeated(self, request: AppendRequest) -> None:
        try:
            before = await self._find_cause(request.stream, request.cause.id)
        except ResoluteError as error:
            append_requests.fail([request], error)
        else:
            assert before, f"{request.stream}: nothing was written under {request.cause.id}, yet it is known"
            append_requests.succeed(request, Appended(tuple(before), repeated=True))
