"""Every event of this release has a sentence, made of the fields that it has."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from resolute import codec
from resolute.eventlog.chain import Row
from resolute.eventlog.sentences import sentence
from resolute.proto.message import EVENTS, Event

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PLAIN: Mapping[Any, Any] = {int: 3, float: 0.5, str: "some-name", bool: True, datetime: NOON}


def sample(kind: Any) -> Any:
    """A value of a type that events have fields of."""
    if kind in PLAIN:
        return PLAIN[kind]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return typing.cast(Any, kind)(**{field.name: sample(hints[field.name]) for field in dataclasses.fields(kind)})
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return (sample(inside[0]),)
    if origin in (typing.Union, types.UnionType):
        return next(sample(one) for one in inside if one is not type(None))
    assert origin is not None, kind
    assert issubclass(origin, Mapping), kind
    return {"name": sample(inside[1]) if inside[1] in PLAIN else "another"}


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.__name__)
def test_each_event_is_told_in_a_sentence(kind: type[Event]) -> None:
    event = sample(kind)
    data = orjson.dumps(codec.dump(event)).decode()
    row = Row(1, "stream-1", 1, kind.__name__, 1, data, "cause", 0, "", "", None, NOON, "")
    told = sentence(row, orjson.loads(data))
    assert kind.__name__ not in told, "this is not a sentence but a list of fields"
