"""What the projection of each slice makes of the recorded histories and of one event of each type, as digests.

`python -m tests.integration.api.projection_outcome` writes them beside the projections, after versions were raised.
"""

from __future__ import annotations

import asyncio
import hashlib
import typing
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any

import asyncpg
import orjson

from resolute.api.kernel.cache import CachedRows, memory_rows
from resolute.api.kernel.fold import fold
from resolute.api.kernel.rows import Projection
from resolute.api.kernel.tables import SliceTables
from resolute.api.slices import PROJECTIONS
from resolute.proto.message import EVENTS, Cause, Event, Recorded
from tests.histories.test_histories import HISTORIES, recorded, rows
from tests.servers import Postgres

COLUMNS = """SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = $1 ORDER BY table_name, ordinal_position"""
INDEXES = "SELECT tablename, replace(indexdef, $1, 'read') FROM pg_indexes WHERE schemaname = $1 ORDER BY 1, 2"

A_DOCUMENT = {"name": "a name", "priority": 7, "type": "set_progress", "progress": 0.5, "log_retention_days": 3}
"""What a free-form field of a sample holds: of what projections look for in one, a little."""

AT = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def kept(projection: Projection) -> Path:
    """Where the digests of a slice are kept: beside its tables."""
    return projection.ddl.with_name("outcome.json")


async def outcomes(dsn: str) -> dict[str, dict[str, Any]]:
    """By slice, as it stands in `outcome.json`."""
    samples = samples_of_each_type()
    connection = await asyncpg.connect(dsn)
    try:
        return {
            one.slice: {
                "version": one.version,
                "tables": await _tables(connection, one),
                "histories": {history.stem: _of_history(one, history) for history in HISTORIES},
                "events": _of_samples(one, samples),
            }
            for one in PROJECTIONS
        }
    finally:
        await connection.close()


async def _tables(connection: asyncpg.Connection, projection: Projection) -> str:
    tables = SliceTables(projection, "_outcome")
    await connection.execute(tables.ddl())
    columns = [tuple(row) for row in await connection.fetch(COLUMNS, tables.schema)]
    indexes = [tuple(row) for row in await connection.fetch(INDEXES, tables.schema)]
    return _digest([columns, indexes])


def _of_history(projection: Projection, history: Path) -> str:
    held = memory_rows(projection.tables)
    refused = fold(projection.project, held, [recorded(row) for row in rows(history)]).refused
    assert not refused, f"{history.stem}: {projection.slice} cannot show {refused[0]}"
    return _digest(_rows(projection, held))


def _of_samples(projection: Projection, samples: Sequence[Event]) -> dict[str, str]:
    """By type of event: what one of it comes to on rows that one of each type has come to before. Only events that the
    projection reads have positions: a new type of another slice changes nothing here."""
    held = memory_rows(projection.tables)
    found = {}
    for round_ in range(2):
        for position, event in enumerate((one for one in samples if one.category in projection.categories), 1):
            fold(projection.project, held, [Recorded(position, f"{event.category}-11", 5, event, CAUSE, AT)])
            changed = [[table.name, repr(sorted(rows.items()))] for table, rows in held.changes().items()]
            held.written()
            if changed:
                found[f"{type(event).__name__} {round_ + 1}"] = _digest(changed)
    return found


CAUSE = Cause("cause", "someone")


def samples_of_each_type() -> list[Event]:
    """One event of each type, in the order of their names, except that those come first and last that create things
    and take them away."""
    names = sorted(EVENTS, key=lambda name: (name.endswith(TAKING_AWAY), not name.endswith(CREATING), name))
    return [_sample(EVENTS[name], "event") for name in names]


CREATING = ("Created", "RunRequested", "AllocationRequested", "Joined", "Assigned", "VersionRegistered")
TAKING_AWAY = ("Deleted", "Reset", "Exited")


def _rows(projection: Projection, held: CachedRows) -> list[list[Any]]:
    return [
        [[repr(getattr(row, column.name)) for column in table.columns] for row in held.all(table)]
        for table in projection.tables
    ]


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
        return () if name == "globs" else (_sample(arguments[0], name.removesuffix("s")),)
    if (isinstance(kind, type) and issubclass(kind, typing.Mapping)) or hint is dict:
        return {"a key": 11} if arguments[1:] == (int,) else dict(A_DOCUMENT)
    if hasattr(hint, "__dataclass_fields__"):
        hints = typing.get_type_hints(hint, include_extras=True)
        return hint(**{field.name: _sample(hints[field.name], field.name) for field in fields(hint)})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if name == "position" and hint is str:
        return "1.5"
    return {bool: True, int: 11, float: 0.5, str: f"a {name}", datetime: AT}.get(hint)


def _digest(found: Any) -> str:
    return hashlib.sha256(orjson.dumps(found)).hexdigest()


if __name__ == "__main__":
    server = Postgres()
    try:
        found = asyncio.run(outcomes(server.fresh_database()))
    finally:
        server.close()
    for one in PROJECTIONS:
        kept(one).write_bytes(orjson.dumps(found[one.slice], option=orjson.OPT_INDENT_2) + b"\n")
