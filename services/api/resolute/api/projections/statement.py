"""A row's change as plain data: SQL, its arguments, and which rows it concerns."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import orjson


class Statement(NamedTuple):
    sql: str
    args: tuple[Any, ...]
    touches: tuple[str, ...] = ()
    """What it reads or writes, by names that the projections agree on. Two statements that touch nothing in common
    may run in either order; one that touches nothing by name concerns everything, and keeps its place."""
    overwrites: bool = False
    """Whether the same SQL run later with the same first argument makes this one as if it had never run."""
    derived: bool = False
    """Whether it works out again what follows from other rows: running it once, after everything else of a batch that
    keeps its place, comes to the same as running it after every event."""


def statement(sql: str, *args: Any, touches: tuple[str, ...] = (), overwrites: bool = False) -> Statement:
    return Statement(sql, args, touches, overwrites)


def derived(sql: str, *args: Any) -> Statement:
    return Statement(sql, args, derived=True)


def update(
    table: str, key: str, key_value: Any, *, touches: tuple[str, ...] | None = None, **columns: Any
) -> Statement:
    """The row of `table` whose `key` is `key_value` gets new values; no such row, no change."""
    sets = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, start=2))
    concerned = (f"{table}:{key_value}",) if touches is None else touches
    sql = f"UPDATE read_v1.{table} SET {sets} WHERE {key} = $1"
    return Statement(sql, (key_value, *map(_plain, columns.values())), concerned, overwrites=True)


def insert(table: str, touches: tuple[str, ...], **columns: Any) -> Statement:
    places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    sql = f"INSERT INTO read_v1.{table} ({', '.join(columns)}) VALUES ({places})"
    return Statement(sql, (*map(_plain, columns.values()),), touches)


def _plain(value: Any) -> Any:
    """A word of an enum as the text that the table holds."""
    return value.value if isinstance(value, StrEnum) else value


def document(value: Any) -> str:
    return orjson.dumps(value).decode()
