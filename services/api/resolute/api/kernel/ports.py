"""How a handler reaches the queries of a slice, without knowing what answers them.

A slice declares a port, which says what its queries are and what answers them in a gateway:

    QUERIES: Port[WorkspaceQueries] = Port(PostgresWorkspaces)

and its handlers ask `call.gateway.ports.of(QUERIES)`. A gateway that has no database is made with something else behind
its ports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import asyncpg

Queries = TypeVar("Queries")


class Tables(Protocol):
    """The tables of the read model, by SQL. A statement names them as `read_<slice>.<table>`."""

    async def rows(self, sql: str, *args: Any) -> Sequence[asyncpg.Record]:
        """Raises Unavailable while the database is away."""

    async def row(self, sql: str, *args: Any) -> asyncpg.Record | None:
        """The first row. Raises Unavailable while the database is away."""

    async def value(self, sql: str, *args: Any) -> Any:
        """The first value of the first row. Raises Unavailable while the database is away."""


class Port(Generic[Queries]):
    """The queries of one slice. `make` makes of the tables what answers them."""

    def __init__(self, make: Callable[[Tables], Queries]) -> None:
        self.make = make


class Ports:
    """What stands behind each port of one gateway: what the port itself says, or what is given in `instead`."""

    def __init__(self, tables: Tables, instead: Mapping[Port[Any], Any] | None = None) -> None:
        self._tables = tables
        self._behind: dict[Port[Any], Any] = dict(instead or {})

    def of(self, port: Port[Queries]) -> Queries:
        if port not in self._behind:
            self._behind[port] = port.make(self._tables)
        found: Queries = self._behind[port]
        return found
