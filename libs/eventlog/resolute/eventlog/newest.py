"""The newest events of the log, as far as this process appended them: they need not be read from the database again.

An event that was just appended is read soon after by every part of the process that follows the log: the relay, the
gateway's tables. Rows are kept as the database would answer them and decoded for each reader, so that no two readers
share an event that one of them might change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

Columns = tuple[Any, ...]
"""As the statements of `sql/read.sql` answer an event; `rows.recorded_from` decodes it."""

KEPT_MAX = 256
KEPT_CHARS_MAX = 262_144
"""Of encoded data, in all."""

_POSITION, _DATA = 0, 5


class Newest:
    def __init__(self) -> None:
        self._rows: OrderedDict[int, Columns] = OrderedDict()
        """By position."""
        self._chars = 0

    def keep(self, rows: Iterable[Columns]) -> None:
        """`rows` are durable. The oldest make room for them."""
        for row in rows:
            self._rows[row[_POSITION]] = row
            self._chars += len(row[_DATA])
        while len(self._rows) > KEPT_MAX or self._chars > KEPT_CHARS_MAX:
            _, forgotten = self._rows.popitem(last=False)
            self._chars -= len(forgotten[_DATA])

    def after(self, position: int, limit: int) -> list[Columns]:
        """The next events, without a gap; none where the first of them is not kept. There may be more in the log."""
        found: list[Columns] = []
        while len(found) < limit and (row := self._rows.get(position + 1 + len(found))) is not None:
            found.append(row)
        return found
