"""A request of the wrong shape is told so, by the path of the field, what was found, and what would do."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.api import bodies, schemas
from resolute.proto.errors import InvalidConfig


@pytest.mark.parametrize(
    ("operation", "body", "told"),
    [
        ("PostUser", {"user": "bob"}, "user: expected an object; found 'bob'"),
        ("PostUser", {"user": {"username": 5}}, "user.username: expected text; found 5"),
        ("CreateExperiment", {"modelDefinition": {"a": 1}}, "modelDefinition: expected a list"),
        ("CreateExperiment", {"modelDefinition": [{"path": []}]}, "modelDefinition[0].path: expected text"),
        ("CreateExperiment", {"activate": "yes"}, "activate: expected true or false; found 'yes'"),
        ("CreateExperiment", {"parentId": "three"}, "parentId: expected a whole number; found 'three'"),
        ("DeleteCheckpoints", {"checkpointUuids": ["a", 7]}, "checkpointUuids[1]: expected text; found 7"),
        ("PatchExperiment", {"resources": {"weight": "heavy"}}, "resources.weight: expected a number"),
        ("ActivateExperiments", {"filters": {"states": ["STATE_LOST"]}}, "filters.states[0]: expected one of"),
    ],
)
def test_what_is_wrong_is_named(operation: str, body: Any, told: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        bodies.check(operation, body)
    assert refused.value.message.startswith(told)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("PatchExperiment", {"id": 1, "description": None, "labels": ["a"], "unheard": {"of": 1}}),
        ("CreateExperiment", {"parentId": "3", "modelDefinition": [{"path": "a", "mtime": 17, "type": 48}]}),
        ("CreateExperiment", {"modelDefinition": None}),
        ("Logout", {"anything": 1}),
        ("NoSuchOperation", {"anything": 1}),
    ],
)
def test_what_clients_send_passes(operation: str, body: Any) -> None:
    bodies.check(operation, body)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["user", "id", "filters"]), inner),
    max_leaves=8,
)


@hypothesis.given(st.sampled_from(sorted(schemas.operations())), st.dictionaries(st.text(max_size=5), DOCUMENTS))
def test_no_body_is_met_with_anything_but_a_verdict(operation: str, body: dict[str, Any]) -> None:
    fields = schemas.messages().get(schemas.operations()[operation].get("body") or "", {}).get("fields", {})
    renamed = dict(zip((name.rstrip("?") for name in fields), body.values(), strict=False)) or body
    with suppress(InvalidConfig):
        bodies.check(operation, renamed)
