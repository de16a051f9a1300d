"""Messages to bytes and back: where plain dataclasses meet the bus, the log and REST.

Values are checked as they come in (pydantic), and written as canonical JSON: keys in field order, no spaces,
instants in UTC. What cannot be decoded raises `Undecodable`, naming the field.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import orjson
import resolute.proto.catalog  # noqa: F401  (registers every message)
from pydantic import TypeAdapter, ValidationError
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
    return orjson.dumps(dump(value))


def load(kind: type[T], data: Any) -> T:
    """A `kind` from its JSON-able form. Unknown keys are ignored: a newer sender may say more."""
    try:
        return adapter(kind).validate_python(data)
    except ValidationError as error:
        raise Undecodable(_explain(kind, error)) from error


def from_bytes(kind: type[T], data: bytes) -> T:
    try:
        return adapter(kind).validate_json(data)
    except ValidationError as error:
        raise Undecodable(_explain(kind, error)) from error


def _explain(kind: type[Any], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return f"{kind.__name__}.{path}: {first['msg']}; found {first.get('input')!r}"


Upcast = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns the data of an event of one schema version into that of the next."""

UPCASTS: dict[tuple[str, int], Upcast] = {}
"""By (event type, schema version found); applied one after another until the current version is reached."""


def event_from(type_name: str, schema_version: int, data: dict[str, Any]) -> Event:
    """An event as it was recorded by any release, as today's dataclass."""
    kind = EVENTS.get(type_name)
    if kind is None:
        raise Undecodable(f"{type_name}: no such event in this release")
    while schema_version < kind.schema_version:
        data = UPCASTS[type_name, schema_version](data)
        schema_version += 1
    return load(kind, data)


def command_from(type_name: str, data: bytes) -> Command:
    kind = COMMANDS.get(type_name)
    if kind is None:
        raise Undecodable(f"{type_name}: no such command in this release")
    return from_bytes(kind, data)
