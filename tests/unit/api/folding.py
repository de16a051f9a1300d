"""Given events, then rows: a slice's projection, folded in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from resolute.api.kernel.cache import memory_rows
from resolute.api.kernel.rows import Projection, Row, Table, Value
from resolute.proto.message import Cause, Event, Recorded

START = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


class Folding:
    """The tables of one slice, and the events that they were folded from. Each event is recorded a second after the one
    before it: event `n` at `at(n)`, the first of all being 1."""

    def __init__(self, projection: Projection, stream: str) -> None:
        self._projection, self._stream = projection, stream
        self._rows = memory_rows(projection.tables)
        self._position = 0

    def given(self, *events: Event, stream: str = "", actor: str = "someone") -> None:
        """Fold events of `stream`; of the usual one where none is named."""
        for event in events:
            self._position += 1
            cause, at_ = Cause(f"cause-{self._position}", actor), at(self._position)
            recorded = Recorded(self._position, stream or self._stream, self._position, event, cause, at_)
            self._projection.project(recorded, self._rows)

    def row(self, table: Table[Row], *key: Value) -> Row:
        """The row with this key, which there is."""
        found = self._rows.get(table, *key)
        assert found is not None, f"{table} has no row {key}"
        return found

    def count(self) -> dict[str, int]:
        """How many rows each table has."""
        return {table.name: len(self._rows.all(table)) for table in self._projection.tables}

    def all(self, table: Table[Row]) -> list[Row]:
        return self._rows.all(table)


def at(position: int) -> datetime:
    """When the event at this position was recorded."""
    return START + timedelta(seconds=position)


def columns(row: Any, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in names)
