"""All ids that a request can name, by the parameter of a path: for asking a gateway everything there is.

Which table and column has them is declared by the projection of each slice (`Projection.ids`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from resolute.api.kernel.cache import CachedRows
from resolute.api.kernel.ports import Tables
from resolute.api.kernel.rows import Projection


class IdentQueries(Protocol):
    async def idents(self) -> Mapping[str, Sequence[str]]:
        """By parameter, the ids as a path has them, each once and in order: numbers by size, texts by code point."""


@dataclass(frozen=True)
class PostgresIdents:
    tables: Tables
    projections: Sequence[Projection]

    async def idents(self) -> Mapping[str, Sequence[str]]:
        found = {}
        for projection in self.projections:
            for parameter, (table, column) in projection.ids.items():
                sql = f"SELECT DISTINCT {column} FROM read_{projection.slice}.{table.name}"
                found[parameter] = _in_order(row[0] for row in await self.tables.rows(sql))
        return found


@dataclass(frozen=True)
class MemoryIdents:
    """The twin: `rows` are those of all slices."""

    rows: CachedRows
    projections: Sequence[Projection]

    async def idents(self) -> Mapping[str, Sequence[str]]:
        return {
            parameter: _in_order({getattr(row, column) for row in self.rows.all(table)})
            for projection in self.projections
            for parameter, (table, column) in projection.ids.items()
        }


def _in_order(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in sorted(values)]
