"""The base class of a PyTorch model: subclass it, and the platform runs the training loop around it."""

from __future__ import annotations

import abc
from typing import Any

import torch
from torch.utils import data

from determined._trial import LegacyTrial
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader, TorchData, data_length
from determined.pytorch._reducers import Reducer

AnyLoader = DataLoader | data.DataLoader[Any]


class PyTorchTrial(LegacyTrial, abc.ABC):
    """The base class of trials. Wrap models and optimizers in the constructor, train one batch in train_batch, and
    override exactly one of evaluate_batch and evaluate_full_dataset."""

    trial_context_class = PyTorchTrialContext

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None:
        """Raise determined.InvalidHP to reject the hyperparameters."""

    @abc.abstractmethod
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> torch.Tensor | dict[str, Any]:
        """Train on one batch; returns its metrics, or one tensor, which is then the metric `loss`.

        `batch_idx` counts from the trial's first batch, over all its runs.
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> AnyLoader:
        """A determined.pytorch.DataLoader, or torch's own once the checks are disabled."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> AnyLoader:
        """The same for validation."""

    def build_callbacks(self) -> dict[str, PyTorchCallback]:
        """Names to callbacks; the names key their state in checkpoints."""
        return {}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        """Metrics of one validation batch. The parameter batch_idx may be left out."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Reducer | dict[str, Reducer]:
        """How the metrics of the batches are reduced: one reducer for all metrics, or one for each by name."""
        return Reducer.AVG

    def evaluate_full_dataset(self, data_loader: data.DataLoader[Any]) -> dict[str, Any]:
        """Metrics of the whole validation set. Called on the chief only."""
        raise NotImplementedError

    def get_batch_length(self, batch: Any) -> int:
        """The number of records in a batch."""
        return data_length(batch)


def overrides(trial: PyTorchTrial, method: str) -> bool:
    """Whether the trial's class has a `method` of its own."""
    return getattr(type(trial), method) is not getattr(PyTorchTrial, method)


__all__ = ["PyTorchTrial", "TorchData"]
