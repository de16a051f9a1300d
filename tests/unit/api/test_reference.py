"""The reference and the OpenAPI document say what the routes are."""

from __future__ import annotations

import ast
import asyncio
import gc
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from resolute.api import openapi, openapi31, reference
from resolute.api.kernel.descriptions import classes_in, descriptions_of
from resolute.api.master.documents import Documents
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


def test_the_openapi_31_document_holds_the_same_and_its_schemas_are_json_schemas() -> None:
    document = openapi31.document(ROUTES)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert {operation["operationId"] for operation in operations} == {route.operation for route in ROUTES}
    schemas = document["components"]["schemas"]
    assert {f"#/components/schemas/{name}" for name in schemas} >= set(_references(document))
    assert schemas.keys() == openapi.document(ROUTES)["definitions"].keys()
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def test_the_openapi_31_document_says_what_the_source_says_of_a_field_and_which_may_be_null() -> None:
    schemas = openapi31.document(ROUTES)["components"]["schemas"]
    project = schemas["v1Project"]["properties"]
    assert project["numActiveExperiments"]["description"] == "Those that have not ended and are not paused."
    assert project["lastExperimentStartedAt"]["type"] == ["string", "null"]
    assert schemas["v1PatchWorkspace"]["description"].startswith("What is left out or null stays as it is")
    listed = openapi31.document(ROUTES)["paths"]["/api/v1/workspaces"]["get"]["parameters"]
    described = {parameter["name"]: parameter.get("description") for parameter in listed}
    assert described["nameCaseSensitive"] == "The whole name."


def _references(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in _references(value)]
    return [found for value in node for found in _references(value)] if isinstance(node, list) else []


def test_the_openapi_document_is_made_once_however_many_ask_for_it() -> None:
    made: list[int] = []

    def counted(routes: Iterable[Route]) -> dict[str, Any]:
        made.append(1)
        return openapi.document(routes)

    documents = Documents(lambda: ROUTES)
    with ThreadPoolExecutor(8) as askers:
        (body,) = set(askers.map(lambda pretty: documents.made(counted, pretty=pretty), [False] * 32))
    assert len(made) == 1
    assert orjson.loads(body) == openapi.document(ROUTES)


async def test_sources_are_parsed_on_the_event_loops_thread_and_no_garbage_is_collected_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Python 3.11 a traceback that is printed in the middle of a parse, on any thread, makes it fail."""
    descriptions_of.cache_clear()
    classes_in.cache_clear()
    parse, found = ast.parse, []

    def watched(source: str) -> ast.Module:
        found.append((threading.get_ident(), gc.isenabled()))
        return parse(source)

    monkeypatch.setattr(ast, "parse", watched)
    documents = Documents(lambda: ROUTES)
    await documents.read_sources()
    body = await asyncio.to_thread(documents.made, openapi31.document, pretty=False)
    assert b"The target that the trial has reached." in body
    assert set(found) == {(threading.get_ident(), False)}
    assert gc.isenabled()
