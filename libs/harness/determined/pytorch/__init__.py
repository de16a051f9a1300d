"""Training with PyTorch: write a trial, and the platform runs the loop around it."""

from __future__ import annotations

from determined.pytorch import samplers as samplers
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader, TorchData, _Data, adapt_batch_sampler, data_length, to_device
from determined.pytorch._experimental_context import PyTorchExperimentalContext
from determined.pytorch._load import CheckpointLoadContext, load_trial_from_checkpoint_path
from determined.pytorch._lr_scheduler import LRScheduler
from determined.pytorch._reducers import MetricReducer, Reducer, _PyTorchReducerContext
from determined.pytorch._trainer import Trainer, init
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._units import Batch, Epoch, TrainUnit

__all__ = [
    "Batch",
    "CheckpointLoadContext",
    "DataLoader",
    "Epoch",
    "LRScheduler",
    "MetricReducer",
    "PyTorchCallback",
    "PyTorchExperimentalContext",
    "PyTorchTrial",
    "PyTorchTrialContext",
    "Reducer",
    "TorchData",
    "TrainUnit",
    "Trainer",
    "_Data",
    "_PyTorchReducerContext",
    "adapt_batch_sampler",
    "data_length",
    "init",
    "load_trial_from_checkpoint_path",
    "samplers",
    "to_device",
]
