"""The REST wire's conventions: error bodies, numbers, instants, pages, streams, as grpc-gateway has them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

import orjson
from aiohttp import web

from resolute.api.body_kinds import CONTAINERS_MAX, NESTING_MAX
from resolute.api.kernel import values
from resolute.api.kernel.feed import NotShown
from resolute.config.collection import no_collection
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound, Refused, ResoluteError, SetAside, Unavailable
from resolute.proto.errors import TooLarge as TooLargeForBus

T = TypeVar("T")

COLLECTED_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Code:
    """A gRPC status as it travels over HTTP."""

    number: int
    reason: str
    http: int


INVALID_ARGUMENT = Code(3, "InvalidArgument", 400)
NOT_FOUND = Code(5, "NotFound", 404)
ALREADY_EXISTS = Code(6, "AlreadyExists", 409)
PERMISSION_DENIED = Code(7, "PermissionDenied", 403)
RESOURCE_EXHAUSTED = Code(8, "ResourceExhausted", 429)
ABORTED = Code(10, "Aborted", 409)
GONE = Code(10, "Aborted", 410)
METHOD_NOT_ALLOWED = Code(12, "Unimplemented", 405)
INTERNAL = Code(13, "Internal", 500)
UNAVAILABLE = Code(14, "Unavailable", 503)
UNAUTHENTICATED = Code(16, "Unauthenticated", 401)
TOO_LARGE = Code(8, "ResourceExhausted", 413)
TIMED_OUT = Code(4, "DeadlineExceeded", 408)
URI_TOO_LONG = Code(3, "InvalidArgument", 414)
MISDIRECTED = Code(7, "PermissionDenied", 421)
HEADERS_TOO_LARGE = Code(8, "ResourceExhausted", 431)
UNSUPPORTED_MEDIA = Code(3, "InvalidArgument", 415)

_CODES: dict[type[ResoluteError], Code] = {
    Refused: ABORTED,
    SetAside: ABORTED,
    NotFound: NOT_FOUND,
    InvalidConfig: INVALID_ARGUMENT,
    TooLargeForBus: TOO_LARGE,
    Forbidden: PERMISSION_DENIED,
    Unavailable: UNAVAILABLE,
}


class WireError(ResoluteError):
    """An answer other than success, with the status it travels under."""

    def __init__(self, code: Code, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after_s = code, retry_after_s


def code_of(error: ResoluteError) -> Code:
    if isinstance(error, WireError):
        return error.status
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), INTERNAL)


RETRY_AFTER = "Retry-After"


def retry_after(error: Exception) -> dict[str, str]:
    """The header that says when to ask again, where the error knows."""
    wait_s = error.retry_after_s if isinstance(error, WireError | NotShown) else None
    return {RETRY_AFTER: str(math.ceil(wait_s))} if wait_s else {}


def error_body(path: str, code: Code, message: str) -> dict[str, Any]:
    """The body of a failed unary call: one form under /api/v1, a plainer one elsewhere."""
    if path.startswith("/api/v1/"):
        return {"error": {"code": code.number, "reason": code.reason, "error": message}}
    return {"message": message}


def stream_error_body(code: Code, message: str) -> dict[str, Any]:
    status = HTTPStatus(code.http).phrase
    return {
        "error": {
            "grpcCode": code.number,
            "httpCode": code.http,
            "message": message,
            "httpStatus": status,
            "details": [],
        }
    }


# ---------------------------------------------------------------- values


def timestamp(at: datetime | None) -> str | None:
    """RFC 3339 in UTC with a Z; a fraction of 0, 3 or 6 digits."""
    if at is None:
        return None
    # In half the time of isoformat.
    quoted = orjson.dumps(at if at.tzinfo is UTC else at.astimezone(UTC), option=orjson.OPT_UTC_Z).decode()
    if at.microsecond == 0 or at.microsecond % 1000:
        return quoted[1:-1]
    return quoted[1 : -len('000Z"')] + "Z"


def json_instant(at: datetime) -> datetime | str:
    """The same for JSON: the instant itself, which `dumps` writes quicker than text, unless orjson would write other
    digits of its fraction."""
    if at.tzinfo is UTC and (at.microsecond % 1000 or not at.microsecond):
        return at
    text = timestamp(at)
    assert text is not None, "there is an instant"
    return text


def instant(value: Any, field: str) -> datetime | None:
    """The instant a client sent as RFC 3339 (any offset), or nothing. Raises InvalidConfig, naming `field`."""
    try:
        return values.instant(value)
    except values.Unfit as unfit:
        raise InvalidConfig(f"{field}: {unfit}") from None


def number(value: float | None) -> float | str | None:
    """A float as JSON can carry it: NaN and the infinities are strings."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def whole(value: Any, path: str) -> int:
    """A whole number as clients send it: 64-bit ones come as text. Raises InvalidConfig, naming `path`."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidConfig(f"{path}: expected a whole number; found {ascii(value)[:60]}") from None


def finite(document: Any) -> Any:
    """A free-form document with its NaNs and infinities as strings."""
    match document:
        case float():
            return number(document)
        case dict():
            return {key: finite(value) for key, value in document.items()}
        case list():
            return [finite(value) for value in document]
    return document


def int64(value: int) -> str:
    return str(value)


def loads(raw: bytes) -> Any:
    """The document in `raw`. NaN and the infinities are taken bare too, as Python's own json writes them."""
    brackets = raw.count(b"[") + raw.count(b"{")
    if brackets > CONTAINERS_MAX:
        raise InvalidConfig(f"the body has more than {CONTAINERS_MAX:,} objects and lists, which is the limit")
    with no_collection() if len(raw) > COLLECTED_BYTES else nullcontext():
        document = _loads(raw)
    if brackets > NESTING_MAX:
        _check_nesting(document)
    return document


def _loads(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        if b"NaN" in raw or b"Infinity" in raw:
            with suppress(ValueError, RecursionError):
                return _as_strict(json.loads(raw))
        raise InvalidConfig(f"the body is no JSON: {str(error)!a}") from None


def _as_strict(document: Any) -> Any:
    """`document`, which Python's own parser read. Raises ValueError for what orjson would not have let in: that parser
    lets lone surrogates pass, whole numbers of any length, and deeper nesting."""
    try:
        orjson.dumps(document)
    except TypeError as error:  # orjson's word for all of these
        raise ValueError(str(error)) from error
    return document


def _check_nesting(document: Any) -> None:
    """Raises InvalidConfig for a document that is nested deeper than functions that call themselves should follow."""
    waiting = [(document, 1)]
    while waiting:
        value, level = waiting.pop()
        if level > NESTING_MAX:
            raise InvalidConfig(f"the body nests objects and lists more than {NESTING_MAX} deep, which is the limit")
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            waiting.extend((one, level + 1) for one in inner if isinstance(one, dict | list))


def dumps(document: Any, *, pretty: bool = False) -> bytes:
    """JSON, with the keys of every object sorted: users' own documents too, whose order the database does not keep."""
    if pretty:  # four spaces of indent, which orjson does not have
        return json.dumps(orjson.loads(dumps(document)), indent=4, ensure_ascii=False).encode()
    try:  # a quarter quicker than where keys may be something other than text, which they hardly ever are
        return orjson.dumps(document, _written, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z)
    except orjson.JSONEncodeError:
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z
        return orjson.dumps(document, _written, option=options)


ENCODERS: dict[type, Callable[[dict[str, Any]], Any]] = {}
"""By the class of a message that was written before: what makes of its fields the object that goes out."""


def _written(value: Any) -> Any:
    """The object that a message goes out as. Everything else that orjson does not know is an error."""
    if (encode := ENCODERS.get(type(value))) is not None:
        return encode(value.__dict__)
    if (written := getattr(value, "__wire__", None)) is None:
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    return written()


def json_response(document: Any, *, status: int = 200, pretty: bool = False) -> web.Response:
    """An answer; one that says 503 says as well that asking again after a second is right."""
    headers = {RETRY_AFTER: "1"} if status == UNAVAILABLE.http else None
    body = dumps(document, pretty=pretty)
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


# ---------------------------------------------------------------- pages


@dataclass(frozen=True, slots=True)
class Page:
    """The part of a list that was asked for."""

    offset: int
    limit: int
    start: int
    end: int
    total: int

    def as_json(self) -> dict[str, int]:
        return {
            "offset": self.offset,
            "limit": self.limit,
            "startIndex": self.start,
            "endIndex": self.end,
            "total": self.total,
        }


def page_of(total: int, *, offset: int = 0, limit: int = 0, default_limit: int = 0) -> Page:
    """The page of a list of `total` that `limit` and `offset` mean.

    A negative offset counts from the end. Limit 0 means `default_limit`, where 0 is everything; -1 is everything;
    -2 nothing but the page's own numbers.
    """
    if limit == 0:
        limit = default_limit
    start = max(total + offset, 0) if offset < 0 else min(offset, total)
    if limit == -2:
        end = start
    elif limit <= 0:
        end = total
    else:
        end = min(start + limit, total)
    return Page(offset=offset, limit=limit, start=start, end=end, total=total)


def cut(items: Sequence[T], page: Page) -> Sequence[T]:
    return items[page.start : page.end]


# ---------------------------------------------------------------- keys


def camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail) if head else key


OPAQUE = frozenset(
    {
        "avgMetrics",
        "batchMetrics",
        "checkpointStorageConfig",
        "config",
        "data",
        "environment",
        "hparams",
        "metadata",
        "value",
    }
)
"""Keys whose values are the user's own documents: their keys are left as they are."""


_CONTAINERS = (dict, list)


def normalised(document: Any, depth: int = 4, inside: str = "") -> Any:
    """`document` with its keys in camelCase, as far down as messages nest; users' own documents are left alone."""
    if depth == 0:
        return document
    if isinstance(document, dict):
        # The resources of a checkpoint are files by path; those of a patch are settings.
        if inside == "resources" and any("/" in key or "." in key for key in document):
            return document
        out = {}
        for key, value in document.items():
            name = camel(key) if "_" in key else key
            nested = isinstance(value, _CONTAINERS) and name not in OPAQUE
            out[name] = normalised(value, depth - 1, name) if nested else value
        return out
    if isinstance(document, list):
        return [normalised(element, depth, inside) if isinstance(element, dict) else element for element in document]
    return document
