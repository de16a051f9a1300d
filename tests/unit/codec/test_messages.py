"""Every message survives the wire and the log; every generated document is current; old events read as new ones."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from resolute import codec
from resolute.codec import schemas
from resolute.eventlog.rows import encode
from resolute.proto.experiment import TrialCreated, TrialRunStarted
from resolute.proto.message import COMMANDS, EVENTS, Event

PROTO = Path(__file__).parents[3] / "proto"

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
WHOLE = st.integers(-(2**53), 2**53)
REAL = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | REAL | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: JSON,
    str: TEXTS,
    int: WHOLE,
    float: REAL,
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
}


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of this type, as far as messages use types."""
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: any_of(hints[field.name]) for field in fields(kind)})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*map(any_of, arguments))
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(any_of(arguments[0]), max_size=3).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(any_of(arguments[0]), any_of(arguments[1]), max_size=3)
    raise AssertionError(f"messages should not hold a {kind}")


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_is_read_from_the_log_as_it_was_written(name: str) -> None:
    @given(any_of(EVENTS[name]))
    @settings(max_examples=15, deadline=None)
    def check(event: Event) -> None:
        encoded = codec.event_to_json(event)
        assert "\n" not in encoded.data, "a column of the log's append is a line each"
        assert codec.event_from_json(encoded.type, encoded.schema_version, encoded.data) == event
        assert codec.event_from(encoded.type, encoded.schema_version, orjson.loads(encoded.data)) == event

    check()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_crosses_the_bus_as_it_was_sent(name: str) -> None:
    @given(any_of(COMMANDS[name]))
    @settings(max_examples=10, deadline=None)
    def check(command: Any) -> None:
        assert codec.command_from(name, codec.to_bytes(command)) == command

    check()


def test_the_schemas_and_the_asyncapi_document_are_current() -> None:
    expected = schemas.files()
    found = {path: (PROTO / path).read_text() if (PROTO / path).exists() else "" for path in expected}
    changed = [path for path in expected if found[path] != expected[path]]
    assert not changed, f"out of date: {changed}; run python -m resolute.codec.schemas"
    left_over = {file.name for file in (PROTO / "schemas").iterdir()} - {Path(path).name for path in expected}
    assert not left_over, f"nothing says these any more: {left_over}; run python -m resolute.codec.schemas"


def test_every_reference_in_the_asyncapi_document_leads_somewhere() -> None:
    document = yaml.safe_load((PROTO / "asyncapi.yaml").read_text())
    for reference in _references(document):
        if not reference.startswith("#/"):
            assert (PROTO / reference).exists(), reference
            continue
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


# ---------------------------------------------------------------- upcasting


@pytest.fixture
def third_version(monkeypatch: pytest.MonkeyPatch) -> type[Event]:
    """As if TrialRunStarted had been renamed inside twice since it was first recorded."""

    @dataclass(frozen=True, slots=True)
    class Later(TrialRunStarted):
        attempt: int = 0
        schema_version = 3

    monkeypatch.delitem(EVENTS, "Later", raising=False)
    monkeypatch.setitem(EVENTS, "TrialRunStarted", Later)
    monkeypatch.setattr(codec, "UPCASTS", {})

    @codec.upcast("TrialRunStarted", 1)
    def _run_is_called_run_id(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "run_id": data["run"]}

    @codec.upcast("TrialRunStarted", 2)
    def _attempts_are_counted(data: dict[str, Any]) -> dict[str, Any]:
        return {**data, "attempt": data["run_id"] - 1}

    return Later


def test_an_old_event_is_read_as_the_newest_version_step_by_step(third_version: Any) -> None:
    newest = third_version(trial_id=1, run_id=4, attempt=3)
    assert codec.event_from_json("TrialRunStarted", 1, '{"trial_id": 1, "run": 4}') == newest
    assert codec.event_from_json("TrialRunStarted", 2, '{"trial_id": 1, "run_id": 4}') == newest
    assert codec.event_from_json("TrialRunStarted", 3, '{"trial_id": 1, "run_id": 4, "attempt": 3}') == newest


def test_an_event_of_a_newer_release_is_a_clear_error() -> None:
    with pytest.raises(codec.Undecodable, match="TrialRunStarted: found schema version 9, written by a newer release"):
        codec.event_from_json("TrialRunStarted", 9, "{}")
    with pytest.raises(codec.Undecodable, match="TrialTeleported: no such event in this release"):
        codec.event_from_json("TrialTeleported", 1, "{}")


def test_a_field_of_the_wrong_type_is_named() -> None:
    with pytest.raises(codec.Undecodable, match=r"TrialRunStarted\.run_id: .* found 'two'"):
        codec.event_from_json("TrialRunStarted", 1, '{"trial_id": 1, "run_id": "two"}')


@pytest.mark.parametrize("number", [1e20, 1e300, -1e25, 10**30, 2**64, 1.7976931348623157e308])
def test_a_number_that_64_bits_do_not_hold_travels_on_through_log_and_bus(number: float) -> None:
    created = TrialCreated(1, "request", "task", {"x": number, "deep": [{"y": number}]}, 7)
    whole = f"{int(number)}"  # as jsonb writes it
    recorded = (
        f'{{"trial_id":1,"request_id":"r","task_id":"t","hparams":{{"x":{whole},"deep":[{{"y":{whole}}}]}},"seed":7}}'
    )
    read = codec.event_from_json("TrialCreated", 1, recorded)
    assert isinstance(read, TrialCreated)
    assert isinstance(read.hparams["x"], float)
    assert read.hparams["x"] == float(number)
    for event in (created, read):
        again = codec.from_bytes(TrialCreated, codec.to_bytes(event))
        assert again.hparams == {"x": float(number), "deep": [{"y": float(number)}]}
        orjson.dumps(again.hparams)


def test_a_number_beyond_all_floats_is_never_recorded() -> None:
    with pytest.raises(codec.Undecodable, match="TrialCreated"):
        encode([TrialCreated(1, "request", "task", {"x": 10**400}, 7)])
    with pytest.raises(codec.Undecodable, match="TrialCreated"):
        codec.from_bytes(TrialCreated, codec.to_bytes(TrialCreated(1, "request", "task", {"x": 10**400}, 7)))
