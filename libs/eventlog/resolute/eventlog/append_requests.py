"""Append requests: the appends of callers, encoded, many to a batch, and how each caller is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from resolute import codec
from resolute.eventlog.log import Appended
from resolute.eventlog.newest_events import Columns
from resolute.eventlog.rows import encode
from resolute.eventlog.steps import in_steps
from resolute.proto.errors import WrongVersion
from resolute.proto.message import Cause, Event, Recorded


@dataclass(slots=True, eq=False)
class AppendRequest:
    """The append of one caller, encoded, until its batch is written."""

    stream: str
    expected_version: int
    cause: Cause
    types: list[str]
    schema_versions: list[int]
    data: list[str]
    events: list[Event]
    """The events as readers will get them. The keys of documents are put in the database's order when it is known."""
    echo: bool
    """Whether the database returns what it stored, because an event holds a document whose keys it may reorder."""
    answer: asyncio.Future[Appended]


async def encoded_request(
    stream: str, events: Sequence[Event], expected_version: int, cause: Cause, answer: asyncio.Future[Appended]
) -> AppendRequest:
    request = AppendRequest(stream, expected_version, cause, [], [], [], [], False, answer)
    async for part in in_steps(events):
        for encoded, event in encode(part):
            request.types.append(encoded.type)
            request.schema_versions.append(encoded.schema_version)
            request.data.append(encoded.data)
            request.events.append(event)
            request.echo = request.echo or encoded.holds_documents
    return request


def arguments(batch: Sequence[AppendRequest]) -> tuple[str, ...]:
    """The arguments of `eventlog.append`, which are columns: see `migrations/0001_log.sql`."""
    index: dict[str, int] = {}
    which = [index.setdefault(request.stream, len(index) + 1) for request in batch]
    return (
        "\n".join(index),
        _lines(which),
        _lines([request.expected_version for request in batch]),
        "\n".join([request.cause.id for request in batch]),
        "\n".join([request.cause.correlation_id for request in batch]),
        "\n".join([request.cause.actor for request in batch]),
        "\n".join([request.cause.traceparent or "" for request in batch]),
        _lines([len(request.data) for request in batch]),
        "\n".join(["t" if request.echo else "f" for request in batch]),
        "\n".join([name for request in batch for name in request.types]),
        _lines([number for request in batch for number in request.schema_versions]),
        "\n".join([text for request in batch for text in request.data]),
    )


def _lines(numbers: Sequence[int]) -> str:
    return "\n".join(map(str, numbers))


async def answer(request: AppendRequest, outcome: Sequence[Any]) -> int:
    """Gives the caller the outcome of its append. Returns the position of its last event, 0 when none was written.

    `outcome` is a row of `eventlog.append`: 'appended' or 'wrong version'.
    """
    kind, stood_at, first_position, prev_hashes, stored, recorded_at = outcome
    if kind == "wrong version":
        fail([request], WrongVersion(request.stream, request.expected_version, stood_at))
        return 0
    assert kind == "appended", f"unknown outcome {kind!r}"
    events = await _as_stored(request, stored) if request.echo else request.events
    recorded = [
        Recorded(
            first_position + i, request.stream, stood_at + 1 + i, event, request.cause, recorded_at, prev_hash.hex()
        )
        for i, (event, prev_hash) in enumerate(zip(events, prev_hashes or (), strict=True))
    ]
    succeed(request, Appended(tuple(recorded)))
    return first_position + len(recorded) - 1 if recorded else 0


def rows(request: AppendRequest, outcome: Sequence[Any]) -> list[Columns]:
    """The events that were appended, as the database would return them to a reader of the log."""
    _kind, stood_at, first_position, prev_hashes, stored, recorded_at = outcome
    data, cause = stored if request.echo else request.data, request.cause
    return [
        (
            first_position + step,
            request.stream,
            stood_at + 1 + step,
            request.types[step],
            request.schema_versions[step],
            text,
            cause.id,
            step,
            cause.correlation_id,
            cause.actor,
            cause.traceparent or None,
            recorded_at,
            prev_hash,
        )
        for step, (text, prev_hash) in enumerate(zip(data, prev_hashes or (), strict=True))
    ]


async def _as_stored(request: AppendRequest, stored: Sequence[str]) -> list[Event]:
    events: list[Event] = []
    async for part in in_steps(list(zip(request.types, request.schema_versions, stored, strict=True))):
        events += [codec.event_from_json(name, number, data) for name, number, data in part]
    return events


def succeed(request: AppendRequest, outcome: Appended) -> None:
    if not request.answer.done():  # a caller that was cancelled gets no answer; its events stay in the log
        request.answer.set_result(outcome)


def fail(batch: Iterable[AppendRequest], error: BaseException) -> None:
    for request in batch:
        if not request.answer.done():
            request.answer.set_exception(error)
