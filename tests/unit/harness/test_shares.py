"""How a batch is dealt out to any number of slots."""

from __future__ import annotations

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import SequentialSampler, TensorDataset

from determined import core, errors, pytorch
from determined.pytorch._shares import ShareSampler, is_elastic, shares
from determined.pytorch._train_loop import TrainLoop

RANGE = {"resources": {"slots_per_trial": {"min": 1, "max": 4}}}


@given(size=st.integers(1, 64), slots=st.integers(1, 8))
def test_shares_are_the_whole_and_as_even_as_can_be(size: int, slots: int) -> None:
    dealt = shares(size, slots)
    assert sum(dealt) == size
    assert max(dealt) - min(dealt) <= 1
    assert dealt == sorted(dealt, reverse=True)


@given(records=st.integers(1, 40), size=st.integers(1, 12), slots=st.integers(1, 4), batches=st.integers(1, 12))
def test_whatever_the_number_of_slots_together_they_see_the_same_batches(
    records: int, size: int, slots: int, batches: int
) -> None:
    def of(rank: int) -> list[list[int]]:
        sampler = ShareSampler(SequentialSampler(range(records)), shares(size, slots), rank, drop_last=False)
        assert len(sampler) == -(-records // size)
        return list(itertools.islice(sampler, batches))

    together = [[record for part in parts for record in part] for parts in zip(*map(of, range(slots)), strict=True)]
    endless = itertools.cycle(range(records))
    assert together == [list(itertools.islice(endless, size)) for _ in range(batches)]


def test_nothing_can_be_dealt_out_for_ever() -> None:
    with pytest.raises(RuntimeError, match="nothing to train on"):
        next(iter(ShareSampler(SequentialSampler(()), shares(4, 2), 1, drop_last=False)))


def test_a_range_of_slots_is_what_makes_a_trial_elastic() -> None:
    assert is_elastic(RANGE)
    assert not is_elastic({"resources": {"slots_per_trial": 4}})
    assert not is_elastic(None)


class OfThree(core.DummyDistributedContext):
    """The second of three ranks, with nobody to talk to."""

    def __init__(self) -> None:
        super().__init__()
        self.rank, self.size = 1, 3


def context(global_batch_size: int, exp_conf: dict[str, Any]) -> pytorch.PyTorchTrialContext:
    made = pytorch.CheckpointLoadContext({"global_batch_size": global_batch_size}, exp_conf)
    made.distributed, made._slots_per_trial = OfThree(), 3
    return made


def test_a_fixed_number_of_slots_shares_evenly_and_a_range_keeps_the_whole_batch() -> None:
    fixed, elastic = context(20, {}), context(20, RANGE)
    assert (fixed.get_per_slot_batch_size(), fixed.get_global_batch_size()) == (6, 18)
    assert (elastic.get_per_slot_batch_size(), elastic.get_global_batch_size()) == (7, 20)
    assert fixed._weight() == 1
    assert elastic._weight() == pytest.approx(7 * 3 / 20)


def test_gradients_count_as_much_as_their_records() -> None:
    one = torch.ones(1, requires_grad=True)
    context(20, RANGE).backward(one.sum())
    assert one.grad == pytest.approx(7 * 3 / 20)


@pytest.mark.parametrize("sizes", [(8, 7, 7), (8, 8, 8), (7, 7, 7), (5, 5, 5)])
def test_ranks_validate_on_every_record_once_whatever_the_size_of_their_batches(sizes: tuple[int, ...]) -> None:
    """Eight records are the share of the first rank alone."""
    records = TensorDataset(torch.arange(50))
    port = 20_000 + threading.get_native_id() % 10_000

    def seen(rank: int) -> list[int]:
        place: dict[str, Any] = {"local_rank": rank, "local_size": 3, "cross_rank": 0, "cross_size": 1}
        with contextlib.closing(core.DistributedContext(rank=rank, size=3, pub_port=port, **place)) as distributed:
            made = SimpleNamespace(_shares=lambda: shares(22, 3), distributed=distributed)
            loader = pytorch.DataLoader(records, batch_size=sizes[rank])
            loop = cast(TrainLoop, SimpleNamespace(_context=made))
            dealt = TrainLoop._elastic_loader(loop, loader, 3, rank, repeat=False, whole=False)
            return [int(record) for (batch,) in dealt for record in batch]

    with ThreadPoolExecutor(3) as pool:
        assert sorted(itertools.chain(*pool.map(seen, range(3)))) == list(range(50))


@pytest.mark.parametrize("batch_size", [5, 8])
def test_batches_of_another_size_than_the_share_are_refused(batch_size: int) -> None:
    loader = pytorch.DataLoader(TensorDataset(torch.zeros(60)), batch_size=batch_size)
    with pytest.raises(errors.InvalidExperimentException, match=r"global_batch_size 20 .* 3 slots .* takes 7 records"):
        loader._dealt_out(shares(20, 3), 1, 0)
