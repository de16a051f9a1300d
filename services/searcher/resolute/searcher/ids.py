"""Trial ids for decisions: reserved in the log's sequence and used in order; in normal use none is left out.

`decide` is a plain function and cannot wait for the database. So it takes ids from a stock. When the stock is empty it
gets placeholders; the decision is then discarded, `NeedIds` says how many ids were missing, and `decide` runs again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from resolute.proto.message import Event

S = TypeVar("S")


class NeedIds(Exception):
    """A decision needs `count` more ids than are in stock."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} more ids are needed")
        self.count = count


class Draw:
    """The ids of one decision, which may have to be made several times: each time it draws the same ids.

    `stock` is a heap of reserved ids that no decision has used. It is shared by all draws of a process.
    """

    def __init__(self, stock: list[int]) -> None:
        self._stock = stock
        self._held: list[int] = []
        self._used = 0
        self._missing = 0

    def __iter__(self) -> Draw:
        return self

    def __next__(self) -> int:
        if self._used == len(self._held) and self._stock:
            self._held.append(heapq.heappop(self._stock))
        if self._used == len(self._held):
            self._missing += 1
            return -self._missing
        self._used += 1
        return self._held[self._used - 1]

    def deciding(self, decide: Callable[[S, Draw], Sequence[Event]]) -> Callable[[S], Sequence[Event]]:
        """`decide` on a state alone; each call draws the same ids again. Raises NeedIds."""

        def decided(state: S) -> Sequence[Event]:
            self._used = self._missing = 0
            events = decide(state, self)
            if self._missing:
                raise NeedIds(self._missing)
            return events

        return decided

    def add(self, ids: Iterable[int]) -> None:
        self._held.extend(ids)

    def settle(self, written: bool) -> None:
        """Put the unused ids back into the stock; all of them, when the decision was not written."""
        for unused in self._held[self._used if written else 0 :]:
            heapq.heappush(self._stock, unused)
        self._held.clear()
