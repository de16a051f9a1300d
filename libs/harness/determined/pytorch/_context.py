"""The context of a PyTorch trial: wraps models and optimizers, has hyperparameters and batch sizes."""

from __future__ import annotations

import contextlib
import logging
import pathlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from determined import core, errors
from determined.pytorch import _backend, _data, _shares
from determined.pytorch._experimental_context import PyTorchExperimentalContext
from determined.pytorch._lr_scheduler import LRScheduler, StepMode
from determined.pytorch._reducers import _PyTorchReducerContext

logger = logging.getLogger("determined.pytorch")

Refused = errors.InvalidExperimentException


class PyTorchTrialContext(_PyTorchReducerContext):
    """Given to the trial's constructor; wrap a model first, then its optimizers, then their schedulers."""

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: int | None,
        hparams: dict[str, Any] | None,
        slots_per_trial: int,
        num_gpus: int,
        exp_conf: dict[str, Any] | None,
        aggregation_frequency: int,
        steps_completed: int,
        managed_training: bool,
        debug_enabled: bool,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        if aggregation_frequency < 1:
            raise Refused(f"optimizations.aggregation_frequency: expected at least 1, found {aggregation_frequency}")
        super().__init__(core_context.distributed.allgather)
        self._core = core_context
        self.distributed = core_context.distributed
        self._trial_seed = trial_seed
        self._hparams = hparams
        self._slots_per_trial = slots_per_trial
        self._exp_conf = exp_conf
        self._aggregation_frequency = aggregation_frequency
        self._steps_completed = steps_completed
        self._managed_training = managed_training
        self._debug_enabled = debug_enabled
        self._enable_tensorboard_logging = enable_tensorboard_logging
        self.device = self._choose_device(num_gpus)
        self._backend = _backend.join(self.distributed)
        self.models: list[torch.nn.Module] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.lr_schedulers: list[LRScheduler] = []
        self.profiler: Any = None
        self.experimental = PyTorchExperimentalContext(self)
        self._scaler: Any = None
        self._optimizations: dict[str, Any] = (exp_conf or {}).get("optimizations") or {}
        self._average_gradients: dict[int, bool] = {}
        self._passes_a_batch: dict[int, int] = {}
        self._stop_requested = False
        self._current_batch_idx: int | None = None
        self._batches_per_epoch: int | None = None
        self._tensorboard_writer: Any = None
        self._warned_types: set[type] = set()

    def _choose_device(self, num_gpus: int) -> torch.device:
        if num_gpus > 0 and torch.cuda.is_available():
            torch.cuda.set_device(self.distributed.local_rank)
            return torch.device("cuda", self.distributed.local_rank)
        return torch.device("cpu")

    # Hyperparameters and configuration

    def get_experiment_config(self) -> dict[str, Any]:
        if self._exp_conf is None:
            raise ValueError("there is no experiment configuration; pass exp_conf to pytorch.init()")
        return self._exp_conf

    def get_hparams(self) -> dict[str, Any]:
        if self._hparams is None:
            raise ValueError("there are no hyperparameters; pass hparams to pytorch.init()")
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """One hyperparameter; ValueError when there is none of this name."""
        hparams = self.get_hparams()
        if name not in hparams:
            raise ValueError(f"there is no hyperparameter {name!r}; there are: {', '.join(sorted(hparams))}")
        return hparams[name]

    def get_data_config(self) -> dict[str, Any]:
        """The free `data` section of the configuration."""
        return dict(self.get_experiment_config().get("data") or {})

    def get_global_batch_size(self) -> int:
        """Records of a batch over all slots: what the slots share evenly of the hyperparameter, or all of it where
        resources.slots_per_trial is a range."""
        return sum(self._shares())

    def get_per_slot_batch_size(self) -> int:
        """The hyperparameter global_batch_size divided by the slots, rounded down. Where resources.slots_per_trial is a
        range, which keeps the whole batch, some slots take one record more."""
        return self._shares()[self.distributed.rank]

    def _shares(self) -> list[int]:
        size = self._global_batch_size()
        if not self._is_elastic():
            size -= size % self._slots_per_trial
        return _shares.shares(size, self._slots_per_trial)

    def _is_elastic(self) -> bool:
        """Whether the trial may come back on another number of slots."""
        return _shares.is_elastic(self._exp_conf)

    def _weight(self) -> float:
        """The weight of this slot's gradients in the mean over all slots: proportional to its records, 1 for an even
        share."""
        if not self._is_elastic():
            return 1.0
        shares = self._shares()
        return shares[self.distributed.rank] * len(shares) / sum(shares)

    def _global_batch_size(self) -> int:
        if self._hparams is None:
            raise ValueError("there are no hyperparameters; pass hparams with global_batch_size")
        size = self._hparams.get("global_batch_size")
        if size is None:
            raise Refused("global_batch_size is a required hyperparameter of a trial class")
        if isinstance(size, bool) or not isinstance(size, int):
            raise Refused(f"hyperparameters.global_batch_size must be an integer value, found {size!r}")
        if size < self._slots_per_trial:
            raise Refused(
                f"hyperparameters.global_batch_size has to be greater or equal to the number of slots "
                f"({self._slots_per_trial}), found {size}"
            )
        return size

    def get_experiment_id(self) -> int:
        return self._core.info.trial.experiment_id if self._on_cluster() and self._core.info else 1

    def get_trial_id(self) -> int:
        return self._core.info.trial.trial_id if self._on_cluster() and self._core.info else 1

    def get_trial_seed(self) -> int:
        """The seed of the trial. Raises InternalException off the cluster."""
        if self._trial_seed is None:
            raise errors.InternalException("the trial seed is known on a cluster only")
        return self._trial_seed

    def get_initial_batch(self) -> int:
        """The first batch of this run: 0 in a fresh one."""
        return self._steps_completed

    def _on_cluster(self) -> bool:
        return self._core.info is not None and self._core.info.task_type == "TRIAL"

    # Stopping, TensorBoard, profiler

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Stop at the next point where a report, a validation or a checkpoint is due, with a checkpoint and without a
        validation."""
        assert isinstance(stop_requested, bool), f"stop_requested: expected a bool, found {stop_requested!r}"
        self._stop_requested = stop_requested

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        assert isinstance(enable_tensorboard_logging, bool), "enable_tensorboard_logging: expected a bool"
        self._enable_tensorboard_logging = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        return self._enable_tensorboard_logging

    def get_tensorboard_path(self) -> pathlib.Path:
        return self._core.train.get_tensorboard_path()

    def get_tensorboard_writer(self) -> Any:
        """torch's SummaryWriter on the folder that is kept for TensorBoard. Needs the tensorboard package."""
        if self._tensorboard_writer is None:
            from torch.utils.tensorboard.writer import SummaryWriter

            make: Any = SummaryWriter
            self._tensorboard_writer = make(log_dir=str(self.get_tensorboard_path()))
        return self._tensorboard_writer

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """Arguments for torch.profiler.profile, which is stepped after each batch."""
        handler = torch.profiler.tensorboard_trace_handler(str(self.get_tensorboard_path()))
        self.profiler = torch.profiler.profile(*args, on_trace_ready=handler, **kwargs)

    # Wrapping

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """Move a model to the device, synchronize its training with the other slots, and include it in checkpoints.

        A model has to be wrapped before its own optimizers, but not before those of other models: a generator with its
        optimizer may be wrapped before a discriminator with its optimizer.
        """
        if self._is_optimized(model):
            raise Refused(
                "a model must be wrapped before its optimizers: call wrap_model() before wrap_optimizer(), and give "
                "the optimizer the parameters of the model that wrap_model() returned"
            )
        model = model.to(self.device)
        if self.experimental._auto_amp:
            model = self.autocast_forward_pass(model)
        compress = bool(self._optimizations.get("gradient_compression", False))
        model = self._backend.wrap_model(model, self.device, compress=compress)
        self.models.append(model)
        return model

    def _is_optimized(self, model: torch.nn.Module) -> bool:
        optimized = {id(parameter) for optimizer in self.optimizers for parameter in _parameters(optimizer)}
        return any(id(parameter) in optimized for parameter in model.parameters())

    def autocast_forward_pass(self, to_wrap: torch.nn.Module) -> torch.nn.Module:
        """Run the forward pass in mixed precision; returns the same model."""
        enabled = torch.cuda.is_available()
        to_wrap.forward = torch.autocast("cuda", enabled=enabled)(to_wrap.forward)
        return to_wrap

    def wrap_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: bool | None = None,
        average_aggregated_gradients: bool | None = None,
    ) -> torch.optim.Optimizer:
        """Register an optimizer; use the one returned, and step it with step_optimizer().

        `backward_passes_per_step` (how many times a batch calls backward() for this optimizer) and `fp16_compression`
        are used with Horovod only.
        """
        if not self.models:
            raise Refused("models must be wrapped before optimizers: call wrap_model() first")
        if backward_passes_per_step < 1:
            raise Refused(f"backward_passes_per_step: expected at least 1, found {backward_passes_per_step}")
        compress, average = fp16_compression, average_aggregated_gradients
        if compress is None:
            compress = bool(self._optimizations.get("gradient_compression", False))
        if average is None:
            average = bool(self._optimizations.get("average_aggregated_gradients", True))
        passes = backward_passes_per_step * self._aggregation_frequency
        optimizer = self._backend.wrap_optimizer(optimizer, self._named(optimizer), passes, compress=compress)
        self._passes_a_batch[id(optimizer)] = backward_passes_per_step
        self._average_gradients[id(optimizer)] = average
        self.optimizers.append(optimizer)
        return optimizer

    def _named(self, optimizer: torch.optim.Optimizer) -> list[tuple[str, torch.Tensor]]:
        """The optimizer's parameters, with unique names that are the same on every rank."""
        known = {
            id(parameter): f"{position}.{name}"
            for position, model in enumerate(self.models)
            for name, parameter in model.named_parameters()
        }
        place = len(self.optimizers)
        return [
            (f"optimizer{place}.{position}.{known.get(id(parameter), '')}", parameter)
            for position, parameter in enumerate(_parameters(optimizer))
        ]

    def wrap_lr_scheduler(
        self,
        lr_scheduler: torch.optim.lr_scheduler.LRScheduler,
        step_mode: StepMode,
        frequency: int = 1,
    ) -> torch.optim.lr_scheduler.LRScheduler:
        """Register a scheduler, and set when it is stepped. Returns the same scheduler."""
        needs_metric = isinstance(lr_scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
        if needs_metric and step_mode is not LRScheduler.StepMode.MANUAL_STEP:
            raise Refused("ReduceLROnPlateau needs a metric, so it can only be stepped with MANUAL_STEP")
        if all(lr_scheduler.optimizer is not known for known in self.optimizers):
            raise Refused("a scheduler's optimizer must be a wrapped one: call wrap_optimizer() on it first")
        self.lr_schedulers.append(LRScheduler(lr_scheduler, step_mode, frequency))
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Register a gradient scaler, before models are wrapped, once. Calling its update() is up to you."""
        if self.models:
            raise Refused("a gradient scaler must be wrapped before models")
        if self._scaler is not None:
            raise Refused("there is a gradient scaler already; one is all a trial can have")
        self._scaler = scaler
        return scaler

    def configure_apex_amp(self, models: Any, optimizers: Any, **kwargs: Any) -> tuple[Any, Any]:
        raise Refused(
            "NVIDIA Apex is not supported: torch does the same by itself; call context.experimental.use_amp() before "
            "wrapping models instead of configure_apex_amp()"
        )

    def to_device(self, data: _data._Data) -> _data.TorchData:
        """Move a nested batch to this slot's device."""
        return _data.to_device(data, self.device, self._warned_types)

    # Training one batch

    def backward(
        self,
        loss: torch.Tensor,
        gradient: torch.Tensor | None = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Call this in place of loss.backward()."""
        if (weight := self._weight()) != 1:
            loss = loss * weight
        if self._scaler is not None:
            loss = self._scaler.scale(loss)
        torch.autograd.backward(loss, gradient, retain_graph, create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Callable[[Iterator[torch.Tensor]], None] | None = None,
        auto_zero_grads: bool = True,
        scaler: Any | None = None,
    ) -> None:
        """Call this in place of optimizer.step(): averages and clips the gradients, steps, and zeroes the gradients.

        Has no effect on batches whose gradients are only accumulated (aggregation_frequency).
        """
        if self._aggregation_frequency > 1 and not auto_zero_grads:
            raise Refused("with aggregation_frequency above 1, step_optimizer() needs auto_zero_grads=True")
        if not self._updates_now():
            return
        scaler = scaler or self._scaler
        averages = self._aggregation_frequency > 1 and self._average_gradients.get(id(optimizer), True)
        self._backend.bring_together(optimizer)
        if scaler is not None and (averages or clip_grads is not None):
            scaler.unscale_(optimizer)
        if averages:
            self._average(optimizer)
        if clip_grads is not None:
            clip_grads(_parameters(optimizer))
        with self._backend.stepping(optimizer):
            if scaler is not None:
                scaler.step(optimizer)
            else:
                optimizer.step()
        if auto_zero_grads:
            optimizer.zero_grad()

    def _batch(self) -> AbstractContextManager[Any]:
        """Encloses train_batch."""
        return contextlib.nullcontext() if self._updates_now() else self._backend.adding_up(self.models)

    def _begin(self) -> None:
        """Called once before training, after a checkpoint was restored."""
        self._backend.begin(self.models, self.optimizers)
        missing = -self._steps_completed % self._aggregation_frequency
        for optimizer in self.optimizers:
            batches = missing or self._aggregation_frequency
            self._backend.expect(optimizer, self._passes_a_batch[id(optimizer)] * batches)

    def _updates_now(self) -> bool:
        done = (self._current_batch_idx or 0) + 1
        return done % self._aggregation_frequency == 0

    def _average(self, optimizer: torch.optim.Optimizer) -> None:
        for parameter in _parameters(optimizer):
            if parameter.grad is not None:
                parameter.grad.div_(self._aggregation_frequency)

    def _after_batch(self, batch_idx: int) -> None:
        if self.experimental._auto_amp and self._updates_now():
            self._scaler.update()
        for scheduler in self.lr_schedulers:
            scheduler._step_after(batch_idx, self._aggregation_frequency, self._batches_per_epoch)
        if self.profiler is not None:
            self.profiler.step()

    # Where training is

    def is_epoch_start(self) -> bool:
        """Whether this is the first batch of an epoch. Only while training."""
        batch_idx = self.current_train_batch()
        return batch_idx % self._batches_per_epoch == 0 if self._batches_per_epoch else batch_idx == 0

    def is_epoch_end(self) -> bool:
        """Whether this is the last batch of an epoch. Only while training."""
        batch_idx = self.current_train_batch()
        return bool(self._batches_per_epoch) and (batch_idx + 1) % (self._batches_per_epoch or 1) == 0

    def current_train_epoch(self) -> int:
        batch_idx = self.current_train_batch()
        return batch_idx // self._batches_per_epoch if self._batches_per_epoch else 0

    def current_train_batch(self) -> int:
        if self._current_batch_idx is None:
            raise errors.InternalException("training has not begun, so there is no current batch")
        return self._current_batch_idx


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]
