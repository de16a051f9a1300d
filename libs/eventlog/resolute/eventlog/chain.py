"""The hash chain: each event carries the hash of its stream's previous one, so that an edited history shows.

What is hashed is what was recorded, as text, undecoded: so a later release, which upcasts old events when it reads
them, verifies the same bytes. `eventlog.link` in the database computes the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Row:
    """An event as the log stores it, undecoded."""

    position: int
    stream: str
    version: int
    type: str
    schema_version: int
    data: str
    caused_by: str
    step: int
    """Its place among the events of one append: 0, 1, 2 …"""
    correlation_id: str
    actor: str
    traceparent: str | None
    recorded_at: datetime
    prev_hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a stream: its version, and the hash that its next event will carry."""

    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the log differs from what was written."""

    position: int
    stream: str
    version: int
    why: str

    def __str__(self) -> str:
        return f"position {self.position}, {self.stream}@{self.version}: {self.why}"


def link(row: Row) -> str:
    """SHA-256, in hex, over the hash of the previous event and all columns of this one.

    The parts are joined by newlines. Only the last part, the data, can contain one, so no two rows give the same text.
    """
    text = "\n".join(
        (
            str(row.position),
            row.stream,
            str(row.version),
            row.type,
            str(row.schema_version),
            row.caused_by,
            str(row.step),
            row.correlation_id,
            row.actor,
            row.traceparent or "",
            str((row.recorded_at - _EPOCH) // _MICROSECOND),
            row.data,
        )
    )
    return hashlib.sha256(bytes.fromhex(row.prev_hash) + text.encode()).hexdigest()


def follow(rows: Iterable[Row], heads: dict[str, Head], after: int | None = 0) -> Break | None:
    """Checks `rows`, which follow those that were checked before. `heads` has the end of each stream so far, and is
    updated.

    `rows` are all events after the position `after`; with None, the events of some streams. Returns the first break.
    """
    for row in rows:
        head = heads.get(row.stream, Head(0, ""))
        if why := _broken(row, head, after):
            return Break(row.position, row.stream, row.version, why)
        after = None if after is None else row.position
        heads[row.stream] = Head(row.version, link(row))
    return None


def _broken(row: Row, head: Head, after: int | None) -> str:
    if after is not None and row.position != after + 1:
        return f"the events from position {after + 1} to {row.position - 1} are missing"
    if row.version != head.version + 1:
        return f"it should be version {head.version + 1} of its stream"
    if row.prev_hash != head.hash:
        return f"it does not follow from version {head.version} as that stands now: one of the two was changed"
    return ""


def compare_heads(walked: Mapping[str, Head], kept: Mapping[str, Head]) -> Break | None:
    """Compares the ends of the streams with those that the log keeps in a table of its own, which protects the last
    event of each stream: no later event carries its hash."""
    for stream in sorted(walked.keys() | kept.keys()):
        found, expected = walked.get(stream, Head(0, "")), kept.get(stream, Head(0, ""))
        if found.version != expected.version:
            return Break(0, stream, found.version, f"the stream was at version {expected.version}, the rest is missing")
        if found.hash != expected.hash:
            return Break(0, stream, found.version, "the last event of the stream was changed")
    return None
