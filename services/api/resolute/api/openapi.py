"""The OpenAPI 2 document of the routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from resolute.api import schemas
from resolute.api.routing import ANYONE, Route
from resolute.api.settings import VERSION

ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "integer"},
                "reason": {"type": "string"},
                "error": {"type": "string"},
            },
        }
    },
}


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Every route: what it takes and answers, who may call it, and the form of its failures."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.documented_path, {})[route.method.lower()] = operation(route)
    return {
        "swagger": "2.0",
        "info": {"title": "Resolute", "version": VERSION},
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "Authorization", "in": "header"}},
        "paths": paths,
        "definitions": {**schemas.definitions(), "error": ERROR},
    }


def summary(route: Route) -> str:
    """The first paragraph of what the handler says of itself."""
    said = (route.handler.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(said.split())


def callers(route: Route) -> str:
    return " or ".join(sorted(caller.value for caller in route.access.callers))


def operation(route: Route) -> dict[str, Any]:
    declared = schemas.operations().get(route.operation, {})
    answer = swagger_answer(declared)
    return {
        "operationId": route.operation,
        "tags": [declared.get("tag", "Other")],
        "summary": summary(route),
        "description": f"For {callers(route)}.",
        "parameters": [*_in_path(route), *_in_query(declared), *_in_body(declared)],
        "security": [] if route.access.callers == ANYONE.callers else [{"BearerToken": []}],
        "responses": {
            "200": {"description": _described(declared), "schema": answer},
            "default": {"description": "What went wrong.", "schema": {"$ref": "#/definitions/error"}},
        },
    }


def swagger_answer(declared: Mapping[str, Any]) -> dict[str, Any]:
    response = declared.get("response")
    return schemas.swagger_type(response) if response else {"type": "object"}


def _described(declared: Mapping[str, Any]) -> str:
    return 'Lines of {"result": …}, one for each of these.' if declared.get("stream") else "Done."


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "type": "string"}
        for name in re.findall(r"{(\w+)}", route.documented_path)
    ]


def _in_query(declared: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [_query(name, kind) for name, kind in declared.get("query", {}).items()]


def _query(name: str, kind: str) -> dict[str, Any]:
    """OpenAPI 2 takes no references here: enums are written out, arrays are repeated keys."""
    many = kind.startswith("[")
    single = kind.strip("[]")
    message = schemas.messages().get(single)
    shown = {"type": "string", **message} if message and "enum" in message else schemas.swagger_type(single)
    place = {"name": name.rstrip("?"), "in": "query", "required": not name.endswith("?")}
    return place | ({"type": "array", "items": shown, "collectionFormat": "multi"} if many else shown)


def _in_body(declared: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not (body := declared.get("body")):
        return []
    return [{"name": "body", "in": "body", "required": True, "schema": schemas.swagger_type(body)}]
