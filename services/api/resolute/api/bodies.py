"""What a request brings, held against its declaration: paths, queries and bodies come out as values of known types.

Whatever passes here has the declared type, range and length, so that handlers, services and the database meet no
others. A value that does not fit is refused with the path of the field, what was found and what would do. This module
serves the operations that `schemas.json` declares; operations with messages of their own are read by
`resolute.api.kernel.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from resolute.api import schemas
from resolute.api.kernel import kinds, values
from resolute.api.kernel.kinds import Kind
from resolute.api.kernel.values import KEY, Unfit
from resolute.proto.errors import InvalidConfig

T = TypeVar("T")


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
    return {name: _parameter(declared.get(name, KEY), text, name) for name, text in path.items()}


def read_query(operation: str, given: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of a query; enums by their names. What is not declared is left out. Raises InvalidConfig."""
    found: dict[str, list[str]] = {}
    for name, text in schemas.operations().get(operation, {}).get("query", {}).items():
        key, kind = name.rstrip("?"), kinds.parse(text)
        if texts := [value for value in given.get(key, ()) if value]:
            found[key] = _repeated(kind, texts, key)
    return found


def _repeated(kind: Kind, texts: Sequence[str], key: str) -> list[str]:
    if kind.element is None:
        return [_parameter(kind, texts[-1], key)]
    _at(key, values.expect_within, kind, len(texts), texts)
    return [_parameter(kind.element, text, key) for text in texts]


def _parameter(kind: Kind, text: str, path: str) -> str:
    if kind.name == "bool":
        _at(path, values.check_flag, text)
        return text
    return str(value_of(kind, text, path))


def value_of(kind: Kind, value: Any, path: str) -> Any:
    """`value` as one of `kind`. Raises InvalidConfig, naming `path`."""
    if (check := _CHECKS.get(kind.name)) is not None:
        try:
            return check(kind, value)
        except Unfit as unfit:
            raise InvalidConfig(f"{path or 'body'}: {unfit}") from None
    if kind.element is not None:
        return _list(kind, value, path) if kind.name == "list" else _map(kind, value, path)
    if "enum" in (declared := schemas.messages()[kind.name]):
        return _at(path, values.enum_name, declared["enum"], value)
    return _message(kind.name, value, path)


def _instant(kind: Kind, value: Any) -> str:
    """Handlers read it again, as text."""
    values.check_instant(kind, value)
    return str(value)


_CHECKS: Mapping[str, Callable[[Kind, Any], Any]] = {**values.PLAIN, "string(date-time)": _instant}


@cache
def _fields(message: str) -> tuple[tuple[str, Kind], ...]:
    fields: Mapping[str, str] = schemas.messages()[message]["fields"]
    return tuple((name.rstrip("?"), kinds.parse(text)) for name, text in fields.items())


def _message(name: str, value: Any, path: str) -> dict[str, Any]:
    value, found = _at(path, values.expect_object, value), {}
    for key, kind in _fields(name):
        if key in value:
            given = value[key]
            found[key] = None if given is None else value_of(kind, given, f"{path}.{key}" if path else key)
    return found


def _list(kind: Kind, value: Any, path: str) -> list[Any]:
    assert kind.element is not None, "a list has a kind of element"
    elements = enumerate(_at(path, values.check_list, kind, value))
    return [value_of(kind.element, element, f"{path}[{place}]") for place, element in elements]


def _map(kind: Kind, value: Any, path: str) -> dict[str, Any]:
    assert kind.element is not None, "a map has a kind of element"
    entries = _at(path, values.check_map, kind, value).items()
    return {key: value_of(kind.element, inner, f"{path}.{key}") for key, inner in entries}


def _at(path: str, check: Callable[..., T], *given: Any) -> T:
    """What the check answers. Raises InvalidConfig, naming `path`."""
    try:
        return check(*given)
    except Unfit as unfit:
        raise InvalidConfig(f"{path or 'body'}: {unfit}") from None
