"""What is asked for: allocations of the same kind fit, or do not fit, together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from resolute.proto.pool import AllocationRequested
from resolute.scheduling.overlay import Order


class Kind(NamedTuple):
    """One kind of demand. Ordered, so that equal kinds lie together in every queue: one that cannot be met costs one
    look, however many ask it."""

    slots: int
    """At least: by this it is counted while it waits."""
    single_agent: bool
    blocked: tuple[str, ...]
    """Agents it must not be placed on."""
    most: int
    """As many as it takes where there is room."""

    def of_size(self, slots: int) -> Kind:
        return self if slots == self.slots == self.most else self._replace(slots=slots, most=slots)


FIELDS = len(Kind._fields)


def kind_of(request: AllocationRequested) -> Kind:
    least = request.slots if request.slots_min is None else request.slots_min
    return Kind(least, request.single_agent, request.blocked_agents, request.slots)


def kind_in(entry: tuple[Any, ...], at: int = 0) -> Kind:
    """Of an entry of an order, whose fields begin at this place."""
    return Kind(*entry[at : at + FIELDS])


def line_of(kind: Kind) -> str:
    """What a kind is called in reasons: those of one kind wait in one line."""
    blocked = f", not on {', '.join(kind.blocked)}" if kind.blocked else ""
    slots = f"{kind.slots}" if kind.most == kind.slots else f"{kind.slots} to {kind.most}"
    return f"{slots}{' on one agent' if kind.single_agent else ''}{blocked}"


AFTER = float("inf")
"""Comes after every number a queue is ordered by."""


def firsts(order: Order[Any]) -> Iterator[Any]:
    """The first entry of every kind; entries begin with the fields of a kind and a number."""
    entry = order.first()
    while entry is not None:
        yield entry
        entry = order.first((*entry[:FIELDS], AFTER))
