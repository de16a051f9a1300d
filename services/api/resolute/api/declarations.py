"""What every operation declares, in one form: those with messages of their own, and those of `schemas.json`.

An operation is converted when its route has messages (`Route.declared`); the rest is in `schemas.json` until then. The
OpenAPI documents, the reference and the contract tests read both from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from resolute.api import schemas
from resolute.api.kernel import declared, kinds
from resolute.api.kernel.kinds import Kind
from resolute.api.routing import Route


def operations(routes: Iterable[Route]) -> dict[str, Mapping[str, Any]]:
    """By name: method and path, query, body and response, and whether the response is a stream of such."""
    return {route.operation: operation(route) for route in routes}


def operation(route: Route) -> Mapping[str, Any]:
    """The same for one route."""
    if route.declared is None:
        return schemas.operations()[route.operation]
    return declared.written([route])[route.operation]


def messages(routes: Iterable[Route]) -> dict[str, dict[str, Any]]:
    """By name: the fields of a message, or the values of an enum."""
    return {**schemas.messages(), **declared.messages_of(routes)}


def path_kind(route: Route, name: str) -> Kind:
    """The kind of a parameter in the path of a route."""
    if route.declared is not None:
        return kinds.parse(declared.path_of(route.declared.request)[name])
    return schemas.path_kinds()[name]
