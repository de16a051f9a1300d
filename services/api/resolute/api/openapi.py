"""The OpenAPI 2 document of the routes, which the clients of the wire expect. `openapi31.py` makes a fuller one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from resolute.api.kernel import kinds
from resolute.api.kernel.declared import messages_of, operation_of, path_kind
from resolute.api.routing import ANYONE, Route
from resolute.api.settings import VERSION


def _object(**properties: str) -> dict[str, Any]:
    shown = {name: kinds.swagger(kinds.parse(kind)) for name, kind in properties.items()}
    return {"type": "object", "required": list(shown), "properties": shown, "additionalProperties": False}


def _inside(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [name], "properties": {name: schema}, "additionalProperties": False}


ERRORS = {
    "error": _inside("error", _object(code="int", reason="string", error="string")),
    "streamError": _inside(
        "error", _object(grpcCode="int", httpCode="int", message="string", httpStatus="string", details="[any]")
    ),
    "plainError": _object(message="string"),
}
"""The forms of failures: of a call under /api/v1, of a stream, and of everything else."""


Messages = Mapping[str, Mapping[str, Any]]
"""By name: what is declared of each message and enum."""


def error_form(route: Route) -> str:
    """Which of `ERRORS` the failures of a route have."""
    if route.streams:
        return "streamError"
    return "error" if route.path.startswith("/api/v1/") else "plainError"


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Every route: what it takes and answers, who may call it, and the form of its failures."""
    routes = list(routes)
    messages = messages_of(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.documented_path, {})[route.method.lower()] = _operation(route, messages)
    return {
        "swagger": "2.0",
        "info": {"title": "Resolute", "version": VERSION},
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "Authorization", "in": "header"}},
        "paths": paths,
        "definitions": {**_definitions(messages), **ERRORS},
    }


def summary(route: Route) -> str:
    """The first paragraph of what the handler says of itself."""
    said = (route.handler.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(said.split())


def callers(route: Route) -> str:
    return " or ".join(sorted(caller.value for caller in route.access.callers))


def _operation(route: Route, messages: Messages) -> dict[str, Any]:
    declared = operation_of(route)
    answer = swagger_answer(declared)
    produced = {"produces": [declared["produces"]]} if "produces" in declared else {}
    return produced | {
        "operationId": route.operation,
        "tags": [declared["tag"]],
        "summary": summary(route),
        "description": f"For {callers(route)}.",
        "parameters": [*_in_path(route), *_in_query(declared, messages), *_in_body(declared)],
        "security": [] if route.access.callers == ANYONE.callers else [{"BearerToken": []}],
        "responses": {
            "200": {"description": _described(declared), "schema": answer},
            "default": {"description": "What went wrong.", "schema": {"$ref": f"#/definitions/{error_form(route)}"}},
        },
    }


def _type(kind: str) -> dict[str, Any]:
    return kinds.swagger(kinds.parse(kind))


def _definitions(messages: Messages) -> dict[str, Any]:
    """Every message as a schema."""
    return {name: _definition(message) for name, message in messages.items()}


def _definition(message: Mapping[str, Any]) -> dict[str, Any]:
    if "enum" in message:
        return {"type": "string", "enum": message["enum"]}
    fields: dict[str, str] = message["fields"]
    shown: dict[str, Any] = {
        "type": "object",
        "properties": {name.rstrip("?"): _type(kind) for name, kind in fields.items()},
    }
    required = [name for name in fields if not name.endswith("?")]
    return shown | ({"required": required} if required else {})


def swagger_answer(declared: Mapping[str, Any]) -> dict[str, Any]:
    response = declared.get("response")
    if "produces" in declared:
        return {"type": "file"}
    return _type(response) if response else {"type": "object"}


def _described(declared: Mapping[str, Any]) -> str:
    return 'Lines of {"result": …}, one for each of these.' if declared.get("stream") else "Done."


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True} | kinds.swagger(path_kind(route, name))
        for name in re.findall(r"{(\w+)}", route.documented_path)
    ]


def _in_query(declared: Mapping[str, Any], messages: Messages) -> list[dict[str, Any]]:
    return [_query(name, kind, messages) for name, kind in declared.get("query", {}).items()]


def _query(name: str, kind: str, messages: Messages) -> dict[str, Any]:
    """OpenAPI 2 takes no references here: enums are written out, arrays are repeated keys."""
    declared = kinds.parse(kind)
    shown = _written_out(kinds.swagger(declared), messages)
    if declared.element is not None:
        shown |= {"items": _written_out(kinds.swagger(declared.element), messages), "collectionFormat": "multi"}
    return {"name": name.rstrip("?"), "in": "query", "required": not name.endswith("?")} | shown


def _written_out(shown: dict[str, Any], messages: Messages) -> dict[str, Any]:
    name = str(shown.get("$ref", "")).rpartition("/")[2]
    return {"type": "string", **messages[name]} if name else shown


def _in_body(declared: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not (body := declared.get("body")):
        return []
    return [{"name": "body", "in": "body", "required": True, "schema": _type(body)}]
