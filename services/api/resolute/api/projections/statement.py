"""A row's change as plain data: SQL and its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson


class Statement(NamedTuple):
    sql: str
    args: tuple[Any, ...]


def statement(sql: str, *args: Any) -> Statement:
    return Statement(sql, args)


def update(table: str, key: str, key_value: Any, **columns: Any) -> Statement:
    """The row of `table` whose `key` is `key_value` gets new values; no such row, no change."""
    sets = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, start=2))
    return Statement(f"UPDATE read_v1.{table} SET {sets} WHERE {key} = $1", (key_value, *columns.values()))


def insert(table: str, **columns: Any) -> Statement:
    places = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
    return Statement(f"INSERT INTO read_v1.{table} ({', '.join(columns)}) VALUES ({places})", (*columns.values(),))


def document(value: Any) -> str:
    return orjson.dumps(value).decode()
