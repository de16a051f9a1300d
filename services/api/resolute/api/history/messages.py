"""The messages about the event log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Name, Offset, Pagination
from resolute.api.kernel.fields import INT64, Declared, JsonObject, items, text, whole
from resolute.api.kernel.kinds import bounded
from resolute.api.kernel.messages import InQuery, Message, Request

PAGE_MOST = 1_000

Position = Annotated[int, INT64]
Word = Annotated[str, text(255, least=1)]


class GetLogEvents(Request):
    after: InQuery[Annotated[int, Declared(bounded("string(int64)", 0))]] = 0
    """A position: only events of later ones are answered."""
    limit: InQuery[Annotated[int, whole(least=0, most=PAGE_MOST)]] = 0
    stream: InQuery[Name] = ""
    caused_by: InQuery[Name] = ""
    types: InQuery[Annotated[tuple[Word, ...], items(100)]] = ()
    fields: InQuery[Annotated[tuple[Word, ...], items(10)]] = ()
    """Fields of an event's data, one of which has one of `values`."""
    values: InQuery[Annotated[tuple[Word, ...], items(1000)]] = ()
    timeout_seconds: InQuery[Annotated[int, whole(least=0, most=60)]] = 0
    """For how long to wait for an event, where there is none yet."""


class LogEvent(Message):
    """An event as it was recorded."""

    position: Position
    stream: str
    version: int
    """Its place in the stream."""
    type: str
    schema_version: int
    data: JsonObject
    caused_by: str
    step: int
    """Its place among the events that were recorded together."""
    correlation_id: str
    actor: str
    traceparent: str | None
    recorded_at: datetime
    prev_hash: str
    """Of the event before it in the stream."""


class LogEventsAnswer(Message, wire_name="GetLogEventsResponse"):
    events: tuple[LogEvent, ...]
    more: bool
    """Whether there are more events of this kind already."""
    head: Position
    """The position of the newest event of the log."""


class GetLogAsides(Request):
    offset: InQuery[Offset] = 0
    limit: InQuery[Annotated[int, whole(least=-2, most=PAGE_MOST)]] = 0


class LogAside(Message):
    """A note that a service could not handle an event."""

    consumer: str
    position: Position
    error: str
    noted_at: datetime
    again_at: datetime | None
    """When somebody asked that the event be handled once more, and that has not happened yet."""
    stream: str | None
    version: int | None
    type: str | None


class LogAsidesAnswer(Message, wire_name="GetLogAsidesResponse"):
    asides: tuple[LogAside, ...]
    pagination: Pagination
