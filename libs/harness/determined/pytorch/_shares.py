"""Keeps the global batch size for any number of slots: how many records of each batch every slot takes.

A trial whose `resources.slots_per_trial` is a range may resume on another number of slots. When that number does not
divide the batch size, some slots take one record more, and gradients are weighted by the numbers of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch.utils.data import BatchSampler, Sampler

from determined.pytorch.samplers import RepeatSampler


def is_elastic(exp_conf: Mapping[str, Any] | None) -> bool:
    """Whether the trial may run on different numbers of slots."""
    return isinstance(((exp_conf or {}).get("resources") or {}).get("slots_per_trial"), Mapping)


def shares(global_batch_size: int, slots: int) -> list[int]:
    """The number of records of a batch for each slot: as even as possible, with the remainder on the first slots."""
    each, over = divmod(global_batch_size, slots)
    return [each + (rank < over) for rank in range(slots)]


class ShareSampler(BatchSampler):
    """One slot's part of every batch, without end. Batches are complete: the last one of an epoch is filled up with
    records of the next epoch. Its length is the number of batches of an epoch."""

    def __init__(self, sampler: Sampler[Any], shares: Sequence[int], rank: int, *, drop_last: bool) -> None:
        records, size = len(sampler), sum(shares)  # type: ignore[arg-type]
        self._length = records // size if drop_last else -(-records // size)
        self._whole = BatchSampler(RepeatSampler(sampler), size, drop_last=True)
        first = sum(shares[:rank])
        self._part = slice(first, first + shares[rank])

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[list[int]]:
        for batch in self._whole:
            yield batch[self._part]
