"""Messages to bytes and back: where plain dataclasses meet the bus, the log and REST.

Values are checked as they come in (pydantic), and written as canonical JSON: keys in field order, no spaces,
instants in UTC. What cannot be decoded raises `Undecodable`, naming the field.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

import resolute.proto.catalog  # noqa: F401  (registers every message)
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import COMMANDS, EVENTS, Command, Event

T = TypeVar("T")


class Undecodable(InvalidConfig):
    """Bytes that are not the message they claim to be."""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """The pydantic adapter of a message class, made once."""
    key: Any = kind
    made: TypeAdapter[T] = _adapter(key)
    return made


def dump(value: Any) -> Any:
    """The JSON-able form of a message: dicts, lists, strings, numbers."""
    return adapter(type(value)).dump_python(value, mode="json")


def to_bytes(value: Any) -> bytes:
    dumped = dump(value)
    try:
        return orjson.dumps(dumped)
    except TypeError:  # a whole number beyond 64 bits, in a document that a person wrote
        return to_json(dumped, inf_nan_mode="null")


def load(kind: type[T], data: Any) -> T:
    """A `kind` from its JSON-able form. Unknown keys are ignored: a newer sender may say more."""
    try:
        return adapter(kind).validate_python(data)
    except ValidationError as error:
        raise Undecodable(_explain(kind, error)) from error


def from_bytes(kind: type[T], data: bytes | str) -> T:
    if _may_hold_large_numbers(kind, data):
        return load(kind, _parsed(kind, data))
    try:
        return adapter(kind).validate_json(data)
    except ValidationError as error:
        raise Undecodable(_explain(kind, error)) from error


_MANY_DIGITS, _MANY_DIGITS_BYTES = re.compile(r"\d{19}"), re.compile(rb"\d{19}")


def _may_hold_large_numbers(kind: Any, data: bytes | str) -> bool:
    """Whether a document in it may hold a whole number beyond 64 bits: 1e30 is one once jsonb has written it out."""
    if not holds_documents(kind):
        return False
    return (_MANY_DIGITS.search(data) if isinstance(data, str) else _MANY_DIGITS_BYTES.search(data)) is not None


def _parsed(kind: type[Any], data: bytes | str) -> Any:
    """JSON, with such numbers as floats, which every reader can carry on."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Undecodable(f"{kind.__name__}: {error}") from error


def _explain(kind: type[Any], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return f"{kind.__name__}.{path}: {first['msg']}; found {first.get('input')!r}"


Upcast = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns the data of an event of one schema version into that of the next."""

UPCASTS: dict[tuple[str, int], Upcast] = {}
"""By (event type, schema version found); applied one after another until the current version is reached."""


def upcast(type_name: str, schema_version: int) -> Callable[[Upcast], Upcast]:
    """Registers how data of `type_name`, as recorded with `schema_version`, become those of the next version."""

    def register(step: Upcast) -> Upcast:
        assert (type_name, schema_version) not in UPCASTS, f"two upcasts of {type_name} from {schema_version}"
        UPCASTS[type_name, schema_version] = step
        return step

    return register


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event as it is stored."""

    type: str
    schema_version: int
    data: str
    """JSON."""
    holds_documents: bool
    """Whether some of it is free-form (a configuration, say), whose keys a database may put in another order."""


def event_to_json(event: Event) -> Encoded:
    """An event for the log. Raises Undecodable when a field is not of its declared type."""
    kind: Any = type(event)
    assert kind.__name__ in EVENTS, f"{kind.__name__} is no registered event"
    try:
        data = _adapter(kind).serializer.to_json(event, warnings="error").decode()
    except (PydanticSerializationError, UnicodeError) as error:
        raise Undecodable(f"{kind.__name__}: cannot be written as JSON: {error}") from error
    return Encoded(kind.__name__, kind.schema_version, data, holds_documents(kind))


def event_from_json(type_name: str, schema_version: int, data: str) -> Event:
    """An event as it was recorded by any release, as today's dataclass."""
    kind: Any = EVENTS.get(type_name)
    if kind is None or schema_version != kind.schema_version or _may_hold_large_numbers(kind, data):
        return event_from(type_name, schema_version, _parsed(kind or Event, data))
    try:
        event: Event = _adapter(kind).validator.validate_json(data)
    except ValidationError as error:
        raise Undecodable(_explain(kind, error)) from error
    return event


def event_from(type_name: str, schema_version: int, data: dict[str, Any]) -> Event:
    """The same, from data already parsed."""
    kind = EVENTS.get(type_name)
    if kind is None:
        raise Undecodable(f"{type_name}: no such event in this release")
    if schema_version > kind.schema_version:
        raise Undecodable(
            f"{type_name}: found schema version {schema_version}, written by a newer release; this one reads up to "
            f"{kind.schema_version}"
        )
    while schema_version < kind.schema_version:
        step = UPCASTS.get((type_name, schema_version))
        assert step is not None, f"no upcast of {type_name} from schema version {schema_version}"
        data = step(data)
        schema_version += 1
    return load(kind, data)


@cache
def holds_documents(kind: Any) -> bool:
    """Whether values of this type may hold maps or anything at all, beside fields of known names."""
    if kind is Any or typing.get_origin(kind) in (dict, Mapping) or kind in (dict, Mapping):
        return True
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return any(holds_documents(hints[field.name]) for field in fields(kind))
    return any(holds_documents(argument) for argument in typing.get_args(kind))


def command_from(type_name: str, data: bytes) -> Command:
    kind = COMMANDS.get(type_name)
    if kind is None:
        raise Undecodable(f"{type_name}: no such command in this release")
    return from_bytes(kind, data)
