"""Tables and orders that can be drafted over: what would be true, worked out without touching what is.

A pool's state belongs to its fold and may be large. A decision that is several events long must see the first of
them before it can make the second; it folds them into a draft, which costs as much as it changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge
from typing import Any, Generic, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")

_GONE = object()
_UNKNOWN = object()


class Table(Generic[K, V]):
    """A dictionary; over another one, a draft of it."""

    __slots__ = ("_beneath", "_own")

    def __init__(self, beneath: Table[K, V] | None = None) -> None:
        self._own: dict[K, Any] = {}
        self._beneath = beneath

    def draft(self) -> Table[K, V]:
        return Table(self)

    def get(self, key: K) -> V | None:
        table: Table[K, V] | None = self
        while table is not None:
            found = table._own.get(key, _UNKNOWN)
            if found is not _UNKNOWN:
                return None if found is _GONE else cast(V, found)
            table = table._beneath
        return None

    def __getitem__(self, key: K) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: K) -> bool:
        return self.get(key) is not None

    def __setitem__(self, key: K, value: V) -> None:
        self._own[key] = value

    def discard(self, key: K) -> None:
        if self._beneath is None:
            self._own.pop(key, None)
        else:
            self._own[key] = _GONE

    def items(self) -> Iterator[tuple[K, V]]:
        """In the order of first insertion, the draft's own last."""
        if self._beneath is not None:
            for key, value in self._beneath.items():
                if key not in self._own:
                    yield key, value
        for key, value in self._own.items():
            if value is not _GONE:
                yield key, value

    def values(self) -> Iterator[V]:
        return (value for _, value in self.items())


class Order(Generic[K]):
    """A set of tuples kept in order; over another one, a draft of it.

    Adding and removing shift a C array, which for tens of thousands of entries costs microseconds.
    """

    __slots__ = ("_added", "_beneath", "_removed")

    def __init__(self, beneath: Order[K] | None = None) -> None:
        self._added: list[Any] = []
        self._removed: set[K] = set()
        self._beneath = beneath

    def draft(self) -> Order[K]:
        return Order(self)

    def __contains__(self, entry: K) -> bool:
        at = bisect_left(self._added, entry)
        if at < len(self._added) and self._added[at] == entry:
            return True
        return self._beneath is not None and entry not in self._removed and entry in self._beneath

    def add(self, entry: K) -> None:
        if entry in self:
            return
        if entry in self._removed:
            self._removed.discard(entry)
        else:
            insort(self._added, entry)

    def discard(self, entry: K) -> None:
        at = bisect_left(self._added, entry)
        if at < len(self._added) and self._added[at] == entry:
            del self._added[at]
        elif self._beneath is not None and entry in self._beneath:
            self._removed.add(entry)

    def first(self, start: Any = ()) -> K | None:
        """The first entry that is not before `start`."""
        at = bisect_left(self._added, start)
        own = self._added[at] if at < len(self._added) else None
        if self._beneath is None:
            return cast("K | None", own)
        below = self._beneath.first(start)
        if below in self._removed:
            below = next(self._kept(start), None)
        return below if own is None or (below is not None and cast(Any, below) < own) else cast("K | None", own)

    def count(self, start: Any, stop: Any) -> int:
        """How many entries are not before `start` and before `stop`."""
        own = bisect_left(self._added, stop) - bisect_left(self._added, start)
        if self._beneath is None:
            return own
        gone = sum(1 for entry in self._removed if start <= cast(Any, entry) < stop)
        return own + self._beneath.count(start, stop) - gone

    def __len__(self) -> int:
        return len(self._added) + (len(self._beneath) - len(self._removed) if self._beneath is not None else 0)

    def __reversed__(self) -> Iterator[K]:
        if self._beneath is None:
            return iter(reversed(self._added))
        kept = (entry for entry in reversed(self._beneath) if entry not in self._removed)
        return merge(cast(Iterator[Any], kept), reversed(self._added), reverse=True)

    def since(self, start: Any) -> Iterator[K]:
        """Every entry that is not before `start` (a tuple, perhaps shorter than the entries), in order.

        To be read to the end before the order is changed.
        """
        own = self._own_since(start)
        if self._beneath is None:
            return own
        kept = self._kept(start) if self._removed else self._beneath.since(start)
        return merge(cast(Iterator[Any], kept), own) if self._added else kept

    def _kept(self, start: Any) -> Iterator[K]:
        """Of the order beneath, what has not been removed."""
        assert self._beneath is not None, "nothing lies beneath"
        return (entry for entry in self._beneath.since(start) if entry not in self._removed)

    def _own_since(self, start: Any) -> Iterator[K]:
        for at in range(bisect_left(self._added, start), len(self._added)):
            yield self._added[at]

    def __iter__(self) -> Iterator[K]:
        return self.since(())
