"""Reading a request as its message declares it: the parameters of its path and query, and its body.

Whatever passes here has the declared type, range and length, so that handlers, services and the database meet no
others. A value that does not fit is refused with the path of the field, what was found and what would do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeVar

from pydantic import ValidationError

from resolute.api import wire
from resolute.api.kernel import values
from resolute.api.kernel.fields import UNFIT, WireEnum, kind_of, taken_apart
from resolute.api.kernel.messages import Parts, Request, Unparsed, Written, hints_of, named_in, parts_of
from resolute.api.request_body import AT_ONCE_BYTES, RequestBody
from resolute.proto.errors import InvalidConfig

AnyRequest = TypeVar("AnyRequest", bound=Request)

T = TypeVar("T")

AT_ONCE_OBJECTS = 500
"""Up to here a body is read on the event loop."""

NOTHING = object()
"""In the place of a body that did not come."""


async def read_request(
    kind: type[AnyRequest], path: Mapping[str, str], query: Mapping[str, Sequence[str]], body: RequestBody
) -> AnyRequest:
    """The request as a message of this kind. Raises InvalidConfig. Large bodies are read off the event loop."""
    parts_of(kind)  # makes its validator, once, on this thread
    if is_read_at_once(body):
        return read(kind, path, query, _document(kind, body))
    if body.upload is not None:
        return await asyncio.to_thread(read, kind, path, query, await body.parsed())
    return await asyncio.to_thread(lambda: read(kind, path, query, _document(kind, body)))


def is_read_at_once(body: RequestBody) -> bool:
    """Whether reading this body takes less than a thread would. Every object becomes a message, which takes some ten
    microseconds, and 60 KB may be 20,000 objects."""
    return body.upload is None and len(body.raw) <= AT_ONCE_BYTES and body.raw.count(b"{") <= AT_ONCE_OBJECTS


async def read_names(request: Request, body: RequestBody) -> tuple[dict[str, str], Any]:
    """What the request names (`named_in`). Of large bodies it is found off the event loop, as a submission may hold
    thousands of files."""
    if is_read_at_once(body):
        return named_in(request)
    return await asyncio.to_thread(named_in, request)


def read(
    kind: type[AnyRequest], path: Mapping[str, str], query: Mapping[str, Sequence[str]], document: Any = NOTHING
) -> AnyRequest:
    """The same, from a body that is parsed already. What is not declared is left out."""
    parts = parts_of(kind)
    given: dict[str, Any] = {parameter.name: path[parameter.name] for parameter in parts.path}
    for parameter in parts.query:
        if texts := [text for text in query.get(parameter.name, ()) if text]:
            given[parameter.name] = texts if parameter.kind.element is not None else texts[-1]
    if parts.body is not None and (document is not NOTHING or parts.body.required):
        given[parts.body.name] = {} if document is NOTHING else document
    try:
        return kind.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidConfig(_said(error, parts)) from None


def expect_given(value: T | None, name: str) -> T:
    """For a field whose absence is an error only to callers who are let in: handlers call this. Raises InvalidConfig,
    naming the field, where it was left out or null."""
    if value is None:
        raise InvalidConfig(f"{name}: is missing")
    return value


def _document(kind: type[Request], body: RequestBody) -> Any:
    """What the body says, with keys in camelCase; the body itself, where the operation has a decoder of its own."""
    return _parser_of(kind)(body)


@cache
def _parser_of(kind: type[Request]) -> Callable[[RequestBody], Any]:
    declared = parts_of(kind).body
    if declared is None:
        return RequestBody.object
    hint = taken_apart(hints_of(kind)[declared.field])
    if hint.has(Unparsed):
        return _as_it_came
    documented = getattr(hint.bare, "documented", None)
    if _is_message(documented or hint.bare):
        return RequestBody.object
    if documented is None and declared.kind.name in ("object", "any"):
        return _own_document
    return _any_document_or_none if documented is None else _any_document


def _as_it_came(body: RequestBody) -> RequestBody:
    return body


def _own_document(body: RequestBody) -> Any:
    """A document of the user's own: its keys are left as they are. None where no body came."""
    return wire.loads(body.raw) if body.raw.strip() else None


def _any_document(body: RequestBody) -> Any:
    return wire.normalised(wire.loads(body.raw))


def _any_document_or_none(body: RequestBody) -> Any:
    return _any_document(body) if body.raw.strip() else NOTHING


def _is_message(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Written)


def checks_of(message: type[Written]) -> Mapping[str, Callable[[Any], Any]]:
    """By name on the wire: what checks a value of each field, for a class that reads a body itself
    (`kernel/decoding.py`). For messages whose fields are single values. A check raises Unfit."""
    return {message.wire_field(name): _check(hint) for name, hint in hints_of(message).items()}


def _check(hint: Any) -> Callable[[Any], Any]:
    found = taken_apart(hint)
    if isinstance(found.bare, type) and issubclass(found.bare, WireEnum):
        return partial(values.enum_name, [one.value for one in found.bare])
    kind = kind_of(hint)
    return partial(values.PLAIN[kind.name], kind)


def _said(error: ValidationError, parts: Parts) -> str:
    """The first thing that is wrong, after the path of its field."""
    first = error.errors(include_url=False, include_input=False)[0]
    assert first["type"] in (UNFIT, "missing"), f"every field of a request has a declared kind: {first}"
    what = first["msg"] if first["type"] == UNFIT else "is missing"
    return f"{_path(first['loc'], parts) or 'body'}: {what}"


def _path(where: tuple[int | str, ...], parts: Parts) -> str:
    """As people write it: `logs[0].taskId`. A parameter is its name alone, however often a query repeats it."""
    if parts.body is None or where[:1] != (parts.body.name,):
        return str(where[0])
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in where[1:]).removeprefix(".")
