"""What the projections make of the recorded histories and of one event of each type, as digests.

`python -m tests.integration.api.projection_outcome` writes them beside the projections, after their version was raised.
"""

from __future__ import annotations

import asyncio
import hashlib
import typing
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any

import asyncpg
import orjson

from resolute.api import projections
from resolute.api.projections import VERSION, project
from resolute.api.readmodel import ReadModel
from resolute.eventlog import MemoryEventLog
from resolute.proto.message import EVENTS, Cause, Recorded
from tests.histories.test_histories import HISTORIES, recorded, rows
from tests.servers import Postgres

KEPT = Path(projections.__file__).with_name("outcome.json")

COLUMNS = """SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = $1 ORDER BY table_name, ordinal_position"""
INDEXES = "SELECT tablename, replace(indexdef, $1, 'read') FROM pg_indexes WHERE schemaname = $1 ORDER BY 1, 2"

A_DOCUMENT = {"name": "a name", "priority": 7, "type": "set_progress", "progress": 0.5}
"""What a free-form field of a sample holds: of what projections look for in one, a little."""

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


async def outcome(dsn: str) -> dict[str, Any]:
    """As it stands in `outcome.json`."""
    async with asyncpg.create_pool(dsn, min_size=1, max_size=2, server_settings={"timezone": "UTC"}) as pool:
        shown = {history.stem: await _shown(pool, history, n) for n, history in enumerate(HISTORIES)}
        tables = await _tables(pool)
    return {"version": VERSION, "tables": tables, "histories": shown, "events": _of_each_type()}


async def _shown(pool: asyncpg.Pool, history: Path, number: int) -> str:
    """Of all rows that a history comes to."""
    events = [recorded(row) for row in rows(history)]
    read = ReadModel(pool, MemoryEventLog(), f"read_history_{number}")
    await read.prepare()
    await read.handle(events)
    found = {}
    for (table,) in await pool.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1", read.schema):
        if table != "progress":
            found[table] = [
                row[0] for row in await pool.fetch(f"SELECT to_jsonb(t)::text FROM {read.schema}.{table} t ORDER BY 1")
            ]
    assert any(found.values()) == any(map(project, events)), f"{history.stem}: nothing is shown of it"
    return _digest(found)


async def _tables(pool: asyncpg.Pool) -> str:
    columns = [tuple(row) for row in await pool.fetch(COLUMNS, "read_history_0")]
    indexes = [tuple(row) for row in await pool.fetch(INDEXES, "read_history_0")]
    return _digest([columns, indexes])


def _of_each_type() -> dict[str, str]:
    """Of the statements that come of one event of each type, where there are any: histories hold not all of them."""
    found = {}
    for name, kind in sorted(EVENTS.items()):
        event: Any = _sample(kind, "event")
        statements = project(Recorded(7, f"{kind.category}-3", 5, event, Cause("cause", "someone"), AT))
        if statements:
            found[name] = _digest([[one.sql, [repr(value) for value in one.args]] for one in statements])
    return found


def _sample(hint: Any, name: str) -> Any:
    """Some value of a field's type, the same every time."""
    kind, arguments = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, UnionType):
        return _sample(next(one for one in arguments if one is not type(None)), name)
    if kind is typing.Literal:
        return arguments[0]
    if kind is typing.Annotated:
        return _sample(arguments[0], name)
    if kind is tuple:
        return (_sample(arguments[0], name),)
    if (isinstance(kind, type) and issubclass(kind, typing.Mapping)) or hint is dict:
        return {"a key": 11} if arguments[1:] == (int,) else dict(A_DOCUMENT)
    if hasattr(hint, "__dataclass_fields__"):
        hints = typing.get_type_hints(hint, include_extras=True)
        return hint(**{field.name: _sample(hints[field.name], field.name) for field in fields(hint)})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    return {bool: True, int: 11, float: 0.5, str: f"a {name}", datetime: AT}.get(hint)


def _digest(found: Any) -> str:
    return hashlib.sha256(orjson.dumps(found)).hexdigest()


if __name__ == "__main__":
    server = Postgres()
    try:
        found = asyncio.run(outcome(server.fresh_database()))
    finally:
        server.close()
    KEPT.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
