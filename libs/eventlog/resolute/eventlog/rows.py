"""Rows of the database decoded to recorded events, and events encoded for the database."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from resolute import codec
from resolute.eventlog.chain import Row
from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.proto.message import Cause, Event, Recorded

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""Matches an escaped NUL in JSON, but not an escaped backslash that the plain text `u0000` follows."""


class Unreadable(Unavailable):
    """The log holds an event that this release cannot read: most often a newer release wrote it, and this process is
    about to be replaced. Folding or showing the stream without the event would be wrong, so callers wait, as they do
    during an outage, and do not leave the event out."""


def recorded_from(columns: Iterable[Any]) -> Recorded:
    """One row of the statements in `sql/read.sql`, as a recorded event of today's classes. Raises Unreadable."""
    position, stream, version, kind, schema_version, data, caused_by, _step, correlation_id, actor, trace, at, prev = (
        columns
    )
    try:
        event = codec.event_from_json(kind, schema_version, data)
    except codec.Undecodable as error:
        raise Unreadable(
            f"cannot read event {version} of {stream}, at position {position}: {error.message}; upgrade this process"
        ) from error
    cause = Cause(caused_by, actor, correlation_id, trace)
    return Recorded(position, stream, version, event, cause, at, prev.hex())


def row_from(columns: Iterable[Any]) -> Row:
    """The same row, undecoded."""
    values = [*columns]
    values[-1] = values[-1].hex()
    return Row(*values)


def encode(events: Iterable[Event]) -> list[tuple[codec.Encoded, Event]]:
    """Events as they are stored, each with the event that a reader will decode from the stored text.

    Raises Undecodable for an event that could not be read back: the log is append-only, so it must not be written.
    """
    return [(encoded, _decoded(encoded)) for encoded in map(codec.event_to_json, events)]


def _decoded(encoded: codec.Encoded) -> Event:
    if "\\u0000" in encoded.data and _NUL.search(encoded.data):
        raise codec.Undecodable(f"{encoded.type}: found a NUL character in a text; Postgres stores none, take it out")
    return codec.event_from_json(encoded.type, encoded.schema_version, encoded.data)


def check_names(stream: str, cause: Cause) -> None:
    """Raises InvalidConfig for an empty name, or for one with unprintable characters.

    The hash chain joins names by newlines: with a newline inside a name, two different events could have the same hash.
    Postgres stores no NUL.
    """
    names = f"{stream}{cause.id}{cause.actor}{cause.correlation_id}{cause.traceparent}"
    if stream and cause.id and names.isprintable():
        return
    named = {
        "stream": stream,
        "cause.id": cause.id,
        "cause.actor": cause.actor,
        "cause.correlation_id": cause.correlation_id,
        "cause.traceparent": cause.traceparent or "",
    }
    for field, text in named.items():
        if not text.isprintable():
            raise InvalidConfig(f"{field}: found {text!r}; a name is one line of printable characters")
    if not stream or not cause.id:
        raise InvalidConfig("stream and cause.id: found an empty name; both must say something")
