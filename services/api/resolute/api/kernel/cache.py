"""Rows in memory: what a projection sees while events are folded, and what has to be written afterwards.

`MemoryRows` holds whole tables. `CachedRows` holds the part of the tables in Postgres that it was given: a projection
that asks for another row is interrupted by `Missing`, everything that it did for the event is undone, and the event is
folded again once the row was loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from resolute.api.kernel.rows import Key, Row, Table, Value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows that have to be loaded: the one with this key, or all that have a value in the column `lookup`."""

    table: Table[Any]
    key: Key
    """Of one row; with a `lookup`, the value alone."""
    lookup: str = ""


class Missing(Exception):
    """A projection asked for rows that are not loaded."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(f"{wanted} is not loaded")
        self.wanted = wanted


@dataclass(slots=True)
class _Held(Generic[Row]):
    """What is known of one table."""

    table: Table[Row]
    whole: bool
    """Whether all its rows are here: a row that is not here does not exist."""
    rows: dict[Key, Row | None] = field(default_factory=dict)
    """By key; None where it is known that there is no such row."""
    found: dict[tuple[str, Value], dict[Key, None]] = field(default_factory=dict)
    """The keys of the rows here, by column and value."""
    complete: set[tuple[str, Value]] = field(default_factory=set)
    """The columns and values of which all rows are here."""
    changed: dict[Key, None] = field(default_factory=dict)

    def set(self, key: Key, row: Row | None) -> None:
        old = self.rows.get(key) if self.table.lookups else None
        for column in self.table.lookups:
            before = None if old is None else getattr(old, column)
            after = None if row is None else getattr(row, column)
            if before != after:
                if before is not None:
                    self.found[column, before].pop(key, None)
                if after is not None:
                    self.found.setdefault((column, after), {})[key] = None
        self.rows[key] = row

    def forget(self, key: Key) -> None:
        self.set(key, None)
        del self.rows[key]


_UNKNOWN: Any = object()


class CachedRows:
    """Implements `Rows`. What is put stays here until `changes` are taken and written."""

    def __init__(self, tables: Iterable[Table[Any]], *, whole: bool = False) -> None:
        """`whole`: the tables are empty, or do not exist elsewhere, so that all rows will be here."""
        self._held: dict[Table[Any], _Held[Any]] = {table: _Held(table, whole) for table in tables}
        self._undo: list[tuple[_Held[Any], Key, Any, bool]] = []

    def get(self, table: Table[Row], *key: Value) -> Row | None:
        held: _Held[Row] = self._held[table]
        row: Row | None = held.rows.get(key, _UNKNOWN)
        if row is _UNKNOWN:
            if not held.whole:
                raise Missing(Wanted(table, key))
            return None
        return row

    def where(self, table: Table[Row], column: str, value: Value) -> list[Row]:
        held: _Held[Row] = self._held[table]
        if not (held.whole or (column, value) in held.complete):
            raise Missing(Wanted(table, (value,), column))
        rows = (held.rows[key] for key in sorted(held.found.get((column, value), ())))
        return [row for row in rows if row is not None]

    def put(self, table: Table[Row], row: Row) -> None:
        self._set(self._held[table], table.key_of(row), row)

    def change(self, table: Table[Row], *key: Value, **columns: object) -> None:
        row = self.get(table, *key)
        if row is not None:
            self._set(self._held[table], key, table.changed(row, columns))

    def remove(self, table: Table[Row], *key: Value) -> None:
        self._set(self._held[table], key, None)

    def _set(self, held: _Held[Any], key: Key, row: Any) -> None:
        self._undo.append((held, key, held.rows.get(key, _UNKNOWN), key in held.changed))
        held.set(key, row)
        held.changed[key] = None

    # ------------------------------------------------------------ for those who fold and write

    def mark(self) -> int:
        return len(self._undo)

    def undo(self, mark: int) -> None:
        """Take back everything since `mark`."""
        while len(self._undo) > mark:
            held, key, row, was_changed = self._undo.pop()
            if row is _UNKNOWN:
                held.forget(key)
            else:
                held.set(key, row)
            if not was_changed:
                held.changed.pop(key, None)

    def load(self, wanted: Wanted, rows: Sequence[Any]) -> None:
        """What the store has for `wanted`. Rows that are here already, perhaps changed, stay as they are."""
        held = self._held[wanted.table]
        if not wanted.lookup:
            held.rows.setdefault(wanted.key, None)
        for row in rows:
            key = wanted.table.key_of(row)
            if key not in held.rows or (held.rows[key] is None and key not in held.changed):
                held.set(key, row)
        if wanted.lookup:
            held.complete.add((wanted.lookup, wanted.key[0]))

    def changes(self) -> dict[Table[Any], dict[Key, Any]]:
        """By table and key: the new row, or None where it was removed. For tables that have any."""
        return {
            table: {key: held.rows[key] for key in held.changed} for table, held in self._held.items() if held.changed
        }

    def written(self) -> None:
        """The changes are in the store now."""
        self._undo.clear()
        for held in self._held.values():
            held.changed.clear()

    def all(self, table: Table[Row]) -> list[Row]:
        """Every row that is here, in the order of the keys."""
        rows = self._held[table].rows
        return [row for key in sorted(rows) if (row := rows[key]) is not None]

    def __len__(self) -> int:
        return sum(len(held.rows) for held in self._held.values())


def memory_rows(tables: Iterable[Table[Any]]) -> CachedRows:
    """Whole tables in memory, empty at first."""
    return CachedRows(tables, whole=True)
