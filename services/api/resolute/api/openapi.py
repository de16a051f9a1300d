"""The OpenAPI 2 document of the routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from resolute.api.routing import ANYONE, Route
from resolute.api.settings import VERSION


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Every route: its parameters, who may call it, and the form of its failures."""
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
        "definitions": {"error": ERROR},
    }


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


def operation(route: Route) -> dict[str, Any]:
    failure = {"description": "What went wrong.", "schema": {"$ref": "#/definitions/error"}}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "type": "string"}
        for name in re.findall(r"{(\w+)}", route.documented_path)
    ]
    if route.method in ("POST", "PUT", "PATCH"):
        parameters.append({"name": "body", "in": "body", "required": False, "schema": {"type": "object"}})
    return {
        "operationId": route.operation,
        "summary": (route.handler.__doc__ or route.operation).strip().splitlines()[0],
        "description": "For " + " or ".join(sorted(caller.value for caller in route.access.callers)) + ".",
        "parameters": parameters,
        "security": [] if route.access.callers == ANYONE.callers else [{"BearerToken": []}],
        "responses": {
            "200": {"description": "Done.", "schema": {"type": "object"}},
            "default": failure,
        },
    }
