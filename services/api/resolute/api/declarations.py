"""What every operation declares, in one form: those with messages of their own, and those of `schemas.json`.

An operation is converted when its route has messages (`Route.declared`); the rest is in `schemas.json` until then. The
OpenAPI documents, the reference and the contract tests read both from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from resolute.api import schemas
from resolute.api.kernel import declared, kinds
from resolute.api.kernel.kinds import Kind
from resolute.api.routing import Route


@cache
def operations() -> Mapping[str, dict[str, Any]]:
    """By name: method and path, query, body and response, and whether the response is a stream of such."""
    return {**schemas.operations(), **declared.written(_routes())}


@cache
def messages() -> Mapping[str, dict[str, Any]]:
    """By name: the fields of a message, or the values of an enum."""
    return {**schemas.messages(), **declared.messages_of(_routes())}


def path_kind(route: Route, name: str) -> Kind:
    """The kind of a parameter in the path of a route."""
    if route.declared is not None:
        return kinds.parse(declared.path_of(route.declared.request)[name])
    return schemas.path_kinds()[name]


def _routes() -> tuple[Route, ...]:
    from resolute.api.table import ROUTES  # the table holds the route that serves the OpenAPI document

    return ROUTES
