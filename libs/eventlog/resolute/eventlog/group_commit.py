"""Group commit: the appends of a process, gathered into one transaction at a time.

Nothing waits on purpose: while one batch is on its way to the disk the next one gathers, so a lone writer is as
fast as the disk, and many share its trips.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg

from resolute import codec
from resolute.eventlog.log import Appended
from resolute.eventlog.rows import encode
from resolute.proto.errors import InvalidConfig, ResoluteError, Unavailable, WrongVersion
from resolute.proto.message import Cause, Event, Recorded

BATCH_EVENTS = 2000
"""A batch takes no further caller once it holds this many events."""

Send = Callable[..., Awaitable[Sequence[Any]]]
"""Runs `eventlog.append` with these arguments, through outages if it can; answers a row per caller."""

FindCause = Callable[[str, str], Awaitable[list[Recorded]]]
"""What was written to a stream under a cause."""


@dataclass(slots=True, eq=False)
class Wish:
    """One caller's append, encoded, waiting for its batch."""

    stream: str
    expected_version: int
    cause: Cause
    types: list[str]
    schema_versions: list[int]
    data: list[str]
    events: list[Event]
    """As they will be read back; a document's keys are put in the database's order once that is known."""
    echo: bool
    """Whether what was stored is wanted back, since an event holds a document."""
    answer: asyncio.Future[Appended]


def wish(
    stream: str, events: Sequence[Event], expected_version: int, cause: Cause, answer: asyncio.Future[Appended]
) -> Wish:
    types, schema_versions, data, decoded, echo = [], [], [], [], False
    for encoded, event in encode(events):
        types.append(encoded.type)
        schema_versions.append(encoded.schema_version)
        data.append(encoded.data)
        decoded.append(event)
        echo = echo or encoded.holds_documents
    return Wish(stream, expected_version, cause, types, schema_versions, data, decoded, echo, answer)


class GroupCommit:
    """Gathers appends, sends them batch by batch, and hands every caller his own outcome."""

    def __init__(self, send: Send, find_cause: FindCause, committed: Callable[[int], None]) -> None:
        """`committed` is told the last position of every batch."""
        self._send, self._find_cause, self._committed = send, find_cause, committed
        self._waiting: deque[Wish] = deque()
        self._busy: asyncio.Task[None] | None = None

    async def append(self, stream: str, events: Sequence[Event], expected_version: int, cause: Cause) -> Appended:
        answer: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._waiting.append(wish(stream, events, expected_version, cause, answer))
        if self._busy is None:
            self._busy = asyncio.create_task(self._work(), name="group commit")
        return await answer

    async def close(self) -> None:
        """Finish what is under way."""
        if self._busy is not None:
            await asyncio.wait({self._busy})

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._commit(self._next_batch())
        finally:
            self._busy = None
            _fail(self._waiting, Unavailable("the log was closed before this was written"))

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
            outcomes = await self._send(*arguments(batch))
            last = 0
            for asked, outcome in zip(batch, outcomes, strict=True):
                if outcome["outcome"] == "repeated":
                    await self._answer_repeated(asked)
                else:
                    last = max(last, _answer(asked, outcome))
            self._committed(last)
        except asyncio.CancelledError:
            _fail(batch, Unavailable("the log was closed before it could answer; the outcome is unknown"))
            raise
        except ResoluteError as error:
            _fail(batch, error)
        except asyncpg.PostgresError as error:
            await self._one_by_one(batch, error)
        except Exception as error:  # noqa: BLE001  a bug, which must reach whoever waits: nobody else would notice
            _fail(batch, error)

    async def _one_by_one(self, batch: list[Wish], error: asyncpg.PostgresError) -> None:
        """Something in the batch is not to be stored; nothing of it was. The others must not suffer from it."""
        if len(batch) == 1:
            where = f"{batch[0].stream}: {', '.join(batch[0].types)}"
            _fail(batch, InvalidConfig(f"{where}: Postgres does not take it: {error}"))
            return
        for asked in batch:
            await self._commit([asked])

    async def _answer_repeated(self, asked: Wish) -> None:
        try:
            before = await self._find_cause(asked.stream, asked.cause.id)
        except ResoluteError as error:
            _fail([asked], error)
        else:
            assert before, f"{asked.stream}: nothing was written under {asked.cause.id}, yet it is known"
            if not asked.answer.done():
                asked.answer.set_result(Appended(tuple(before), repeated=True))


def _answer(asked: Wish, outcome: Sequence[Any]) -> int:
    """Tell the caller how his append came out; answers the position of its last event, 0 when nothing was written."""
    kind, stood_at, first_position, prev_hashes, stored, recorded_at = outcome
    if kind == "wrong version":
        _fail([asked], WrongVersion(asked.stream, asked.expected_version, stood_at))
        return 0
    assert kind == "appended", f"unknown outcome {kind!r}"
    events = _as_stored(asked, stored) if asked.echo else asked.events
    recorded = [
        Recorded(first_position + i, asked.stream, stood_at + 1 + i, event, asked.cause, recorded_at, prev_hash.hex())
        for i, (event, prev_hash) in enumerate(zip(events, prev_hashes or (), strict=True))
    ]
    if not asked.answer.done():  # else the caller has gone; what was written stands
        asked.answer.set_result(Appended(tuple(recorded)))
    return first_position + len(recorded) - 1 if recorded else 0


def arguments(batch: Sequence[Wish]) -> tuple[Any, ...]:
    """The arguments of `eventlog.append`, which are columns: see `migrations/0001_log.sql`."""
    index: dict[str, int] = {}
    which = [index.setdefault(asked.stream, len(index) + 1) for asked in batch]
    return (
        "\n".join(index),
        _lines(which),
        _lines([asked.expected_version for asked in batch]),
        "\n".join([asked.cause.id for asked in batch]),
        "\n".join([asked.cause.correlation_id for asked in batch]),
        "\n".join([asked.cause.actor for asked in batch]),
        "\n".join([asked.cause.traceparent or "" for asked in batch]),
        _lines([len(asked.data) for asked in batch]),
        "\n".join(["t" if asked.echo else "f" for asked in batch]),
        "\n".join([name for asked in batch for name in asked.types]),
        _lines([number for asked in batch for number in asked.schema_versions]),
        "\n".join([text for asked in batch for text in asked.data]),
    )


def _lines(numbers: Sequence[int]) -> str:
    return "\n".join(map(str, numbers))


def _as_stored(asked: Wish, stored: Sequence[str]) -> list[Event]:
    return [
        codec.event_from_json(name, number, data)
        for name, number, data in zip(asked.types, asked.schema_versions, stored, strict=True)
    ]


def _fail(batch: Iterable[Wish], error: BaseException) -> None:
    for asked in batch:
        if not asked.answer.done():
            asked.answer.set_exception(error)
