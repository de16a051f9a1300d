"""Pages of lists: the part that a request asks for, and the part that it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from resolute.api import wire

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a list that a request asks for, by the rules of `wire.page_of`."""

    offset: int = 0
    limit: int = 0

    def of(self, total: int) -> wire.Page:
        return wire.page_of(total, offset=self.offset, limit=self.limit)


@dataclass(frozen=True, slots=True)
class Listed(Generic[Row]):
    """One page of a list, and what it is a page of."""

    rows: Sequence[Row]
    page: wire.Page


def cut(rows: Sequence[Row], window: Window) -> Listed[Row]:
    """The page of a list that is all in memory."""
    page = window.of(len(rows))
    return Listed(wire.cut(rows, page), page)


def ordered(rows: Iterable[Row], by: Callable[[Row], Any], tie: Callable[[Row], Any], *, descending: bool) -> list[Row]:
    """In the order of a list in Postgres: by a column, then by the tie; rows whose column is None come last."""
    alike = sorted(rows, key=tie, reverse=descending)
    there = sorted((row for row in alike if by(row) is not None), key=by, reverse=descending)
    return there + [row for row in alike if by(row) is None]
