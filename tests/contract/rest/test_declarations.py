"""What operations declare is what the clients of Determined 0.38.1 send and decode.

`determined.json` has the facts: each operation with its method, path, query, body and answer, each message and enum,
in the short form of `resolute.api.kernel.kinds`. A name with a question mark may be absent or null. Ranges and lengths
are Resolute's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from resolute.api.kernel import kinds
from resolute.api.kernel.declared import messages_of, path_of, written
from resolute.api.table import ROUTES

WIRE: Mapping[str, Any] = json.loads(Path(__file__).with_name("determined.json").read_text())
OPERATIONS = written(ROUTES)
MESSAGES = messages_of(ROUTES)


def shape(path: str) -> str:
    """Clients know a path by its shape; what a parameter in it is called is no matter to them."""
    return re.sub(r"{[^}]*}", "{}", path)


def plain(text: str | None) -> Any:
    """A kind by what it comes to: a bound that is the type's own is none."""
    if text is None:
        return None
    kind = kinds.parse(text)
    return kind.name, kind.least, kind.most, plain(kinds.text(kind.element)) if kind.element else None


def fields(declared: Mapping[str, str]) -> dict[str, Any]:
    return {name: plain(kind) for name, kind in declared.items()}


@pytest.mark.parametrize("operation", sorted(WIRE["operations"]))
def test_an_operation_is_where_clients_look_for_it_and_takes_and_answers_what_they_know(operation: str) -> None:
    then, now = WIRE["operations"][operation], OPERATIONS[operation]
    assert (now["method"], shape(now["path"])) == (then["method"], shape(then["path"]))
    assert fields(now.get("query", {})) == fields(then.get("query", {}))
    assert [plain(now.get(key)) for key in ("body", "response")] == [
        plain(then.get(key)) for key in ("body", "response")
    ]
    assert [now.get(key) for key in ("stream", "produces")] == [then.get(key) for key in ("stream", "produces")]


@pytest.mark.parametrize("name", sorted(WIRE["messages"]))
def test_a_message_has_the_fields_that_clients_know_and_an_enum_its_values_in_their_order(name: str) -> None:
    then, now = WIRE["messages"][name], MESSAGES[name]
    assert now.get("enum") == then.get("enum")
    assert fields(now.get("fields", {})) == fields(then.get("fields", {}))


def test_what_stands_in_paths_is_read_as_before() -> None:
    for route in ROUTES:
        if route.operation in WIRE["operations"]:
            for name, kind in path_of(route.declared.request).items():
                assert plain(kind) == plain(WIRE["path"].get(name)), (route.operation, name)
