"""The tables of one slice in Postgres: made, loaded from, and written to."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import asyncpg
import orjson
from pydantic_core import to_json

from resolute.api.kernel.cache import CachedRows, Wanted
from resolute.api.kernel.fold import Refusal, fold
from resolute.api.kernel.rows import Column, Key, Kind, Projection, Table
from resolute.proto.message import Recorded

STEP = 100
"""Events that are folded before the event loop serves others."""

PROGRESS = """CREATE TABLE {schema}.progress (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint NOT NULL,                      -- of the last event that these tables show
    grown uuid NOT NULL DEFAULT gen_random_uuid()  -- another whenever the tables were made anew
) WITH (fillfactor = 20);
INSERT INTO {schema}.progress (position) VALUES (0)"""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much of a slice stays in memory between two batches, at most."""

    rows: int
    bytes: int
    """Of what was written, as JSON: a checkpoint may list many thousand files. In memory it is several times that."""


class SliceTables:
    """The tables of one projection in one schema, with the rows of them that are in memory.

    `rows` are the tables as they are when they show the log up to `position`, with what was folded beyond that and is
    not written yet. They are right as long as no other process writes to the tables: `Feed` finds that out whenever it
    writes, and then forgets them. `seen` is how far the tables were seen to be, whoever brought them there.
    """

    def __init__(self, projection: Projection, suffix: str = "", asides: str = "") -> None:
        """`suffix`: what the schema's name ends in, for tables beside those that answers come from. `asides`: the name
        under which events are set aside that cannot be shown: of the usual tables the schema's; of tables beside them
        none, if it is not given, so that such events are only noted in the gateway's own log."""
        self.projection = projection
        self.schema = projection.schema + suffix
        self.asides = asides or ("" if suffix else self.schema)
        self.position = 0
        self.seen = 0
        self.grown = ""
        """Which tables these are, as `progress.grown` says; empty until that was read."""
        self.refused: set[int] = set()
        """The positions of events that were set aside."""
        self._in_postgres = [TableInPostgres(table, self.schema) for table in projection.tables]
        self.forget()

    @property
    def shown(self) -> int:
        """Up to where the tables are known to show the log; they may be further by now."""
        return max(self.position, self.seen)

    def forget(self) -> None:
        """Forget all rows in memory, and what was folded and is not written."""
        self.rows = CachedRows(self.projection.tables, whole=bool(self.grown) and self.position == 0)
        self._written_bytes = 0

    def written(self, position: int, kept: Kept) -> None:
        """What was folded is in the tables now, which stand at `position`."""
        self.position = position
        self.rows.written()
        if len(self.rows) > kept.rows or self._written_bytes > kept.bytes:
            self.forget()

    def ddl(self) -> str:
        """What makes the tables."""
        tables = self.projection.ddl.read_text().replace(f"read_{self.projection.slice}.", f"{self.schema}.")
        return f"CREATE SCHEMA {self.schema};\n{PROGRESS.format(schema=self.schema)};\n{tables}"

    async def fold(self, connection: asyncpg.Connection, events: Iterable[Recorded]) -> list[Refusal]:
        """Fold the events into `rows`; the events that cannot be shown."""
        categories = self.projection.categories
        rest = [recorded for recorded in events if recorded.event.category in categories]
        refused: list[Refusal] = []
        while rest:
            folded = fold(self.projection.project, self.rows, rest[:STEP])
            refused += folded.refused
            rest = rest[folded.count :]
            if folded.wanted:
                await self._load(connection, folded.wanted)
            elif rest:
                await asyncio.sleep(0)
        return refused

    async def _load(self, connection: asyncpg.Connection, wanted: Sequence[Wanted]) -> None:
        for stored in self._in_postgres:
            if keys := [one for one in wanted if one.table is stored.table and not one.lookup]:
                await stored.load_keys(connection, self.rows, keys)
            for column in stored.table.lookups:
                if values := [one for one in wanted if one.table is stored.table and one.lookup == column]:
                    await stored.load_lookups(connection, self.rows, column, values)

    async def write(self, connection: asyncpg.Connection) -> None:
        """Write what was folded, within the connection's transaction."""
        changes = self.rows.changes()
        for stored in self._in_postgres:
            if changed := changes.get(stored.table):
                self._written_bytes += await stored.write(connection, changed)


class TableInPostgres:
    def __init__(self, table: Table[Any], schema: str) -> None:
        self.table, self._name = table, f"{schema}.{table.name}"
        self._floats = [column.name for column in table.columns if column.kind is Kind.FLOAT]
        self._texts = [column.name for column in table.columns if column.kind is Kind.DECIMAL]

    @cached_property
    def _columns(self) -> str:
        return ", ".join(column.name for column in self.table.columns)

    @cached_property
    def _upsert(self) -> str:
        key = ", ".join(self.table.key)
        others = [column.name for column in self.table.columns if column.name not in self.table.key]
        kept = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        return (
            f"INSERT INTO {self._name} ({self._columns}) "
            f"SELECT {self._columns} FROM json_populate_recordset(NULL::{self._name}, $1::json) "
            f"ON CONFLICT ({key}) DO {f'UPDATE SET {kept}' if others else 'NOTHING'}"
        )

    @cached_property
    def _keys(self) -> str:
        """A join with the keys that are given, one array for each column of the key."""
        arrays = ", ".join(f"${n}::{self.table.column(name).key_type}[]" for n, name in enumerate(self.table.key, 1))
        matches = " AND ".join(f"t.{name} = wanted.{name}" for name in self.table.key)
        return f"unnest({arrays}) AS wanted ({', '.join(self.table.key)}) WHERE {matches}"

    @cached_property
    def _remove(self) -> str:
        return f"DELETE FROM {self._name} t USING {self._keys}"

    @cached_property
    def _select(self) -> str:
        columns = ", ".join(f"t.{column.name}" for column in self.table.columns)
        return f"SELECT {columns} FROM {self._name} t"

    @cached_property
    def _readers(self) -> Sequence[Callable[[Any], Any] | None]:
        return [_reader(column) for column in self.table.columns]

    async def write(self, connection: asyncpg.Connection, changed: Mapping[Key, Any]) -> int:
        """How many bytes were written."""
        removed = [key for key, row in changed.items() if row is None]
        if removed:
            await connection.execute(self._remove, *_by_column(removed))
        if len(removed) == len(changed):
            return 0
        encoded = self._encoded(row for row in changed.values() if row is not None)
        await connection.execute(self._upsert, encoded)
        return len(encoded)

    def _encoded(self, rows: Iterable[Any]) -> str:
        written = [self._written(row) for row in rows]
        try:
            return orjson.dumps(written).decode()
        except TypeError:  # a whole number beyond 64 bits, in a document that a person wrote
            return to_json(written, inf_nan_mode="null").decode()

    def _written(self, row: Any) -> Any:
        """What JSON has no word for goes as text, which the columns read."""
        odd = [name for name in self._floats if (value := getattr(row, name)) is not None and not math.isfinite(value)]
        if not odd and not self._texts:
            return row
        values = {column.name: getattr(row, column.name) for column in self.table.columns}
        return values | {name: str(values[name]) for name in (*odd, *self._texts) if values[name] is not None}

    async def load_keys(self, connection: asyncpg.Connection, rows: CachedRows, wanted: Sequence[Wanted]) -> None:
        sql = f"{self._select}, {self._keys}"
        found = {self.table.key_of(row): row for row in await self._rows(connection, sql, *_by_column(_keys(wanted)))}
        for one in wanted:
            rows.load(one, [found[one.key]] if one.key in found else [])

    async def load_lookups(
        self, connection: asyncpg.Connection, rows: CachedRows, column: str, wanted: Sequence[Wanted]
    ) -> None:
        sql = f"{self._select} WHERE t.{column} = ANY($1::{self.table.column(column).key_type}[])"
        by_value: dict[Any, list[Any]] = {one.key[0]: [] for one in wanted}
        for row in await self._rows(connection, sql, list(by_value)):
            by_value[getattr(row, column)].append(row)
        for one in wanted:
            rows.load(one, by_value[one.key[0]])

    async def _rows(self, connection: asyncpg.Connection, sql: str, *arguments: Any) -> Iterator[Any]:
        return map(self._row, await connection.fetch(sql, *arguments))

    def _row(self, record: asyncpg.Record) -> Any:
        values = zip(record, self._readers, strict=True)
        return self.table.row(*(value if read is None or value is None else read(value) for value, read in values))


def _reader(column: Column) -> Callable[[Any], Any] | None:
    return {Kind.DOCUMENT: orjson.loads, Kind.ARRAY: tuple}.get(column.kind)


def _keys(wanted: Sequence[Wanted]) -> list[Key]:
    return [one.key for one in wanted]


def _by_column(keys: Sequence[Key]) -> list[list[Any]]:
    return [list(values) for values in zip(*keys, strict=True)]
