"""The types of a message's fields: what a value is on the wire, its range, and its length.

A field of a request says how large its value may be: `Annotated[str, text(255)]`, `Annotated[int, whole(least=0)]`,
`Annotated[tuple[Note, ...], items(1000)]`. A field of an answer may be a plain `str`, `int`, `float`, `bool` or
`datetime`. Both may hold messages, enums, documents of the user's own, and tuples and mappings of all these.

| in Python | on the wire |
|---|---|
| `Annotated[int, INT64]` | a 64-bit number: text in answers, a number or text in requests |
| `datetime` | RFC 3339 in UTC |
| `Annotated[bytes, base64(n)]` | base64 text |
| `float` | a number; NaN and the infinities are text |
| `JsonObject`, `AnyJson` | a document of the user's own, left as it is |
| `StoredObject` | the same in answers, as text that the database holds |
| `X | None` | null in answers; in requests null, or left out |
| `OrAbsent[X]` | left out of an answer when it is None |
"""

from __future__ import annotations

import types
import typing
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import orjson
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from resolute.api.kernel import values
from resolute.api.kernel.kinds import Kind, bounded
from resolute.api.kernel.values import Unfit

T = TypeVar("T")

UNFIT = "unfit"
"""The type of pydantic's errors that say what `Unfit` said."""


def said(check: Callable[..., T], *given: Any) -> T:
    """What the check answers; what it refuses becomes an error of pydantic, which knows the path of the field."""
    try:
        return check(*given)
    except Unfit as unfit:
        raise PydanticCustomError(UNFIT, "{said}", {"said": str(unfit)}) from None


@dataclass(frozen=True)
class Declared:
    """Marks a field with the kind of its values, which every value is held against."""

    kind: Kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        check = values.PLAIN[self.kind.name]
        return core_schema.no_info_plain_validator_function(partial(said, check, self.kind))


class _Base64(Declared):
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(partial(said, self._decoded))

    def _decoded(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        try:
            return b64decode(values.check_base64(self.kind, value), validate=True)
        except NotBase64:
            raise values.wrong("base64 text", value) from None


class _Elements(Declared):
    """Marks a tuple or a mapping with how many elements it may have."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner: Any = handler(source)
        kind = "list" if typing.get_origin(source) is tuple else "map"
        check = values.check_list if kind == "list" else values.check_map
        inner["fail_fast"] = True  # one wrong element is enough: a list of a hundred thousand may be all wrong
        bounds = bounded(kind, self.kind.least, self.kind.most)
        return core_schema.no_info_before_validator_function(partial(said, check, bounds), inner)


def text(most: int, least: int | None = None) -> Declared:
    """Text of so many characters, without the character NUL, which the database cannot hold."""
    return Declared(bounded("string", least, most))


def any_text(most: int, least: int | None = None) -> Declared:
    """Text of so many characters, any of which may be NUL."""
    return Declared(bounded("text", least, most))


def whole(least: int | None = None, most: int | None = None) -> Declared:
    """A whole number of 32 bits; `least` and `most` make its range smaller."""
    return Declared(bounded("int", least, most))


def number(least: int | None = None, most: int | None = None) -> Declared:
    """A number. Where it has a range, that leaves NaN out."""
    return Declared(bounded("float", least, most))


def base64(most: int) -> Declared:
    """Bytes, which come as base64 text of so many characters."""
    return _Base64(bounded("string(base64)", None, most))


def base64_text(most: int) -> Declared:
    """The same, left as text: for many or large files, which a thread or another process decodes."""
    return Declared(bounded("string(base64)", None, most))


def items(most: int, least: int | None = None) -> Declared:
    """A tuple or a mapping of so many elements."""
    return _Elements(Kind("", least, most, explicit=True))


def int64(least: int | None = None, most: int | None = None) -> Declared:
    """A whole number of 64 bits; `least` and `most` make its range smaller."""
    return Declared(bounded("string(int64)", least, most))


INT64 = int64()
"""A whole number of 64 bits."""

Flag: TypeAlias = Annotated[bool, Declared(bounded("bool"))]
Instant: TypeAlias = Annotated[datetime | None, Declared(bounded("string(date-time)"))]
"""An instant with any offset; an empty text is none."""
JsonObject: TypeAlias = Annotated[Mapping[str, Any], Declared(bounded("object"))]
"""A document of the user's own, left as it is."""
StoredObject: TypeAlias = Annotated[orjson.Fragment, Declared(bounded("object"))]
"""In answers: a document of the user's own that the database holds as text, and that goes out without being parsed."""
AnyJson: TypeAlias = Annotated[Any, Declared(bounded("any"))]
"""Any JSON value, left as it is."""


class WireEnum(StrEnum):
    """An enum of the wire; `wire_name` is its name in the OpenAPI document. Requests may name a value in full, without
    the part that all names share, or by its number, which is its place."""

    wire_name: ClassVar[str]

    def __init_subclass__(cls, *, wire_name: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.wire_name = wire_name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        known = [one.value for one in cls]

        def named(value: Any) -> WireEnum:
            return value if isinstance(value, cls) else cls(said(values.enum_name, known, value))

        return core_schema.no_info_plain_validator_function(named)


class Absent:
    """Marks a field of an answer that is left out when it is None."""


class Required:
    """Marks a field that has a default, and that the OpenAPI document calls required."""


OrAbsent = Annotated[T | None, Absent()]
Needed = Annotated[T, Required()]
"""In a request: clients are expected to send it; as in protobuf, one that does not means the default. In an answer: it
is always there."""


@dataclass(frozen=True)
class Hint:
    """The type of a field, taken apart."""

    bare: Any
    """Without `None` and without what `Annotated` adds."""
    marks: tuple[Any, ...]
    nullable: bool

    def has(self, mark: type) -> bool:
        return any(isinstance(one, mark) for one in self.marks)


def taken_apart(hint: Any, marks: tuple[Any, ...] = (), nullable: bool = False) -> Hint:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return taken_apart(arguments[0], (*marks, *hint.__metadata__), nullable)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (one for one in arguments if one is not types.NoneType)
        return taken_apart(inner, marks, True)
    return Hint(hint, marks, nullable)


_PLAIN_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "int",
    float: "float",
    bool: "bool",
    datetime: "string(date-time)",
}


def kind_of(hint: Any) -> Kind:
    """The kind of values that a field of this type holds. Raises TypeError for types that the wire has no form for."""
    found = taken_apart(hint)
    declared = next((mark.kind for mark in found.marks if isinstance(mark, Declared)), None)
    origin, arguments = typing.get_origin(found.bare), typing.get_args(found.bare)
    if declared is not None and declared.name:
        return declared
    least, most = (declared.least, declared.most) if declared is not None else (None, None)
    if origin is tuple:
        return bounded("list", least, most, kind_of(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return bounded("map", least, most, kind_of(arguments[1]))
    if (documented := getattr(found.bare, "documented", None)) is not None:
        return kind_of(documented)
    if (wire_name := getattr(found.bare, "wire_name", "")) or found.bare in _PLAIN_TYPES:
        return bounded(wire_name or _PLAIN_TYPES[found.bare])
    raise TypeError(f"the wire has no form for {hint!r}: see resolute.api.kernel.fields")


def is_bounded(hint: Any) -> bool:
    """Whether every value in a field of this type has a declared range or length, as those of requests must have."""
    found = taken_apart(hint)
    declared = [mark.kind for mark in found.marks if isinstance(mark, Declared)]
    if any(kind.name for kind in declared):
        return True
    if typing.get_origin(found.bare) in (tuple, Mapping):
        elements = [one for one in typing.get_args(found.bare) if one is not ...]
        return bool(declared) and is_bounded(elements[-1])
    return hasattr(found.bare, "wire_name") or hasattr(found.bare, "documented")
