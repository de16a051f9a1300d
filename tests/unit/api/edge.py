"""The edge of the gateway, for tests: a request of any operation, read as the operation declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resolute.api.kernel import reading
from resolute.api.kernel.messages import Request, parts_of
from resolute.api.table import ROUTES

REQUESTS: Mapping[str, type[Request]] = {route.operation: route.declared.request for route in ROUTES}

A_PATH = {parameter.name: "1" for request in REQUESTS.values() for parameter in parts_of(request).path}
"""A value for each parameter that paths have."""


def read_body(operation: str, body: Any) -> Any:
    """Raises InvalidConfig for what does not fit."""
    return reading.read(REQUESTS[operation], A_PATH, {}, body)


def read_query(operation: str, query: Mapping[str, Sequence[str]]) -> Any:
    """The same for the parameters of a query."""
    return reading.read(REQUESTS[operation], A_PATH, query)
