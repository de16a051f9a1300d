"""Which rank runs in which container. Every launcher of a gang computes the same layout from the numbers of slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Rank(NamedTuple):
    """A worker. `cross_rank`: how many containers before this one have a worker with the same `local_rank`."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    cross_rank: int
    cross_size: int
    container: int


def ranks(slots: Sequence[int]) -> list[Rank]:
    """All workers in the order of ranks: container by container, one for each slot. Containers may differ in slots."""
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
