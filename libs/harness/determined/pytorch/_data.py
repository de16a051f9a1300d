"""A data loader that can be sharded, repeated and resumed, and functions to move batches to a device."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, cast

import numpy as np
import torch
from torch.utils import data

from determined import errors
from determined.pytorch._shares import ShareSampler
from determined.pytorch.samplers import DistributedBatchSampler, RepeatBatchSampler, SkipBatchSampler

logger = logging.getLogger("determined.pytorch")

TorchData = dict[str, torch.Tensor] | Sequence[torch.Tensor] | torch.Tensor
_Data = Any


class DataLoader:
    """Keeps the arguments of torch's DataLoader until the rank, and the batch at which it begins, are known.

    The order with shuffle=True depends on the seed only, and not on how many random numbers training has drawn. So a
    resumed run sees the same records as an uninterrupted one.
    """

    def __init__(
        self,
        dataset: data.Dataset[Any],
        batch_size: int | None = 1,
        shuffle: bool = False,
        sampler: data.Sampler[Any] | None = None,
        batch_sampler: data.BatchSampler | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if isinstance(dataset, data.IterableDataset):
            raise ValueError(
                "dataset: an IterableDataset cannot be sharded or resumed; give torch's own DataLoader and call "
                "context.experimental.disable_dataset_reproducibility_checks()"
            )
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.generator = generator
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._shuffle = shuffle
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            self.sampler: data.Sampler[Any] | None = None
            self.batch_sampler = batch_sampler
            return
        if batch_size is None:
            raise ValueError("batch_size: the platform works in batches; expected a number, found None")
        if sampler is not None and shuffle:
            raise ValueError("sampler excludes shuffle: the sampler has the say over the order")
        self.sampler = sampler or self._default_sampler()
        self.batch_sampler = data.BatchSampler(self.sampler, batch_size, drop_last)

    def _default_sampler(self) -> data.Sampler[Any]:
        sized = cast(Sized, self.dataset)
        if not self._shuffle:
            return data.SequentialSampler(sized)
        return data.RandomSampler(sized, generator=self.generator or _seeded_generator())

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> data.DataLoader[Any]:
        """torch's loader for one of `num_replicas` ranks, without the first `skip` batches of this rank."""
        return self._loader(adapt_batch_sampler(self.batch_sampler, repeat, skip, num_replicas, rank))

    def _dealt_out(self, shares: Sequence[int], rank: int, skip: int) -> data.DataLoader[Any]:
        """The endless training loader of a rank, which takes `shares[rank]` records of each batch. Together the ranks
        see the same records in the same order, however many ranks there are.

        Raises InvalidExperimentException when the batch size is not this rank's share.
        """
        if self.sampler is None or not self._is_of_share(shares, rank):
            raise errors.InvalidExperimentException(
                f"resources.slots_per_trial is a range, so hyperparameters.global_batch_size {sum(shares)} is dealt out"
                f" to the {len(shares)} slots of today, of which this one takes {shares[rank]} records: build the "
                "training data loader with batch_size=context.get_per_slot_batch_size() and without a batch_sampler"
            )
        part = ShareSampler(self.sampler, shares, rank, drop_last=self.drop_last)
        return self._loader(SkipBatchSampler(part, skip))

    def _is_of_share(self, shares: Sequence[int], rank: int) -> bool:
        """Whether the batch size is this rank's share. Then batches of other ranks may have another size."""
        return self.sampler is not None and self.batch_size == shares[rank]

    def _of_one_size(self, shares: Sequence[int]) -> data.BatchSampler:
        """The batches for validation when the batch size is each rank's share: all of the size of the smallest
        share."""
        assert self.sampler is not None
        return data.BatchSampler(self.sampler, min(shares), self.drop_last)

    def _loader(self, batch_sampler: data.BatchSampler) -> data.DataLoader[Any]:
        return data.DataLoader(
            self.dataset,
            batch_sampler=batch_sampler,
            num_workers=self.num_workers,
            collate_fn=self.collate_fn,
            pin_memory=self.pin_memory,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            multiprocessing_context=self.multiprocessing_context,
            generator=self.generator,
            prefetch_factor=self.prefetch_factor,
            persistent_workers=self.persistent_workers,
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get_data_loader())

    def __len__(self) -> int:
        return len(self.batch_sampler)


def _seeded_generator() -> torch.Generator:
    generator = torch.Generator()
    generator.manual_seed(torch.initial_seed())
    return generator


def adapt_batch_sampler(
    batch_sampler: data.BatchSampler, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> data.BatchSampler:
    """Repeat, then shard, then skip: `skip` counts this rank's batches."""
    if repeat:
        batch_sampler = RepeatBatchSampler(batch_sampler)
    if num_replicas > 1:
        batch_sampler = DistributedBatchSampler(batch_sampler, num_replicas, rank)
    if skip > 0:
        batch_sampler = SkipBatchSampler(batch_sampler, skip)
    return batch_sampler


def data_length(data: _Data) -> int:
    """The number of records in a batch, by the first tensor or array in it."""
    match data:
        case torch.Tensor() | np.ndarray():
            return len(data)
        case dict() if data:
            return data_length(next(iter(data.values())))
        case list() | tuple() if data:
            return data_length(data[0])
        case dict() | list() | tuple():
            raise ValueError("an empty batch has no length")
    raise TypeError(
        f"the number of records in a {type(data).__name__} is not known; override get_batch_length in your trial"
    )


def to_device(data: _Data, device: torch.device, warned_types: set[type] | None = None) -> TorchData:
    """`data` with all its tensors and arrays on `device`. Other values are not moved; there is one warning per type."""
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, np.ndarray) and data.dtype.kind in "biufc":
        return torch.from_numpy(data).to(device)
    moved = _container_to_device(data, device, warned_types)
    if moved is not None:
        return cast(TorchData, moved)
    if hasattr(data, "to") and callable(data.to):
        return cast(TorchData, data.to(device))
    if warned_types is not None and type(data) not in warned_types:
        warned_types.add(type(data))
        logger.warning(
            "not able to move data of type %s to device %s: it is left where it is", type(data).__name__, device
        )
    return cast(TorchData, data)


def _container_to_device(data: _Data, device: torch.device, warned_types: set[type] | None) -> Any:
    if isinstance(data, dict):
        return {name: to_device(item, device, warned_types) for name, item in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(to_device(item, device, warned_types) for item in data))
    if isinstance(data, list | tuple):
        return type(data)(to_device(item, device, warned_types) for item in data)
    return None
