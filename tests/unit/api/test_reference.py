"""The reference and the OpenAPI document say what the routes are."""

from __future__ import annotations

from pathlib import Path

from resolute.api import openapi, reference, schemas
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
