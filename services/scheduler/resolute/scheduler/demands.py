"""What is asked for: allocations of the same kind fit, or do not fit, together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from resolute.proto.pool import AllocationRequested
from resolute.scheduler.overlay import Order


class Kind(NamedTuple):
    """One kind of demand. Ordered, so that equal kinds lie together in every queue: one that cannot be met costs one
    look, however many ask it."""

    slots: int
    single_agent: bool
    blocked: tuple[str, ...]
    """Agents it must not be placed on."""


def kind_of(request: AllocationRequested) -> Kind:
    return Kind(request.slots, request.single_agent, request.blocked_agents)


def line_of(kind: Kind) -> str:
    """What a kind is called in reasons: those of one kind wait in one line."""
    blocked = f", not on {', '.join(kind.blocked)}" if kind.blocked else ""
    return f"{kind.slots}{' on one agent' if kind.single_agent else ''}{blocked}"


AFTER = float("inf")
"""Comes after every number a queue is ordered by."""


def firsts(order: Order[Any]) -> Iterator[Any]:
    """The first entry of every kind; entries begin with the three fields of a kind and a number."""
    entry = order.first()
    while entry is not None:
        yield entry
        entry = order.first((*entry[:3], AFTER))
