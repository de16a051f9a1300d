"""Requests drawn from the OpenAPI document: most values are valid, many name what is really there, some are hostile."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.fuzz import hostile

Pools = Mapping[str, Sequence[Any]]
"""By the name of a field or parameter: values that name what is there."""

HOSTILE_IN = 14
"""One value of so many is hostile."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request. `query` holds pairs, `body` is as it is sent."""

    operation: str
    method: str
    template: str
    path: tuple[tuple[str, str], ...]
    query: tuple[tuple[str, str], ...]
    body: bytes | None

    @property
    def target(self) -> str:
        """Path and query, percent-encoded."""
        path = self.template
        for name, value in self.path:
            path = path.replace("{" + name + "}", _quoted(value), 1)
        query = "&".join(f"{quote(name)}={_quoted(value)}" for name, value in self.query)
        return f"{path}?{query}" if query else path


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


@dataclass(frozen=True)
class Operation:
    """One operation of the document, and what its requests are made of."""

    name: str
    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]


def operations(document: Mapping[str, Any]) -> list[Operation]:
    found = []
    for path, methods in sorted(document["paths"].items()):
        for method, declared in sorted(methods.items()):
            found.append(Operation(declared["operationId"], method.upper(), path, tuple(declared["parameters"])))
    return found


class Drawing:
    """Strategies for the requests of one document, with `pools` of what is there."""

    def __init__(self, document: Mapping[str, Any], pools: Pools) -> None:
        self._definitions: Mapping[str, Any] = document["definitions"]
        self._pools = pools
        self._made: dict[tuple[str, str], SearchStrategy[Any]] = {}

    def cases(self, operation: Operation, count: int, seed: int) -> list[Case]:
        """`count` requests, the same for the same seed."""
        drawn: list[Case] = []

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=count,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(self._case(operation))
        def collect(case: Case) -> None:
            drawn.append(case)

        collect()
        return drawn

    def _case(self, operation: Operation) -> SearchStrategy[Case]:
        @st.composite
        def case(draw: DrawFn) -> Case:
            path, query, body = [], [], None
            for declared in operation.parameters:
                name, place = declared["name"], declared["in"]
                if place == "body":
                    body = self._body(draw, declared["schema"], operation)
                elif place == "path":
                    path.append((name, self._text(draw, declared, _pool_name(operation.path, name)) or "1"))
                elif draw(st.integers(0, 3)) == 0 or declared["required"]:
                    query += [(name, text) for text in self._texts(draw, declared)]
            return Case(operation.name, operation.method, operation.path, tuple(path), tuple(query), body)

        return case()

    def _body(self, draw: DrawFn, schema: Mapping[str, Any], operation: Operation) -> bytes:
        if draw(st.integers(0, 2 * HOSTILE_IN)) == 0:
            return draw(st.sampled_from(hostile.BODIES))
        return hostile.as_json(draw(self._value(schema, operation.path)))

    def _texts(self, draw: DrawFn, declared: Mapping[str, Any]) -> list[str]:
        if declared.get("type") != "array":
            return [self._text(draw, declared, declared["name"])]
        return [self._text(draw, declared["items"], declared["name"]) for _ in range(draw(st.integers(1, 3)))]

    def _text(self, draw: DrawFn, declared: Mapping[str, Any], name: str) -> str:
        if draw(st.integers(1, HOSTILE_IN)) == 1:
            return draw(st.sampled_from(hostile.TEXTS))
        value = draw(self._plain(declared, name))
        return str(value).lower() if isinstance(value, bool) else str(value)

    # ---------------------------------------------------------------- values of bodies

    def _value(self, schema: Mapping[str, Any], name: str) -> SearchStrategy[Any]:
        key = (repr(schema), name)
        if key not in self._made:
            self._made[key] = _sometimes_hostile(self._fitting(schema, name))
        return self._made[key]

    def _fitting(self, schema: Mapping[str, Any], name: str) -> SearchStrategy[Any]:
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        if "properties" in schema:
            return self._message(schema)
        if schema.get("type") == "array":
            return st.lists(self._value(schema["items"], _singular(name)), max_size=min(3, schema.get("maxItems", 3)))
        if "additionalProperties" in schema:
            return st.dictionaries(st.sampled_from(KEYS), self._value(schema["additionalProperties"], name), max_size=3)
        return self._plain(schema, name)

    def _message(self, schema: Mapping[str, Any]) -> SearchStrategy[dict[str, Any]]:
        fields = {name: self._value(inner, name) for name, inner in schema["properties"].items()}
        required = {name: fields[name] for name in schema.get("required", ())}
        optional = {name: strategy for name, strategy in fields.items() if name not in required}
        return st.fixed_dictionaries(required, optional=optional)

    def _plain(self, schema: Mapping[str, Any], name: str) -> SearchStrategy[Any]:
        made = _plain(schema)
        if self._pools.get(name):
            there = st.sampled_from(list(self._pools[name]))
            return st.one_of(there, there, there, made)
        return made


KEYS = ("loss", "a.b/c", "model.pt", "é", "")

DOCUMENTS: SearchStrategy[Any] = st.sampled_from(
    (
        {"loss": 0.5},
        {"loss": "NaN", "steps_completed": 3},
        {"steps_completed": 100, "framework": "torch"},
        {"searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}}, "entrypoint": "x"},
        {"createTrial": {"requestId": "00000000-0000-4000-8000-000000000000", "hyperparams": "{}"}},
        {"deep": {"er": [1, {"x": [None]}]}},
        {},
    )
)

INSTANTS = ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+02:00", "1970-01-01T00:00:00Z")


def _plain(schema: Mapping[str, Any]) -> SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"), schema.get("format"):
        case "integer", _:
            least, most = schema.get("minimum", -(2**31)), schema.get("maximum", 2**31 - 1)
            return st.sampled_from(sorted({least, most, *(n for n in (0, 1, 2, 50) if least <= n <= most)}))
        case "number", _:
            return st.sampled_from((0.0, 0.5, 1.0, schema.get("maximum", 1e9)))
        case "boolean", _:
            return st.booleans()
        case "string", "date-time":
            return st.sampled_from(INSTANTS)
        case "string", "int64":
            return st.sampled_from(("0", "17", str(2**63 - 1)))
        case "string", "byte":
            return st.sampled_from(("", "cHJpbnQoKQ==", "not base64!"))
        case "string", _:
            return st.text(max_size=min(6, schema.get("maxLength", 6)))
    return DOCUMENTS


def _sometimes_hostile(fitting: SearchStrategy[Any]) -> SearchStrategy[Any]:
    bad = st.sampled_from(hostile.VALUES)

    @st.composite
    def value(draw: DrawFn) -> Any:
        return draw(bad) if draw(st.integers(1, HOSTILE_IN)) == 1 else draw(fitting)

    return value()


def _singular(name: str) -> str:
    return name.removesuffix("s") if name.endswith(("Ids", "Uuids")) else name


_OF_ID = re.compile(r"/(experiments|workspaces|projects|trials)/{id}")


def _pool_name(path: str, name: str) -> str:
    """What a path's `id` is the id of; and parameters that are named twice by their plain name."""
    if name == "id" and (found := _OF_ID.search(path)):
        return found[1].removesuffix("s") + "Id"
    return name.rpartition("_")[2]


def batch(document: Mapping[str, Any], pools: Pools, count: int, seed: int, only: str | None = None) -> list[Case]:
    """About `count` requests, spread over all operations, or of the one that is named."""
    drawing, chosen = Drawing(document, pools), [each for each in operations(document) if only in (None, each.name)]
    each = max(count // len(chosen), 1)
    return [case for place, op in enumerate(chosen) for case in drawing.cases(op, each, seed * 1_000 + place)]
