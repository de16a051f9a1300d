"""Lists: filters, order and pages, as SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import asyncpg

from resolute.api import wire
from resolute.api.kernel.paging import Listed, Window
from resolute.api.kernel.ports import Tables
from resolute.api.scope import Everywhere, Outside, Scope
from resolute.proto.errors import InvalidConfig


@dataclass(slots=True)
class Where:
    """Conditions that all must hold. In a clause `?` stands for its argument.

    They begin with the scope of the request: nothing that lies outside of it is found or counted.
    """

    bounds: InitVar[Scope | Outside]
    workspace: InitVar[str] = ""
    """The SQL of the id of the workspace of a row; of what lies in no workspace there is none."""
    args: list[Any] = field(default_factory=list)
    """Those of clauses that stand elsewhere in the statement, before the others."""
    clauses: list[str] = field(default_factory=list, init=False)

    def __post_init__(self, bounds: Scope | Outside, workspace: str) -> None:
        assert isinstance(bounds, Scope) == bool(workspace), "what lies in workspaces is narrowed to a scope"
        if isinstance(bounds, Scope) and not isinstance(bounds.held, Everywhere):
            self.add(f"{workspace} = ANY(?::int[])", sorted(bounds.held))

    def add(self, clause: str, value: Any) -> None:
        self.args.append(value)
        self.clauses.append(clause.replace("?", f"${len(self.args)}"))

    def plain(self, clause: str) -> None:
        self.clauses.append(clause)

    @property
    def sql(self) -> str:
        return f" WHERE {' AND '.join(self.clauses)}" if self.clauses else ""


def pattern(text: str) -> str:
    """`text` anywhere within, for ILIKE; its own wildcards are plain characters."""
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"


def ordering(column: str, tie: str, *, descending: bool, never_null: Collection[str] = ()) -> str:
    """The ORDER BY of a list by `column`. `tie` makes it total, so that pages do not overlap. What is missing comes
    last.

    Postgres keeps no index in that order for DESC, so that columns which are `never_null` are better named: an index of
    theirs can be walked from either end.
    """
    direction = "DESC" if descending else "ASC"
    if column == tie:
        return f" ORDER BY {tie} {direction}"
    nulls = "" if column in never_null else " NULLS LAST"
    return f" ORDER BY {column} {direction}{nulls}, {tie} {direction}"


async def listed_in(
    tables: Tables, select: str, count: str, where: Where, order: str, window: Window
) -> Listed[asyncpg.Record]:
    """One page of `select`, and what it is a page of."""
    page = window.of(int(await tables.value(count + where.sql, *where.args)))
    if page.start == page.end:
        return Listed([], page)
    return Listed(await tables.rows(select + where.sql + order + _window(page), *where.args), page)


async def listed_by_key(
    tables: Tables, select: str, source: str, where: Where, order: str, window: Window, *, key: str
) -> Listed[asyncpg.Record]:
    """As `listed_in`, for rows that cost something to put together: the page's keys are found first, in `source`, which
    must know all that `where` and `order` name; then `select` makes the rows of that page and no others."""
    found, page = await _keys(tables, source, where, order, window, key)
    if not found:
        return Listed([], page)
    rows = {row["id"]: row for row in await tables.rows(f"{select} WHERE {key} = ANY($1)", found)}
    return Listed([rows[one] for one in found if one in rows], page)


async def _keys(
    tables: Tables, source: str, where: Where, order: str, window: Window, key: str
) -> tuple[Sequence[int], wire.Page]:
    if 0 <= window.offset < 2**31 and 0 < window.limit < 2**31:
        # Whoever looks for something has every row looked at: once is enough, for the page and for the total.
        total = "count(*) OVER ()" if where.clauses else f"(SELECT count(*) {source})"
        part = f" OFFSET {window.offset} LIMIT {window.limit}"
        found = await tables.rows(
            f"SELECT {key} AS key, {total} AS total {source}{where.sql}{order}{part}", *where.args
        )
        if found:
            return [row["key"] for row in found], window.of(found[0]["total"])
    page = window.of(int(await tables.value(f"SELECT count(*) {source}{where.sql}", *where.args)))
    if page.start == page.end:
        return [], page
    found = await tables.rows(f"SELECT {key} AS key {source}{where.sql}{order}{_window(page)}", *where.args)
    return [row["key"] for row in found], page


def _window(page: wire.Page) -> str:
    return f" OFFSET {page.start} LIMIT {page.end - page.start}"


def state_names(states: Sequence[str], known: Sequence[str], field_name: str = "states") -> list[str]:
    """The read model's names for the wire's `STATE_…`."""
    names = []
    for state in states:
        name = state.removeprefix("STATE_")
        if name not in known:
            raise InvalidConfig(
                f"{field_name}: {str(state)!r} is unknown; use one of {', '.join(f'STATE_{k}' for k in known)}"
            )
        names.append(name)
    return names
