"""Events as lines, for people and for programs: undecoded, so that any release can show what any other recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

import resolute.proto.catalog  # noqa: F401  (registers every event)
from resolute.eventlog.chain import Row
from resolute.eventlog.log import Aside
from resolute.proto.message import EVENTS

_LONGEST = 48


def for_people(row: Row) -> str:
    """When, where in the log, where in its stream, what, and by whom: one line."""
    at = instant(row.recorded_at)
    data = orjson.loads(row.data)
    said = " ".join([row.type, *(f"{name}={brief(data[name])}" for name in _in_order(row.type, data))])
    return f"{at} {row.position:>7} {row.stream}@{row.version} {said} (by {row.actor}, because of {row.caused_by})"


def aside_for_people(one: Aside) -> str:
    """One line: the time, the consumer, the event that it could not handle, and the error."""
    event = f"{one.stream}@{one.version} {one.type}" if one.stream else "an event that is not there"
    again = f" (to be handled once more, as asked {instant(one.again_at)})" if one.again_at else ""
    return f"{instant(one.noted_at)} {one.consumer} could not handle {one.position} ({event}): {one.error}{again}"


def aside_for_programs(one: Aside) -> str:
    return orjson.dumps(one).decode()


def instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "Z")


def _in_order(type_name: str, names: Iterable[str]) -> list[str]:
    """The field names in the order of the event's class, since Postgres sorts keys; unknown fields come last."""
    kind = EVENTS.get(type_name)
    places: dict[str, int] = (
        {field.name: place for place, field in enumerate(fields(kind))} if is_dataclass(kind) else {}
    )
    return sorted(names, key=lambda name: places.get(name, len(places)))


def for_programs(row: Row) -> str:
    """One JSON object with everything the log holds of the event."""
    return orjson.dumps(
        {
            "position": row.position,
            "stream": row.stream,
            "version": row.version,
            "type": row.type,
            "schema_version": row.schema_version,
            "data": orjson.Fragment(row.data),
            "caused_by": row.caused_by,
            "step": row.step,
            "correlation_id": row.correlation_id,
            "actor": row.actor,
            "traceparent": row.traceparent,
            "recorded_at": row.recorded_at.astimezone(UTC),
            "prev_hash": row.prev_hash,
        }
    ).decode()


def brief(value: Any) -> str:
    """A value short enough to share its line: documents by their size, texts by their beginning."""
    match value:
        case dict() if len(orjson.dumps(value)) > _LONGEST:
            return f"{{{len(value)} keys}}"
        case list() if len(orjson.dumps(value)) > _LONGEST:
            return f"[{len(value)} items]"
        case str() if len(value) > _LONGEST:
            return orjson.dumps(value[: _LONGEST - 1] + "…").decode()
        case str() if value and value.isascii() and value.isprintable() and " " not in value:
            return value
    return orjson.dumps(value).decode() if isinstance(value, str) else _plain(value)


def _plain(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a whole number beyond 64 bits
        return str(value)
