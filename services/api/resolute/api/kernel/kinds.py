"""The types of values on the wire: what a value is, its range and its length. They have a short form in writing.

A kind is a plain type (`int`, `string(int64)`, `float`, `bool`, `string`, `text`, `object`, `any`), the name of a
message or an enum, a list `[kind]`, or an object with string keys `{kind}`. Bounds may follow: `int<1..99>` is a range,
`string<1..80>` a length in characters, `[int]<..100>` a number of elements. Either end may be left out; then the plain
type's own holds. A `string` holds no NUL, as the database cannot; a `text` may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)

CHARACTERS_MOST = 65_536
"""In a text whose declaration names no other bound."""

ELEMENTS_MOST = 100_000
"""In a list, or in an object with string keys, whose declaration names no other bound."""

_BOUNDS = re.compile(r"<(-?\d*)\.\.(-?\d*)>$")

_RANGES: Mapping[str, tuple[int, int]] = {
    "int": INT32,
    "string(int64)": INT64,
    "string": (0, CHARACTERS_MOST),
    "text": (0, CHARACTERS_MOST),
    "string(base64)": (0, 2**31),
    "string(date-time)": (0, 64),
    "list": (0, ELEMENTS_MOST),
    "map": (0, ELEMENTS_MOST),
}

PLAIN = frozenset({*_RANGES, "float", "bool", "object", "any"}) - {"list", "map"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A type with its bounds; `element` is there for lists and maps."""

    name: str
    """`list`, `map`, a plain type, or the name of a message or an enum."""
    least: int | None
    most: int | None
    element: Kind | None = None
    explicit: bool = False
    """Whether the declaration names a bound, and not the plain type alone."""


@cache
def parse(text: str) -> Kind:
    """The kind that `text` declares."""
    bounds = _BOUNDS.search(text)
    bare = text[: bounds.start()] if bounds else text
    if bare[0] in "[{":
        name, element = ("list" if bare[0] == "[" else "map"), parse(bare[1:-1])
    else:
        name, element = bare, None
    least, most = _RANGES.get(name, (None, None))
    if bounds:
        least = int(bounds[1]) if bounds[1] else least
        most = int(bounds[2]) if bounds[2] else most
    return Kind(name, least, most, element, explicit=bounds is not None)


def text(kind: Kind) -> str:
    """The short form of a kind: `parse` makes the same kind of it."""
    bare = kind.name
    if kind.element is not None:
        bare = f"[{text(kind.element)}]" if kind.name == "list" else f"{{{text(kind.element)}}}"
    if not kind.explicit:
        return bare
    plain_least, plain_most = _RANGES.get(kind.name, (None, None))
    least = "" if kind.least == plain_least else kind.least
    most = "" if kind.most == plain_most else kind.most
    return f"{bare}<{least}..{most}>"


def bounded(name: str, least: int | None = None, most: int | None = None, element: Kind | None = None) -> Kind:
    """A kind with these bounds; where one is left out, the plain type's own holds. A bound that is the plain type's own
    declares nothing more than the plain type."""
    plain_least, plain_most = plain = _RANGES.get(name, (None, None))
    bounds = (plain_least if least is None else least, plain_most if most is None else most)
    return Kind(name, *bounds, element, explicit=bounds != plain)


_SWAGGER: Mapping[str, Mapping[str, Any]] = {
    "int": {"type": "integer", "format": "int32"},
    "string(int64)": {"type": "string", "format": "int64"},
    "string(base64)": {"type": "string", "format": "byte"},
    "string(date-time)": {"type": "string", "format": "date-time"},
    "string": {"type": "string"},
    "text": {"type": "string"},
    "float": {"type": "number", "format": "double"},
    "bool": {"type": "boolean"},
    "object": {"type": "object"},
    "any": {},
}

_NAMES: Mapping[str, tuple[str, str]] = {
    "int": ("minimum", "maximum"),
    "float": ("minimum", "maximum"),
    "list": ("minItems", "maxItems"),
    "map": ("minProperties", "maxProperties"),
}
"""What OpenAPI calls the two bounds of a kind."""


def swagger(kind: Kind) -> dict[str, Any]:
    """A kind in OpenAPI's words; messages and enums are references."""
    if kind.name == "list":
        assert kind.element is not None, "a list has a kind of element"
        shown: dict[str, Any] = {"type": "array", "items": swagger(kind.element)}
    elif kind.name == "map":
        assert kind.element is not None, "a map has a kind of element"
        shown = {"type": "object", "additionalProperties": swagger(kind.element)}
    elif kind.name in _SWAGGER:
        shown = dict(_SWAGGER[kind.name])
    else:
        shown = {"$ref": f"#/definitions/{kind.name}"}
    return shown | (_shown_bounds(kind) if kind.explicit else {})


def _shown_bounds(kind: Kind) -> dict[str, int]:
    least, most = _NAMES.get(kind.name, ("minLength", "maxLength"))
    plain_least, plain_most = _RANGES.get(kind.name, (None, None))
    shown = {}
    if kind.least is not None and kind.least != plain_least:
        shown[least] = kind.least
    if kind.most is not None and kind.most != plain_most:
        shown[most] = kind.most
    return shown
