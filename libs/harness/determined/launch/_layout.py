"""Which rank runs where: worked out alike by every launcher of a gang, from the slots of its containers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Rank(NamedTuple):
    """One worker among all. `cross_rank` counts the containers that have a worker of this `local_rank` too."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    cross_rank: int
    cross_size: int
    container: int


def ranks(slots: Sequence[int]) -> list[Rank]:
    """All workers in order of rank: container by container, one for each slot, however unevenly they are spread."""
    found: list[Rank] = []
    for container, local_size in enumerate(slots):
        for local_rank in range(local_size):
            cross_rank = sum(others > local_rank for others in slots[:container])
            cross_size = sum(others > local_rank for others in slots)
            place = (local_rank, local_size, cross_rank, cross_size, container)
            found.append(Rank(len(found), sum(slots), *place))
    return found


def of_container(slots: Sequence[int], container: int) -> list[Rank]:
    return [rank for rank in ranks(slots) if rank.container == container]
