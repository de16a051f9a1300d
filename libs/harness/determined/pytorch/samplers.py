"""Samplers that repeat, shard, skip and shuffle the output of other samplers.

They have to be nested in this order: shuffle, repeat, shard, skip. Then every rank gets its share of one endless order,
and skipping the batches before a checkpoint continues exactly after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar, cast

import numpy as np
from torch.utils.data import BatchSampler, Sampler

NOTHING = (
    "the training data loader gives no batch, so there is nothing to train on: its data set is empty, or smaller than "
    "a batch, which drop_last leaves out"
)
_One = TypeVar("_One")


def _shard_length(total: int, shards: int, rank: int) -> int:
    """How many of `total` things fall to `rank` when they are dealt out in turn."""
    return max(0, (total - rank + shards - 1) // shards)


def _round_and_round(rounds: Iterable[_One]) -> Iterator[_One]:
    """Repeats `rounds` without end. Raises RuntimeError when a round is empty."""
    while True:
        gave = False
        for one in rounds:
            gave = True
            yield one
        if not gave:
            raise RuntimeError(NOTHING)


class RepeatSampler(Sampler[Any]):
    """Repeats a sampler without end. Its length is that of one round."""

    def __init__(self, sampler: Sampler[Any]) -> None:
        self._sampler = sampler

    def __len__(self) -> int:
        return len(cast(Sized, self._sampler))

    def __iter__(self) -> Iterator[Any]:
        return _round_and_round(self._sampler)


class RepeatBatchSampler(BatchSampler):
    """Repeats batches without end; the last batch of a round may be smaller. Its length is that of one round."""

    def __init__(self, batch_sampler: BatchSampler) -> None:
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[list[int]]:
        return _round_and_round(self.batch_sampler)


class DistributedSampler(Sampler[Any]):
    """Every num_workers-th record from `rank` on."""

    def __init__(self, sampler: Sampler[Any], num_workers: int, rank: int) -> None:
        self._sampler = sampler
        self._num_workers = num_workers
        self._rank = rank

    def __len__(self) -> int:
        return _shard_length(len(cast(Sized, self._sampler)), self._num_workers, self._rank)

    def __iter__(self) -> Iterator[Any]:
        for position, index in enumerate(self._sampler):
            if position % self._num_workers == self._rank:
                yield index


class DistributedBatchSampler(BatchSampler):
    """Every num_workers-th batch from `rank` on. Ranks may get different numbers of batches."""

    def __init__(self, batch_sampler: BatchSampler, num_workers: int, rank: int) -> None:
        if not 0 <= rank < num_workers:
            raise ValueError(f"rank: expected at least 0 and below num_workers {num_workers}, found {rank}")
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.rank = rank

    def __len__(self) -> int:
        return _shard_length(len(self.batch_sampler), self.num_workers, self.rank)

    def __iter__(self) -> Iterator[list[int]]:
        for position, batch in enumerate(self.batch_sampler):
            if position % self.num_workers == self.rank:
                yield batch


class SkipSampler(BatchSampler):
    """Leaves out the first records; its length is that of the whole."""

    def __init__(self, sampler: BatchSampler, skip: int) -> None:
        self._sampler = sampler
        self._skip = skip

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        for position, index in enumerate(self._sampler):
            if position >= self._skip:
                yield index


class SkipBatchSampler(BatchSampler):
    """Leaves out the first batches; its length is that of the whole."""

    def __init__(self, batch_sampler: BatchSampler, skip: int) -> None:
        self.batch_sampler = batch_sampler
        self.skip = skip
        self.length = len(batch_sampler)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[list[int]]:
        for position, batch in enumerate(self.batch_sampler):
            if position >= self.skip:
                yield batch


class ReproducibleShuffleSampler(Sampler[Any]):
    """Shuffles with a generator of its own, which is carried on from epoch to epoch."""

    def __init__(self, sampler: Sampler[Any], seed: int) -> None:
        self._sampler = sampler
        self._random = np.random.RandomState(seed)

    def __len__(self) -> int:
        return len(cast(Sized, self._sampler))

    def __iter__(self) -> Iterator[Any]:
        indices = list(self._sampler)
        self._random.shuffle(indices)
        return iter(indices)


class ReproducibleShuffleBatchSampler(Sampler[Any]):
    """The same over whole batches: which records share a batch stays as it is."""

    def __init__(self, batch_sampler: BatchSampler, seed: int) -> None:
        self._batch_sampler = batch_sampler
        self._random = np.random.RandomState(seed)

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[list[int]]:
        batches = list(self._batch_sampler)
        self._random.shuffle(batches)
        return iter(batches)
