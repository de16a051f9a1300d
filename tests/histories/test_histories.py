"""Logs recorded by every release, read, verified and folded by this one.

When a test here fails, an event has changed its meaning or its form: give it a new schema version and an upcast. Only
the histories of a release that is not out yet may be recorded anew, by `python -m tests.histories.record`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from resolute import codec
from resolute.eventlog.chain import Head, Row, follow
from resolute.proto.message import Cause, Recorded
from resolute.proto.streams import CATEGORIES
from tests.histories.fold import summary_of

HISTORIES = sorted(Path(__file__).parent.glob("*.jsonl"))


def rows(history: Path) -> Iterator[Row]:
    for line in history.read_bytes().splitlines():
        told: dict[str, Any] = orjson.loads(line)
        data = orjson.dumps(told.pop("data")).decode()
        yield Row(data=data, recorded_at=datetime.fromisoformat(told.pop("recorded_at")), **told)


def recorded(row: Row) -> Recorded:
    cause = Cause(row.caused_by, row.actor, row.correlation_id, row.traceparent)
    event = codec.event_from_json(row.type, row.schema_version, row.data)
    return Recorded(row.position, row.stream, row.version, event, cause, row.recorded_at, row.prev_hash)


def test_there_are_histories() -> None:
    assert HISTORIES


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.stem)
def test_its_hash_chain_holds(history: Path) -> None:
    heads: dict[str, Head] = {}
    assert follow(rows(history), heads) is None
    assert heads


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.stem)
def test_every_stream_is_one_that_the_table_knows_and_holds_events_of_its_category(history: Path) -> None:
    for one in map(recorded, rows(history)):
        assert one.category in CATEGORIES, one.stream
        assert one.event.category == one.category, f"{type(one.event).__name__} in {one.stream}"


@pytest.mark.parametrize("history", HISTORIES, ids=lambda path: path.stem)
def test_every_stream_comes_to_where_it_came_to_then(history: Path) -> None:
    expected = orjson.loads(history.with_suffix(".summary.json").read_bytes())
    found = orjson.loads(orjson.dumps(summary_of(map(recorded, rows(history)))))
    for stream, came_to in expected.items():
        assert found[stream] == came_to, stream
