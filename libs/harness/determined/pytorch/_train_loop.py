"""The training loop: trains to each target in stretches of batches, with validations, checkpoints and reports between.

A stretch ends when something is due: the end of training, a validation, a checkpoint, a report. Then its metrics are
reported and the due steps are done, in that order. After each of them the trial may be asked to stop. A checkpoint has
everything that a resumed run needs to continue exactly.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.utils import data

from determined._invalid_hp import InvalidHP
from determined._numbers import mean_of
from determined.pytorch import _save, _state, _validate
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._data import DataLoader, adapt_batch_sampler
from determined.pytorch._plan import FitPlan
from determined.pytorch._reducers import averages
from determined.pytorch._shares import ShareSampler
from determined.pytorch._state import TrialState
from determined.pytorch._targets import Target, worth
from determined.pytorch._trial import AnyLoader, PyTorchTrial, overrides
from determined.pytorch._units import is_due, progress
from determined.pytorch.samplers import NOTHING, RepeatBatchSampler

logger = logging.getLogger("determined.pytorch")


class TrainLoop:
    """Runs one trial to the end of its plan, or until it is asked to stop."""

    def __init__(
        self,
        trial: PyTorchTrial,
        context: PyTorchTrialContext,
        plan: FitPlan,
        targets: Iterator[Target],
        latest_checkpoint: str | None,
        is_trainer: bool,
    ) -> None:
        self._trial = trial
        self._context = context
        self._core = context._core
        self._plan = plan
        self._whole = plan.max_length
        self._targets = targets
        self._latest_checkpoint = latest_checkpoint
        self._is_trainer = is_trainer
        self._chief = context.distributed.rank == 0
        self._state = TrialState(trial_id=context.get_trial_id())
        self._callbacks: dict[str, PyTorchCallback] = {}
        self._preempted = False
        self._progress_at: int | None = None
        self._validated: dict[str, Any] | None = None
        """The metrics of this run's last validation."""

    def run(self) -> None:
        """Trains. Raises InvalidHP when the trial rejects its hyperparameters; the core context reports that."""
        self._callbacks = self._trial.build_callbacks()
        try:
            self._set_up()
            self._context._begin()
            self._each("on_training_start")
            try:
                self._train()
            except InvalidHP:
                if self._context.distributed.size == 1:  # storing needs all ranks, and others may not have raised it
                    self._checkpoint_unless_current()
                raise
        finally:
            self._each("on_trial_shutdown")

    # Beginning

    def _set_up(self) -> None:
        with contextlib.ExitStack() as stack:
            folder = None
            if self._latest_checkpoint is not None:
                folder = stack.enter_context(self._core.checkpoint.restore_path(self._latest_checkpoint))
            resumed = _state.load_progress(folder, self._state.trial_id) if folder else None
            self._state = resumed or self._state
            self._context._steps_completed = self._state.batches_trained
            for callback in self._callbacks.values():
                callback.on_trial_startup(self._state.batches_trained, self._latest_checkpoint)
            self._build_loaders()
            if folder is not None:
                self._restore(_state.load_state_file(folder, self._context.device), resumed is not None)

    def _build_loaders(self) -> None:
        """Called before the random states are restored: making the training iterator draws random numbers."""
        training = self._torch_loader(self._trial.build_training_data_loader(), repeat=True)
        self._validation_loader = self._torch_loader(self._trial.build_validation_data_loader())
        length = self._context.distributed.broadcast(_length(training))
        if length == 0:
            raise RuntimeError(NOTHING)
        self._context._batches_per_epoch = length
        self._batches = endless(training, self._state.batches_trained)

    def _torch_loader(self, loader: AnyLoader, repeat: bool = False) -> data.DataLoader[Any]:
        whole = not repeat and overrides(self._trial, "evaluate_full_dataset")
        if isinstance(loader, DataLoader):
            size, rank = self._context.distributed.size, self._context.distributed.rank
            if self._context._is_elastic():
                return self._elastic_loader(loader, size, rank, repeat=repeat, whole=whole)
            return loader.get_data_loader(
                repeat=repeat,
                skip=self._state.batches_trained if repeat else 0,
                num_replicas=1 if whole else size,
                rank=0 if whole else rank,
            )
        if not self._context.experimental._data_checks_disabled:
            raise RuntimeError(
                "a torch DataLoader cannot be sharded and resumed by the platform: return a "
                "determined.pytorch.DataLoader; or you can disable this check by calling "
                "context.experimental.disable_dataset_reproducibility_checks()"
            )
        return loader

    def _elastic_loader(
        self, loader: DataLoader, size: int, rank: int, *, repeat: bool, whole: bool
    ) -> data.DataLoader[Any]:
        shares = self._context._shares()
        if repeat:
            return loader._dealt_out(shares, rank, self._state.batches_trained)
        if whole:
            return loader.get_data_loader()
        # Decided by all ranks together: a fixed batch size may by chance be the share of some ranks, and all ranks have
        # to cut the same batches.
        of_share = all(self._context.distributed.allgather(loader._is_of_share(shares, rank)))
        batches = loader._of_one_size(shares) if of_share else loader.batch_sampler
        return loader._loader(adapt_batch_sampler(batches, num_replicas=size, rank=rank))

    def _restore(self, saved: dict[str, Any], same_trial: bool) -> None:
        self._each("on_checkpoint_load_start", saved)
        _state.restore(self._context, saved, same_trial=same_trial)
        for name, callback in self._callbacks.items():
            if saved.get("callbacks", {}).get(name):
                callback.load_state_dict(saved["callbacks"][name])
        logger.info("resuming after batch %s of the trial", self._state.batches_trained)

    # The loop

    def _train(self) -> None:
        if self._context.profiler is not None:
            self._context.profiler.start()
        try:
            if self._plan.step_zero_validation and self._nothing_validated():
                self._validate()
            while (target := next(self._targets, None)) is not None:
                if self._train_to(target):
                    break
        finally:
            if self._context.profiler is not None:
                self._context.profiler.stop()
        if self._preempted:
            self._core.preempt.acknowledge_preemption_signal()

    def _train_to(self, target: Target) -> bool:
        """Trains to the target, validates, and stores a checkpoint. Returns whether the trial was asked to stop before
        the target."""
        self._plan, self._whole = replace(self._plan, max_length=target.length), target.whole
        stopped = self._train_until_stopped()
        if not stopped and not self._validated_here(target):
            self._validate()
        self._checkpoint_unless_current()
        if not stopped and target.reached is not None and self._chief:
            searcher = self._context.get_experiment_config().get("searcher") or {}
            target.reached(worth(self._validated or {}, searcher))
        return stopped

    def _validated_here(self, target: Target) -> bool:
        """Whether the trial has validated at this batch. If the search needs the metric, only a validation of this run
        counts: an earlier run may have been cut off before it reported its metric."""
        here = self._state.last_val == self._state.batches_trained
        return here and (target.reached is None or self._validated is not None)

    def _nothing_validated(self) -> bool:
        if self._state.batches_trained or self._state.last_val:
            return False
        if not self._context._on_cluster() or self._core._session is None:
            return True
        # Only the chief asks, for all ranks: with a report in between, ranks could get different answers.
        trial = self._core._session.get(f"/api/v1/trials/{self._state.trial_id}")["trial"] if self._chief else {}
        return not self._context.distributed.broadcast(trial.get("latestValidation"))

    def _train_until_stopped(self) -> bool:
        """Trains to the end of the plan. Returns whether the trial was asked to stop before that."""
        while not self._at_end():
            self._stretch()
            if self._plan.test_mode:
                self._report_progress()
                self._asked_to_stop()
                return False
            if self._do_what_is_due():
                return True
        return False

    def _at_end(self) -> bool:
        return self._plan.at_end(self._state.batches_trained, self._context._batches_per_epoch)

    def _do_what_is_due(self) -> bool:
        """Does the due steps in order. Returns True as soon as the trial is asked to stop."""
        batches, per_epoch = self._state.batches_trained, self._context._batches_per_epoch
        if self._at_end():
            self._report_progress()
            if self._asked_to_stop():
                return True
        if is_due(self._plan.validation_period, batches, per_epoch):
            self._validate()
            if self._asked_to_stop():
                return True
        if is_due(self._plan.checkpoint_period, batches, per_epoch):
            self._checkpoint_unless_current()
            if self._asked_to_stop():
                return True
        if is_due(self._plan.reporting_period, batches, per_epoch):
            self._report_progress()
            return self._asked_to_stop()
        return False

    def _asked_to_stop(self) -> bool:
        if self._core._tensorboard_manager is not None:
            self._core._tensorboard_manager.nudge()
        # Acknowledged only when a checkpoint is stored: a trial that fails before that has failed, and was not
        # preempted.
        self._preempted = self._core.preempt.should_preempt(auto_ack=False)
        by_trial = any(self._context.distributed.allgather(self._context.get_stop_requested()))
        return self._preempted or by_trial

    def _report_progress(self) -> None:
        if self._chief and self._progress_at != self._state.batches_trained:
            self._progress_at = self._state.batches_trained
            done = progress(self._whole, self._state.batches_trained, self._context._batches_per_epoch)
            self._core.train.report_progress(done)

    # Training

    def _stretch(self) -> None:
        self._set_status("training")
        self._context.reset_reducers()
        for model in self._context.models:
            model.train()
        per_batch: list[dict[str, Any]] = []
        weights: list[int] = []
        while True:
            metrics, weight = self._train_batch()
            per_batch.append(metrics)
            weights.append(weight)
            if self._plan.stretch_ends(self._state.batches_trained, self._context._batches_per_epoch):
                break
        self._state.step_id += 1
        self._report_stretch([_validate.to_numbers(metrics) for metrics in per_batch], weights)

    def _train_batch(self) -> tuple[dict[str, Any], int]:
        """Trains on the next batch. Returns its metrics, and their weight in an average."""
        batch_idx = self._state.batches_trained
        context = self._context
        context._current_batch_idx = batch_idx
        epoch_idx = context.current_train_epoch()
        if context.is_epoch_start():
            self._epoch_started(epoch_idx)
        batch = next(self._batches)
        if context.experimental._auto_to_device:
            batch = context.to_device(batch)
        weight = _validate.weight(self._trial, batch)
        with context._batch():
            metrics = self._trial.train_batch(batch=batch, epoch_idx=epoch_idx, batch_idx=batch_idx)
        context._after_batch(batch_idx)
        self._state.batches_trained += 1
        if context.is_epoch_end():
            self._state.epochs_trained = epoch_idx + 1
            self._each("on_training_epoch_end", epoch_idx)
        return _metrics_of(metrics), weight

    def _epoch_started(self, epoch_idx: int) -> None:
        for callback in self._callbacks.values():
            if inspect.signature(callback.on_training_epoch_start).parameters:
                callback.on_training_epoch_start(epoch_idx)
            else:
                callback.on_training_epoch_start()  # type: ignore[call-arg]

    def _report_stretch(self, per_batch: list[dict[str, Any]], weights: list[int]) -> None:
        metrics = self._averages(per_batch, weights)
        metrics.update(self._context.reduce_metrics(for_training=True))
        reported = self._with_counts(metrics)
        if self._chief:
            self._core.train.report_training_metrics(steps_completed=self._state.batches_trained, metrics=reported)
        for callback in self._callbacks.values():
            callback.on_training_workload_end(avg_metrics=reported, batch_metrics=per_batch)  # type: ignore[arg-type]

    def _averages(self, per_batch: list[dict[str, Any]], weights: list[int]) -> dict[str, Any]:
        """The means over all batches of all ranks, weighted by their numbers of records."""
        numbers = [numbers_of(metrics) for metrics in per_batch]
        ranks = self._context.distributed.allgather(list(zip(numbers, weights, strict=True)))
        return averages([batch for batches in ranks for batch in batches])

    def _with_counts(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """With the batches and the epochs that were completed, unless the trial reports metrics of these names."""
        batches, per_epoch = self._state.batches_trained, self._context._batches_per_epoch
        return {"batches": batches, "epochs": batches // per_epoch if per_epoch else 0, **metrics}

    # Validation and checkpoints

    def _validate(self) -> None:
        self._set_status("validating")
        metrics = _validate.validate(
            self._trial,
            self._context,
            self._validation_loader,
            list(self._callbacks.values()),
            test_mode=self._plan.test_mode,
        )
        best = self._core.train.get_experiment_best_validation() if self._chief else None
        if self._chief:
            self._core.train.report_validation_metrics(
                steps_completed=self._state.batches_trained, metrics=self._with_counts(metrics)
            )
            logger.info("validated after batch %s: %s", self._state.batches_trained, in_words(metrics))
        self._state.last_val = self._state.batches_trained
        self._validated = metrics
        worth_keeping = self._is_worth_keeping(metrics, best) if self._chief else False
        # A checkpoint before any training would be the same as a fresh start.
        if self._context.distributed.broadcast(worth_keeping) and self._state.batches_trained:
            self._checkpoint_unless_current()

    def _is_worth_keeping(self, metrics: dict[str, Any], best: float | None) -> bool:
        if self._plan.test_mode or self._plan.checkpoint_policy == "none":
            return False
        return self._plan.checkpoint_policy == "all" or is_better(
            metrics, best, self._context.get_experiment_config().get("searcher") or {}
        )

    def _checkpoint_unless_current(self) -> None:
        if self._state.last_ckpt != self._state.batches_trained:
            self._set_status("checkpointing")
            self._state.last_ckpt = self._state.batches_trained
            _save.save(self._trial, self._context, self._callbacks, self._state, self._is_trainer)

    def _set_status(self, status: str) -> None:
        if self._chief:
            self._core.train.set_status(status)

    def _each(self, hook: str, *arguments: Any) -> None:
        for callback in self._callbacks.values():
            getattr(callback, hook)(*arguments)


def _length(loader: data.DataLoader[Any]) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None


def endless(loader: data.DataLoader[Any], skip: int) -> Iterator[Any]:
    """Batches without end. A loader of this library repeats and skips by itself; torch's own is iterated repeatedly."""
    sampler: Any = loader.batch_sampler
    while hasattr(sampler, "batch_sampler") and not isinstance(sampler, RepeatBatchSampler):
        sampler = sampler.batch_sampler
    if isinstance(sampler, RepeatBatchSampler | ShareSampler):
        return iter(loader)
    length = _length(loader)
    return _rounds(loader, skip % length if length else 0)


def _rounds(loader: data.DataLoader[Any], skip: int) -> Iterator[Any]:
    while True:
        empty = True
        for position, batch in enumerate(loader):
            empty = False
            if position >= skip:
                yield batch
        if empty:
            raise RuntimeError(NOTHING)
        skip = 0


def _metrics_of(returned: Any) -> dict[str, Any]:
    if isinstance(returned, torch.Tensor):
        return {"loss": returned.detach()}
    if not isinstance(returned, dict):
        raise TypeError(f"train_batch should return a dict of metrics or a tensor, found {type(returned).__name__}")
    return {name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in returned.items()}


def in_words(metrics: dict[str, Any]) -> str:
    """The numbers among metrics, short, for the log."""
    return ", ".join(f"{name} {number:.4g}" for name, number in numbers_of(metrics).items())


def numbers_of(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The metrics that are numbers; for an array or a tensor the mean of its elements."""
    means = {name: mean_of(value) for name, value in metrics.items()}
    return {name: mean for name, mean in means.items() if mean is not None}


def is_better(metrics: dict[str, Any], best: float | None, searcher: dict[str, Any]) -> bool:
    """Whether the searcher's metric beats the experiment's best so far. NaN and infinities beat nothing.

    Raises when the metric was not reported.
    """
    value = worth(metrics, searcher)
    if not math.isfinite(value):
        return False
    if best is None:
        return True
    return value < best if searcher.get("smaller_is_better", True) else value > best
