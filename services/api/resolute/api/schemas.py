"""The messages of the wire: what each operation is asked with, and what it answers.

`schemas.json` says it in short: a name with a question mark may be absent or null; `[T]` is an array, `{T}` an object
with string keys; `string(int64)`, `string(date-time)` and `string(base64)` say how a string is meant. The OpenAPI
document is made of it, and the contract tests hold every answer against it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("schemas.json")


@cache
def _declared() -> dict[str, dict[str, dict[str, Any]]]:
    declared: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_text())
    return declared


def operations() -> Mapping[str, dict[str, Any]]:
    """By name: method and path, query, body and response, and whether the response is a stream of such."""
    return _declared()["operations"]


def is_stream(operation: str) -> bool:
    return bool(operations().get(operation, {}).get("stream"))


def messages() -> Mapping[str, dict[str, Any]]:
    """By name: the fields of a message, or the values of an enum."""
    return _declared()["schemas"]


def swagger_type(kind: str) -> dict[str, Any]:
    """A type in OpenAPI's words."""
    if kind.startswith("["):
        return {"type": "array", "items": swagger_type(kind[1:-1])}
    if kind.startswith("{"):
        return {"type": "object", "additionalProperties": swagger_type(kind[1:-1])}
    if kind in messages():
        return {"$ref": f"#/definitions/{kind}"}
    name, _, meaning = kind.rstrip(")").partition("(")
    plain = {"int": "integer", "bool": "boolean", "float": "number", "string": "string", "object": "object"}
    shown: dict[str, Any] = {"type": plain[name]} if name in plain else {}
    return shown | ({"format": {"base64": "byte"}.get(meaning, meaning)} if meaning else {})


def definitions() -> dict[str, Any]:
    """Every message as an OpenAPI schema."""
    return {name: _definition(message) for name, message in messages().items()}


def _definition(message: Mapping[str, Any]) -> dict[str, Any]:
    if "enum" in message:
        return {"type": "string", "enum": message["enum"]}
    fields: dict[str, str] = message["fields"]
    shown: dict[str, Any] = {
        "type": "object",
        "properties": {name.rstrip("?"): swagger_type(kind) for name, kind in fields.items()},
    }
    required = [name for name in fields if not name.endswith("?")]
    return shown | ({"required": required} if required else {})
