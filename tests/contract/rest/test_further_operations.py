"""Operations that Resolute gained later are what the clients of Determined 0.38.1 send and decode, as far as they are
served.

`further.json` has the facts of all of them, in the form of `determined.json` but without ranges and lengths. Resolute's
messages may have more fields than clients know. A field that clients cannot do without must always be there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from resolute.api.kernel import kinds
from resolute.api.kernel.declared import classes_within, messages_of, written
from resolute.api.kernel.fields import Absent, taken_apart
from resolute.api.kernel.messages import Written, hints_of
from resolute.api.table import ROUTES
from tests.contract.rest.test_declarations import shape

KNOWN: Mapping[str, Any] = json.loads(Path(__file__).with_name("further.json").read_text())
OPERATIONS = written(ROUTES)
MESSAGES = messages_of(ROUTES)
SERVED = sorted(KNOWN["operations"].keys() & OPERATIONS)
USED = sorted(KNOWN["messages"].keys() & MESSAGES)


def unbounded(text: str | None) -> Any:
    """A kind without its range and length, as deep as it goes."""
    if not text:
        return None
    kind = kinds.parse(text)
    if text == "{any}":
        return "object", None  # a document
    return kind.name, unbounded(kinds.text(kind.element)) if kind.element else None


def by_name(fields: Mapping[str, str]) -> dict[str, Any]:
    return {name.rstrip("?"): unbounded(kind) for name, kind in fields.items()}


@pytest.mark.parametrize("operation", SERVED)
def test_an_operation_is_where_clients_look_for_it_and_takes_and_answers_what_they_know(operation: str) -> None:
    then, now = KNOWN["operations"][operation], OPERATIONS[operation]
    assert (now["method"], shape(now["path"])) == (then["method"], shape(then["path"]))
    assert by_name(then.get("query", {})).items() <= by_name(now.get("query", {})).items()
    assert [unbounded(now.get(key)) for key in ("body", "response")] == [
        unbounded(then.get(key)) for key in ("body", "response")
    ]
    assert now.get("stream", False) == then.get("stream", False)


@pytest.mark.parametrize("name", USED)
def test_a_message_has_what_clients_know_of_it(name: str) -> None:
    then, now = KNOWN["messages"][name], MESSAGES[name]
    assert now.get("enum") == then.get("enum")
    declared = by_name(now.get("fields", {}))
    for field, kind in by_name(then.get("fields", {})).items():
        assert declared.get(field) in (kind, ("object", None)), field  # some documents are taken as they are


ANSWERS = classes_within(answer for route in ROUTES if (answer := route.declared.response) is not None)


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() & KNOWN["messages"].keys()))
def test_an_answer_never_leaves_out_what_clients_cannot_do_without(name: str) -> None:
    needed = {field for field in KNOWN["messages"][name].get("fields", {}) if not field.endswith("?")}
    assert needed.isdisjoint(left_out(ANSWERS[name]))


def left_out(message: type[Any]) -> set[str]:
    """The fields that an answer may lack."""
    if not issubclass(message, Written):
        return set()
    return {message.wire_field(field) for field, hint in hints_of(message).items() if taken_apart(hint).has(Absent)}
