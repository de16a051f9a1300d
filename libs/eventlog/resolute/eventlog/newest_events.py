"""The newest events of the log that this process appended, kept in memory so that it need not read them again.

An event that was just appended is read soon after by every part of the process that follows the log: the relay, the
gateway's tables. Rows are kept as the database would return them and decoded for each reader, so that no two readers
share an event that one of them might change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

Columns = tuple[Any, ...]
"""The columns of an event, as the statements of `sql/read.sql` return them; `rows.recorded_from` decodes them."""

KEPT_MAX = 256
KEPT_CHARS_MAX = 262_144
"""The most characters of encoded data that are kept in all."""

_POSITION, _DATA = 0, 5


class NewestEvents:
    def __init__(self) -> None:
        self._rows: OrderedDict[int, Columns] = OrderedDict()
        """By position."""
        self._chars = 0

    def keep(self, rows: Iterable[Columns]) -> None:
        """Keeps `rows`, which are durable, and drops the oldest ones where there is no room."""
        for row in rows:
            self._rows[row[_POSITION]] = row
            self._chars += len(row[_DATA])
        while len(self._rows) > KEPT_MAX or self._chars > KEPT_CHARS_MAX:
            _, forgotten = self._rows.popitem(last=False)
            self._chars -= len(forgotten[_DATA])

    def after(self, position: int, limit: int) -> list[Columns]:
        """The next events, without a gap; none where the first of them is not kept. The log may hold more."""
        found: list[Columns] = []
        while len(found) < limit and (row := self._rows.get(position + 1 + len(found))) is not None:
            found.append(row)
        return found
