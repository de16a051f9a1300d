"""Keeping the global batch size whatever the number of slots: who takes how many records of each batch.

A trial whose `resources.slots_per_trial` is a range may come back on another number of slots. Where these do not divide
its batch some take one record more; each slot's gradients then count as much as its records do.
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
    """Records of a batch for each slot: as even as can be, the first slots taking what is over."""
    each, over = divmod(global_batch_size, slots)
    return [each + (rank < over) for rank in range(slots)]


class ShareSampler(BatchSampler):
    """One slot's part of every batch, for ever. Batches are whole: the last of a round is filled up from the next.

    Its length is the number of batches that a round comes to.
    """

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
