"""The OpenAPI 3.1 document of the routes: what each takes and answers, with what the source says of every field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from resolute.api.kernel import declared, kinds
from resolute.api.kernel.declared import messages_of, operation_of, path_kind
from resolute.api.kernel.descriptions import description_of, descriptions_of
from resolute.api.kernel.kinds import Kind
from resolute.api.kernel.messages import Written
from resolute.api.openapi import ERRORS, callers, error_form, summary
from resolute.api.routing import ANYONE, Route
from resolute.api.settings import VERSION

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}

NOT_FINITE = ["NaN", "Infinity", "-Infinity"]


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """Every route: what it takes and answers, who may call it, and the form of its failures."""
    routes = list(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.documented_path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Resolute", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": {**_messages(routes), **ERRORS},
            "securitySchemes": {"BearerToken": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    about = operation_of(route)
    failure = {"application/json": {"schema": _reference(error_form(route))}}
    return {
        "operationId": route.operation,
        "tags": [about["tag"]],
        "summary": summary(route),
        "description": f"For {callers(route)}.",
        "parameters": [*_in_path(route), *_in_query(route, about)],
        **_body(about),
        "security": [] if route.access.callers == ANYONE.callers else [{"BearerToken": []}],
        "responses": {
            "200": {"description": _described(about), "content": _answer(about)},
            "default": {"description": "What went wrong.", "content": failure},
        },
    }


def _described(about: Mapping[str, Any]) -> str:
    return 'Lines of {"result": …}, one for each of these.' if about.get("stream") else "Done."


def _answer(about: Mapping[str, Any]) -> dict[str, Any]:
    if "produces" in about:
        return {about["produces"]: {}}
    answer = schema(kinds.parse(about["response"])) if about.get("response") else {"type": "object"}
    if about.get("stream"):
        answer = {"type": "object", "required": ["result"], "properties": {"result": answer}}
    return {"application/json": {"schema": answer}}


def _body(about: Mapping[str, Any]) -> dict[str, Any]:
    if not (body := about.get("body")):
        return {}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema(kinds.parse(body))}}}}


def _in_path(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", route.documented_path)
    return [{"name": name, "in": "path", "required": True, "schema": schema(path_kind(route, name))} for name in names]


def _in_query(route: Route, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    said = descriptions_of(route.declared.request)
    return [_parameter(name, kind, said) for name, kind in about.get("query", {}).items()]


def _parameter(name: str, kind: str, said: Mapping[str, str]) -> dict[str, Any]:
    bare = name.rstrip("?")
    shown = {"name": bare, "in": "query", "required": bare == name, "schema": schema(kinds.parse(kind))}
    return shown | ({"description": said[bare]} if bare in said else {})


# ---------------------------------------------------------------- messages


def _messages(routes: Sequence[Route]) -> dict[str, Schema]:
    """Every message as a schema, with what the source says of it, where it is a class."""
    classes = declared.classes_within(declared.roots_of(routes))
    return {name: _message(message, classes.get(name)) for name, message in messages_of(routes).items()}


def _message(message: Mapping[str, Any], source: type[Any] | None) -> Schema:
    if "enum" in message:
        return {"type": "string", "enum": message["enum"]}
    said: Mapping[str, str] = {}
    whole: Schema = {}
    if source is not None and issubclass(source, Written):
        said, text = descriptions_of(source), description_of(source)
        whole = {"description": text} if text else {}
    fields: dict[str, str] = message["fields"]
    shown = {name.rstrip("?"): _field(name, kinds.parse(kind), said) for name, kind in fields.items()}
    required = [name for name in fields if not name.endswith("?")]
    return whole | {"type": "object", "properties": shown} | ({"required": required} if required else {})


def _field(name: str, kind: Kind, said: Mapping[str, str]) -> Schema:
    """A name with a question mark may be absent or null, and so may documents of the user's own be null."""
    bare = name.rstrip("?")
    shown = _or_null(schema(kind)) if bare != name or kind.name == "object" else schema(kind)
    return shown | ({"description": said[bare]} if bare in said else {})


def _or_null(shown: Schema) -> Schema:
    if not shown:
        return shown
    if "type" in shown and "enum" not in shown:
        return shown | {"type": [shown["type"], "null"]}
    return {"anyOf": [shown, NULL]}


def schema(kind: Kind) -> Schema:
    """A kind in the words of JSON Schema; messages and enums are references."""
    if kind.element is not None:
        inner = schema(kind.element)
        bounds = {name: bound for name, bound in kinds.swagger(kind).items() if name.startswith(("min", "max"))}
        of_list: Schema = {"type": "array", "items": inner}
        return (of_list if kind.name == "list" else {"type": "object", "additionalProperties": inner}) | bounds
    shown = kinds.swagger(kind)
    if "$ref" in shown:
        return _reference(kind.name)
    return {"anyOf": [shown, {"enum": NOT_FINITE}]} if kind.name == "float" else shown


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
