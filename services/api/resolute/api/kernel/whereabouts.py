"""Whose a thing is, and in which workspace it lies, for each kind of thing that a slice declares (`Projection.things`).
The queries, by Postgres and by rows that are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.ports import Tables
from resolute.api.kernel.rows import Place, Thing, Value


class PlaceQueries(Protocol):
    async def place(self, kind: str, name: Value) -> Place | None:
        """None where there is no such thing. `name` is a number for things that are numbered, else text."""


@dataclass(frozen=True)
class PostgresPlaces:
    tables: Tables
    things: Mapping[str, Thing]

    async def place(self, kind: str, name: Value) -> Place | None:
        row = await self.tables.row(self.things[kind].place, name)
        return None if row is None else Place(row["owner_id"], row["workspace_id"])


@dataclass(frozen=True)
class MemoryPlaces:
    """The twin: `rows` are those of all slices."""

    rows: CachedRows
    things: Mapping[str, Thing]

    async def place(self, kind: str, name: Value) -> Place | None:
        twin = self.things[kind].twin
        assert twin is not None, f"things of the kind {kind} have no twin"
        return twin(self.rows, name)
