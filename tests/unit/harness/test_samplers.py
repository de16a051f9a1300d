"""Repeat, shard, skip and shuffle: together they continue an order anywhere, on any number of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler, TensorDataset

from determined import pytorch
from determined.pytorch import samplers


def batches_of(records: int, size: int) -> BatchSampler:
    return BatchSampler(SequentialSampler(range(records)), size, drop_last=False)


@given(records=st.integers(1, 30), size=st.integers(1, 7), ranks=st.integers(1, 5), skip=st.integers(0, 40))
def test_skipping_continues_each_ranks_share_of_the_endless_order(
    records: int, size: int, ranks: int, skip: int
) -> None:
    def share(rank: int, skipped: int, count: int) -> list[list[int]]:
        adapted = pytorch.adapt_batch_sampler(batches_of(records, size), True, skipped, ranks, rank)
        return list(itertools.islice(adapted, count))

    for rank in range(ranks):
        assert share(rank, 0, skip + 5)[skip:] == share(rank, skip, 5)


@given(records=st.integers(0, 30), size=st.integers(1, 7), ranks=st.integers(1, 5))
def test_every_batch_falls_to_exactly_one_rank(records: int, size: int, ranks: int) -> None:
    whole = batches_of(records, size)
    shares = [samplers.DistributedBatchSampler(whole, ranks, rank) for rank in range(ranks)]
    assert [len(list(share)) for share in shares] == [len(share) for share in shares]
    assert sorted(itertools.chain(*(list(share) for share in shares))) == list(whole)


@given(records=st.integers(0, 30), ranks=st.integers(1, 5))
def test_every_record_falls_to_exactly_one_rank(records: int, ranks: int) -> None:
    shares = [samplers.DistributedSampler(SequentialSampler(range(records)), ranks, r) for r in range(ranks)]
    assert [len(list(share)) for share in shares] == [len(share) for share in shares]
    assert sorted(itertools.chain(*shares)) == list(range(records))


def test_skipping_leaves_the_length_of_the_whole() -> None:
    skipped = samplers.SkipBatchSampler(batches_of(10, 2), 3)
    assert len(skipped) == 5
    assert list(skipped) == [[6, 7], [8, 9]]
    numbers: Any = SequentialSampler(range(4))
    assert list(samplers.SkipSampler(numbers, 3)) == [3]


@pytest.mark.parametrize("ranks", [1, 2])
def test_repeating_nothing_is_an_error(ranks: int) -> None:
    with pytest.raises(RuntimeError, match="nothing to train on"):
        next(iter(samplers.RepeatSampler(SequentialSampler(()))))
    with pytest.raises(RuntimeError, match="drop_last leaves out"):
        next(iter(pytorch.adapt_batch_sampler(batches_of(0, 2), True, 5, ranks, 0)))


def test_repeating_goes_round_with_the_length_of_one_round() -> None:
    repeated = samplers.RepeatSampler(SequentialSampler(range(3)))
    assert len(repeated) == 3
    assert list(itertools.islice(repeated, 7)) == [0, 1, 2, 0, 1, 2, 0]
    assert len(samplers.RepeatBatchSampler(batches_of(5, 2))) == 3


def test_a_reproducible_shuffle_is_the_known_one_and_goes_on_from_epoch_to_epoch() -> None:
    shuffled = samplers.ReproducibleShuffleSampler(SequentialSampler(range(5)), 777)
    assert list(shuffled) == [0, 4, 1, 2, 3]
    assert list(shuffled) == [2, 0, 1, 3, 4]
    batches = samplers.ReproducibleShuffleBatchSampler(batches_of(6, 2), 777)
    assert sorted(batches) == [[0, 1], [2, 3], [4, 5]]


def test_a_rank_beyond_the_last_is_refused() -> None:
    with pytest.raises(ValueError, match="rank"):
        samplers.DistributedBatchSampler(batches_of(4, 2), 2, 2)


def test_the_order_under_shuffle_depends_on_the_seed_alone() -> None:
    def order(use_up: int) -> list[int]:
        torch.manual_seed(7)
        torch.rand(use_up)
        loader = pytorch.DataLoader(TensorDataset(torch.arange(8)), batch_size=3, shuffle=True)
        torch_loader = loader.get_data_loader(repeat=True)
        seen = []
        for (batch,) in itertools.islice(torch_loader, 9):
            torch.rand(3)
            seen += batch.tolist()
        return seen

    assert order(0) == order(100)
    assert sorted(order(0)[:8]) == list(range(8))
    assert order(0)[:8] != order(0)[8:16]


def test_arguments_that_exclude_one_another_are_refused() -> None:
    dataset = TensorDataset(torch.arange(4))
    with pytest.raises(ValueError, match="sampler excludes shuffle"):
        pytorch.DataLoader(dataset, shuffle=True, sampler=SequentialSampler(dataset))
    with pytest.raises(ValueError, match="batch_sampler excludes"):
        pytorch.DataLoader(dataset, batch_size=2, batch_sampler=batches_of(4, 2))
    with pytest.raises(ValueError, match="batch_size"):
        pytorch.DataLoader(dataset, batch_size=None)

    class Endless(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return itertools.count()

    with pytest.raises(ValueError, match="IterableDataset"):
        pytorch.DataLoader(Endless())


def test_nested_batches_move_as_they_are() -> None:
    warned: set[type] = set()
    data = {"x": [np.ones(2), torch.ones(2)], "name": "kept"}
    moved: Any = pytorch.to_device(data, torch.device("cpu"), warned)
    assert isinstance(moved["x"][0], torch.Tensor)
    assert moved["name"] == "kept"
    assert warned == {str}


def test_the_length_of_a_batch_is_that_of_the_first_tensor_in_it() -> None:
    assert pytorch.data_length({"x": (torch.ones(3, 2), torch.ones(5))}) == 3
    with pytest.raises(TypeError, match="get_batch_length"):
        pytorch.data_length("text")
    with pytest.raises(ValueError, match="empty"):
        pytorch.data_length([])
