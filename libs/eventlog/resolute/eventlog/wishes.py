"""Wishes: appends on their way to the database, many to a batch, and how each learns its outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from resolute import codec
from resolute.eventlog.log import Appended
from resolute.eventlog.newest import Columns
from resolute.eventlog.rows import encode
from resolute.eventlog.steps import in_steps
from resolute.proto.errors import WrongVersion
from resolute.proto.message import Cause, Event, Recorded


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


async def wish(
    stream: str, events: Sequence[Event], expected_version: int, cause: Cause, answer: asyncio.Future[Appended]
) -> Wish:
    asked = Wish(stream, expected_version, cause, [], [], [], [], False, answer)
    async for part in in_steps(events):
        for encoded, event in encode(part):
            asked.types.append(encoded.type)
            asked.schema_versions.append(encoded.schema_version)
            asked.data.append(encoded.data)
            asked.events.append(event)
            asked.echo = asked.echo or encoded.holds_documents
    return asked


def arguments(batch: Sequence[Wish]) -> tuple[str, ...]:
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


async def answer(asked: Wish, outcome: Sequence[Any]) -> int:
    """Tell the caller how the append came out; answers the position of its last event, 0 when nothing was written.

    `outcome` is a row of `eventlog.append` that says 'appended' or 'wrong version'.
    """
    kind, stood_at, first_position, prev_hashes, stored, recorded_at = outcome
    if kind == "wrong version":
        fail([asked], WrongVersion(asked.stream, asked.expected_version, stood_at))
        return 0
    assert kind == "appended", f"unknown outcome {kind!r}"
    events = await _as_stored(asked, stored) if asked.echo else asked.events
    recorded = [
        Recorded(first_position + i, asked.stream, stood_at + 1 + i, event, asked.cause, recorded_at, prev_hash.hex())
        for i, (event, prev_hash) in enumerate(zip(events, prev_hashes or (), strict=True))
    ]
    succeed(asked, Appended(tuple(recorded)))
    return first_position + len(recorded) - 1 if recorded else 0


def rows(asked: Wish, outcome: Sequence[Any]) -> list[Columns]:
    """What `answer` has made known, as readers of the log would be given it by the database."""
    _kind, stood_at, first_position, prev_hashes, stored, recorded_at = outcome
    data, cause = stored if asked.echo else asked.data, asked.cause
    return [
        (
            first_position + step,
            asked.stream,
            stood_at + 1 + step,
            asked.types[step],
            asked.schema_versions[step],
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


async def _as_stored(asked: Wish, stored: Sequence[str]) -> list[Event]:
    events: list[Event] = []
    async for part in in_steps(list(zip(asked.types, asked.schema_versions, stored, strict=True))):
        events += [codec.event_from_json(name, number, data) for name, number, data in part]
    return events


def succeed(asked: Wish, outcome: Appended) -> None:
    if not asked.answer.done():  # else the caller has gone; what was written stands
        asked.answer.set_result(outcome)


def fail(batch: Iterable[Wish], error: BaseException) -> None:
    for asked in batch:
        if not asked.answer.done():
            asked.answer.set_exception(error)
