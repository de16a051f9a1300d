"""What a request brings, held against its declaration: paths, queries and bodies come out as values of known types.

Whatever passes here has the declared type, range and length, so that handlers, services and the database meet no
others. A value that does not fit is refused with the path of the field, what was found and what would do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from itertools import takewhile
from typing import Any

from resolute.api import kinds, schemas
from resolute.api.kinds import Kind
from resolute.api.wire import instant
from resolute.proto.errors import InvalidConfig

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)

_SURROGATES = re.compile("[\ud800-\udfff]")


def read(operation: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request: what is declared, as declared. Absent and null are fine anywhere but in a list: handlers
    know what they need. What is not declared is left out. Raises InvalidConfig."""
    kind = schemas.operations().get(operation, {}).get("body")
    if not kind or not body or kind not in schemas.messages():
        return {}
    return _message(kind, body, "")


def read_document(operation: str, document: Any) -> Any:
    """The body of a request that is no JSON object. Raises InvalidConfig."""
    return value_of(kinds.parse(schemas.operations()[operation]["body"]), document, "")


def read_path(operation: str, path: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a path; numbers in their shortest form. Raises InvalidConfig."""
    declared = schemas.path_kinds()
    return {name: _parameter(declared.get(name, _KEY), text, name) for name, text in path.items()}


def read_query(operation: str, given: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of a query; enums by their names. What is not declared is left out. Raises InvalidConfig."""
    found: dict[str, list[str]] = {}
    for name, text in schemas.operations().get(operation, {}).get("query", {}).items():
        key, kind = name.rstrip("?"), kinds.parse(text)
        values = [value for value in given.get(key, ()) if value]
        if values:
            found[key] = _repeated(kind, values, key)
    return found


def _repeated(kind: Kind, values: Sequence[str], key: str) -> list[str]:
    if kind.element is None:
        return [_parameter(kind, values[-1], key)]
    _expect_within(kind, len(values), values, key)
    return [_parameter(kind.element, value, key) for value in values]


def _parameter(kind: Kind, text: str, path: str) -> str:
    value: object = text
    if kind.name == "bool":
        _expect(text.lower() in ("true", "false", "1", "0", "null"), "true or false", text, path)
    elif kind.name in ("int", "string(int64)"):
        value = _whole(kind, text, path)
    else:
        value = value_of(kind, text, path)
    return str(value)


def value_of(kind: Kind, value: Any, path: str) -> Any:
    """`value` as one of `kind`. Raises InvalidConfig, naming `path`."""
    if (plain := _PLAIN.get(kind.name)) is not None:
        return plain(kind, value, path)
    if "enum" in schemas.messages()[kind.name]:
        return _enum(kind.name, value, path)
    return _message(kind.name, value, path)


# ---------------------------------------------------------------- messages, lists and enums


@cache
def _fields(message: str) -> tuple[tuple[str, Kind], ...]:
    fields: Mapping[str, str] = schemas.messages()[message]["fields"]
    return tuple((name.rstrip("?"), kinds.parse(text)) for name, text in fields.items())


def _message(name: str, value: Any, path: str) -> dict[str, Any]:
    _expect(isinstance(value, dict), "an object", value, path)
    found = {}
    for key, kind in _fields(name):
        if key in value:
            given = value[key]
            found[key] = None if given is None else value_of(kind, given, f"{path}.{key}" if path else key)
    return found


def _list(kind: Kind, value: Any, path: str) -> list[Any]:
    assert kind.element is not None, "a list has a kind of element"
    _expect(isinstance(value, list), "a list", value, path)
    _expect_within(kind, len(value), value, path)
    return [value_of(kind.element, element, f"{path}[{place}]") for place, element in enumerate(value)]


def _map(kind: Kind, value: Any, path: str) -> dict[str, Any]:
    assert kind.element is not None, "a map has a kind of element"
    _expect(isinstance(value, dict), "an object", value, path)
    _expect_within(kind, len(value), value, path)
    return {_text(_KEY, key, path): value_of(kind.element, inner, f"{path}.{key}") for key, inner in value.items()}


_KEY = kinds.parse("string<..4096>")


def _enum(name: str, value: Any, path: str) -> str:
    """The name of an enum's value, which clients may send as a number, or without the part that all names share."""
    known: list[str] = schemas.messages()[name]["enum"]
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(known):
        return known[value]
    for candidate in (str(value).upper(), f"{_shared(name)}{value}".upper()):
        if candidate in known:
            return candidate
    raise _wrong(f"one of {', '.join(known)}", value, path)


@cache
def _shared(name: str) -> str:
    """The words that all names of an enum begin with: `LOG_LEVEL_`."""
    words = zip(*(known.split("_") for known in schemas.messages()[name]["enum"]), strict=False)
    return "".join(f"{word[0]}_" for word in takewhile(lambda several: len(set(several)) == 1, words))


# ---------------------------------------------------------------- plain values


def _text(kind: Kind, value: Any, path: str) -> str:
    _expect(isinstance(value, str), "text", value, path)
    _expect_within(kind, len(value), value, path)
    _expect("\0" not in value, "text without the character NUL", value, path)
    return _unicode(value, path)


def _any_text(kind: Kind, value: Any, path: str) -> str:
    _expect(isinstance(value, str), "text", value, path)
    _expect_within(kind, len(value), value, path)
    return _unicode(value, path)


def _unicode(value: str, path: str) -> str:
    if not value.isascii():
        _expect(_SURROGATES.search(value) is None, "text in Unicode, without lone surrogates", value, path)
    return value


def _base64(kind: Kind, value: Any, path: str) -> str:
    _expect(isinstance(value, str) and value.isascii(), "base64 text", value, path)
    _expect_within(kind, len(value), value, path)
    return str(value)


def _instant(kind: Kind, value: Any, path: str) -> str:
    _expect(isinstance(value, str | datetime), "an RFC 3339 instant, such as 2026-01-31T12:00:00Z", value, path)
    instant(value, path)
    return str(value)


def _whole(kind: Kind, value: Any, path: str) -> int:
    """Whole numbers may come as strings, as 64-bit ones must, and as floats without a fraction."""
    assert kind.least is not None, "whole numbers have a range"
    assert kind.most is not None, "whole numbers have a range"
    number: int | None = None
    if (
        (isinstance(value, str) and _WHOLE.fullmatch(value))
        or (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ):
        number = int(value)
    if number is None or not kind.least <= number <= kind.most:
        raise _wrong(f"a whole number from {kind.least} to {kind.most}", value, path)
    return number


def _as_whole(value: Any) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float():
            return int(value) if value.is_integer() else None
        case str():
            return int(value) if _WHOLE.fullmatch(value) else None
    return None


def _float(kind: Kind, value: Any, path: str) -> float:
    """Numbers may come as strings, as NaN and the infinities must. A range leaves NaN out."""
    number = _as_number(value)
    if number is None:
        raise _wrong("a number", value, path)
    if kind.least is not None or kind.most is not None:
        least, most = (-math.inf if kind.least is None else kind.least), (math.inf if kind.most is None else kind.most)
        _expect(least <= number <= most, f"a number from {least:g} to {most:g}", value, path)
    return number


def _as_number(value: Any) -> float | None:
    match value:
        case bool():
            return None
        case float() | int():
            return value
        case str():
            with suppress(ValueError):
                return float(value)
    return None


def _bool(kind: Kind, value: Any, path: str) -> bool:
    _expect(isinstance(value, bool), "true or false", value, path)
    return bool(value)


def _object(kind: Kind, value: Any, path: str) -> dict[str, Any]:
    """A document of the user's own, left as it is; how deep it may be nested is bounded where bodies are parsed."""
    _expect(isinstance(value, dict), "an object", value, path)
    return dict(value)


def _any(kind: Kind, value: Any, path: str) -> Any:
    return value


_PLAIN: Mapping[str, Callable[[Kind, Any, str], Any]] = {
    "string": _text,
    "text": _any_text,
    "string(base64)": _base64,
    "string(date-time)": _instant,
    "string(int64)": _whole,
    "int": _whole,
    "float": _float,
    "bool": _bool,
    "object": _object,
    "any": _any,
    "list": _list,
    "map": _map,
}


# ---------------------------------------------------------------- what is said of a value that does not fit


def _expect_within(kind: Kind, length: int, value: Any, path: str) -> None:
    assert kind.least is not None, "lengths have a range"
    assert kind.most is not None, "lengths have a range"
    if kind.least <= length <= kind.most:
        return
    unit = "characters" if isinstance(value, str) else "elements"
    bounds = f"at most {kind.most}" if length > kind.most else f"at least {kind.least}"
    raise InvalidConfig(f"{path or 'body'}: expected {bounds} {unit}; found {length}")


def _expect(fits: bool, wanted: str, value: Any, path: str) -> None:
    if not fits:
        raise _wrong(wanted, value, path)


def _wrong(wanted: str, value: Any, path: str) -> InvalidConfig:
    shown = ascii(value[:60] if isinstance(value, str | list) else value)
    found = shown if len(shown) <= 60 else f"{shown[:59]}…"
    return InvalidConfig(f"{path or 'body'}: expected {wanted}; found {found}")
