"""Whether an answer is one that existing clients can decode.

A key with a question mark may be absent or null; any other must be there, for clients index it, and where it is a
message it must not be null. The declarations are those of Determined 0.38.1, for the operations served.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from resolute.api import openapi31
from resolute.api.kernel.declared import messages_of, written
from resolute.api.table import ROUTES

OPERATIONS = written(ROUTES)

MESSAGES = messages_of(ROUTES)

FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.(\d{3}|\d{6}|\d{9}))?Z")


def problems(operation: str, answer: Any) -> list[str]:
    """What in `answer` a client of `operation` would stumble over."""
    response = OPERATIONS[operation]["response"]
    if "produces" in OPERATIONS[operation]:
        return []
    if response is None:
        return [] if answer == {} else [f"expected an empty object; found {answer!r}"]
    return list(_against(response, answer, "answer"))


def problems_by_document(operation: str, answer: Any) -> list[str]:
    """The same by the OpenAPI 3.1 document, which people make clients of."""
    if "produces" in OPERATIONS[operation]:
        return []
    errors = _validator(operation).iter_errors(answer)
    return [f"{error.json_path}: by OpenAPI 3.1: {error.message[:200]}" for error in errors]


@cache
def _document() -> dict[str, Any]:
    return openapi31.document(ROUTES)


@cache
def _validator(operation: str) -> Draft202012Validator:
    """Of the answers of an operation, by the OpenAPI 3.1 document."""
    document = _document()
    (answer,) = (
        found["responses"]["200"]["content"]["application/json"]["schema"]
        for path in document["paths"].values()
        for found in path.values()
        if found["operationId"] == operation
    )
    schema = answer["properties"]["result"] if OPERATIONS[operation].get("stream") else answer
    return Draft202012Validator({**schema, "components": document["components"]})


def _against(declared: str, value: Any, path: str) -> Iterator[str]:
    kind = re.sub(r"<[^>]*>$", "", declared)  # bounds are for what comes in
    if kind.startswith("["):
        yield from _each(kind[1:-1], enumerate(value), path) if isinstance(value, list) else _wrong(kind, value, path)
    elif kind.startswith("{"):
        yield from _each(kind[1:-1], value.items(), path) if isinstance(value, dict) else _wrong(kind, value, path)
    elif kind in MESSAGES:
        yield from _message(MESSAGES[kind], value, path)
    elif not _fits(kind, value):
        yield from _wrong(kind, value, path)


def _each(kind: str, entries: Any, path: str) -> Iterator[str]:
    for key, value in entries:
        yield from _against(kind, value, f"{path}[{key!r}]")


def _message(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if "enum" in schema:
        if value not in schema["enum"]:
            yield f"{path}: {value!r} is none of {schema['enum']}"
        return
    if not isinstance(value, dict):
        yield f"{path}: expected a message; found {value!r}"
        return
    for name, kind in schema["fields"].items():
        key, optional = name.rstrip("?"), name.endswith("?")
        if value.get(key) is None and (optional or (key in value and kind == "object")):
            continue
        if key not in value:
            yield f"{path}.{key}: missing"
        else:
            yield from _against(kind, value[key], f"{path}.{key}")
    known = {name.rstrip("?") for name in schema["fields"]}
    yield from (f"{path}.{key}: not in the schema" for key in value.keys() - known)


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "string" | "text" | "string(base64)":
            return isinstance(value, str)
        case "string(int64)":
            return isinstance(value, str) and value.lstrip("-").isdigit()
        case "string(date-time)":
            return isinstance(value, str) and bool(FORM.fullmatch(value)) and bool(datetime.fromisoformat(value))
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return (isinstance(value, int | float) and not isinstance(value, bool)) or value in (
                "NaN",
                "Infinity",
                "-Infinity",
            )
        case "bool":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
    return kind == "any"


def _wrong(kind: str, value: Any, path: str) -> Iterator[str]:
    yield f"{path}: expected {kind}; found {value!r}"
