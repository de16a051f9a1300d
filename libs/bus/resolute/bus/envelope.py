"""The headers of a message: its type, its cause and, for a fact, its place in the log.

They are NATS headers, which a person who watches the bus can read, and a service can read without decoding the body.
Values that headers cannot carry as they are (line breaks, spaces at the ends) are percent-encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote, unquote

import orjson

from resolute import codec
from resolute.proto.errors import ResoluteError, from_code
from resolute.proto.message import Cause, Command, Recorded

Headers = dict[str, str]

TYPE = "Resolute-Type"
SCHEMA = "Resolute-Schema"
CAUSE = "Resolute-Cause"
ACTOR = "Resolute-Actor"
CORRELATION = "Resolute-Correlation"
TRACE = "traceparent"
POSITION = "Resolute-Position"
STREAM = "Resolute-Stream"
VERSION = "Resolute-Version"
RECORDED_AT = "Resolute-Recorded-At"
PREVIOUS = "Resolute-Previous-Hash"
ERROR = "Resolute-Error"
MESSAGE_ID = "Nats-Msg-Id"

_SAFE = "/:,;=@+-._~ "


def size_bytes(headers: Headers | None) -> int:
    """The size of `headers` on the wire: a first line, one line for each header, and an empty line."""
    if not headers:
        return 0
    return len("NATS/1.0\r\n\r\n") + sum(len(f"{name}: {value}\r\n".encode()) for name, value in headers.items())


def of_command(command: Command, cause: Cause) -> Headers:
    return {TYPE: type(command).__name__, **_of_cause(cause)}


def cause(headers: Mapping[str, str]) -> Cause:
    return Cause(
        id=_read(headers, CAUSE),
        actor=_read(headers, ACTOR),
        correlation_id=_read(headers, CORRELATION),
        traceparent=headers.get(TRACE),
    )


def of_fact(recorded: Recorded) -> Headers:
    return {
        MESSAGE_ID: recorded.id,
        TYPE: type(recorded.event).__name__,
        SCHEMA: str(type(recorded.event).schema_version),
        POSITION: str(recorded.position),
        STREAM: _write(recorded.stream),
        VERSION: str(recorded.version),
        RECORDED_AT: recorded.recorded_at.isoformat(),
        PREVIOUS: recorded.prev_hash,
        **_of_cause(recorded.cause),
    }


def fact(headers: Mapping[str, str], body: bytes) -> Recorded:
    """Raises Undecodable for an event this release does not know."""
    return Recorded(
        position=position(headers),
        stream=_read(headers, STREAM),
        version=int(headers[VERSION]),
        event=codec.event_from(headers[TYPE], int(headers[SCHEMA]), orjson.loads(body)),
        cause=cause(headers),
        recorded_at=datetime.fromisoformat(headers[RECORDED_AT]),
        prev_hash=headers[PREVIOUS],
    )


def position(headers: Mapping[str, str]) -> int:
    return int(headers[POSITION])


def of_error(error: ResoluteError) -> Headers:
    """The headers of an error; its text is the body. The tools of NATS micro services read the last two headers."""
    return {
        ERROR: error.code,
        "Nats-Service-Error-Code": str(error.http_status),
        "Nats-Service-Error": error.code,
    }


def error(headers: Mapping[str, str] | None, body: bytes) -> ResoluteError | None:
    """The error in an answer; None for an answer without one."""
    code = (headers or {}).get(ERROR)
    return from_code(code, body.decode()) if code else None


def _of_cause(cause: Cause) -> Headers:
    headers = {CAUSE: _write(cause.id), ACTOR: _write(cause.actor), CORRELATION: _write(cause.correlation_id)}
    return headers | {TRACE: cause.traceparent} if cause.traceparent else headers


def _write(value: str) -> str:
    if value[:1].isspace() or value[-1:].isspace():
        return quote(value, safe="")
    return quote(value, safe=_SAFE)


def _read(headers: Mapping[str, str], key: str) -> str:
    return unquote(headers[key])
