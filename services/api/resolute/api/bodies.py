"""Request bodies held against what is declared of them, so that a wrong one is told so by the path of the field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from resolute.api import schemas
from resolute.proto.errors import InvalidConfig


def check(operation: str, body: Any) -> None:
    """Raises InvalidConfig for a value of the wrong kind. Absent and null are fine anywhere: handlers know what they
    need. Unknown keys are nobody's business."""
    declared = schemas.operations().get(operation)
    if declared and (kind := declared.get("body")) and body:
        _check(kind, body, "")


def _check(kind: str, value: Any, path: str) -> None:
    if value is None:
        return
    if kind.startswith("["):
        _expect(isinstance(value, list), "a list", value, path)
        for place, element in enumerate(value):
            _check(kind[1:-1], element, f"{path}[{place}]")
    elif kind.startswith("{"):
        _expect(isinstance(value, dict), "an object", value, path)
        for key, element in value.items():
            _check(kind[1:-1], element, f"{path}.{key}".lstrip("."))
    elif (message := schemas.messages().get(kind)) is not None:
        _check_message(message, value, path)
    elif (plain := PLAIN.get(kind)) is not None:
        wanted, fits = plain
        _expect(fits(value), wanted, value, path)


def _check_message(message: Mapping[str, Any], value: Any, path: str) -> None:
    if "enum" in message:
        known = isinstance(value, int) or value in message["enum"]
        _expect(known, f"one of {', '.join(message['enum'])}", value, path)
        return
    _expect(isinstance(value, dict), "an object", value, path)
    for name, kind in message["fields"].items():
        key = name.rstrip("?")
        if key in value:
            _check(kind, value[key], f"{path}.{key}".lstrip("."))


def _expect(fits: bool, wanted: str, value: Any, path: str) -> None:
    if not fits:
        shown = repr(value)
        found = shown if len(shown) <= 60 else f"{shown[:59]}…"
        raise InvalidConfig(f"{path or 'body'}: expected {wanted}; found {found}")


def _is_number(value: Any) -> bool:
    """Numbers may come as strings, as 64-bit integers and NaN must."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and not str(value).lstrip("-+").isalpha() and float(value).is_integer()


PLAIN: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "string": ("text", lambda value: isinstance(value, str)),
    "string(base64)": ("base64 text", lambda value: isinstance(value, str)),
    "string(date-time)": ("an RFC 3339 instant", lambda value: isinstance(value, str)),
    "string(int64)": ("a whole number", _is_whole),
    "int": ("a whole number", _is_whole),
    "float": ("a number", _is_number),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "object": ("an object", lambda value: isinstance(value, dict)),
}
