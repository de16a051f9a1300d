"""The reference and the OpenAPI document say what the routes are."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from resolute.api import openapi, reference, schemas
from resolute.api.handlers import master
from resolute.api.routing import Route
from resolute.api.table import ROUTES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"


def test_the_rest_reference_is_current() -> None:
    made = reference.markdown(ROUTES)
    assert PAGE.read_text() == made, "run: python -m resolute.api.reference > docs/reference/rest.md"


def test_the_openapi_document_holds_every_route_and_every_message_it_names() -> None:
    document = openapi.document(ROUTES)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert {operation["operationId"] for operation in operations} == {route.operation for route in ROUTES}
    named = set(_references(document))
    assert {f"#/definitions/{name}" for name in document["definitions"]} >= named


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def test_nothing_is_declared_that_nothing_uses() -> None:
    served = {route.operation for route in ROUTES}
    assert set(schemas.operations()) <= served


def test_the_openapi_document_is_made_once_however_many_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(routes: Iterable[Route]) -> dict[str, Any]:
        made.append(1)
        return openapi.document(routes)

    monkeypatch.setattr(master, "document", counted)
    master._made.cache_clear()
    with ThreadPoolExecutor(8) as askers:
        (body,) = set(askers.map(master._described, [False] * 32))
    assert len(made) == 1
    assert orjson.loads(body) == openapi.document(ROUTES)
