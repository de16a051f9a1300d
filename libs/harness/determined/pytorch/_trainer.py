"""The two calls of a training script: `init` makes the context, `Trainer.fit` trains."""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from determined import core
from determined._info import ClusterInfo, get_cluster_info
from determined.pytorch import _backend, _from_config
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._plan import plan
from determined.pytorch._targets import Target, of_search, own, up_to
from determined.pytorch._train_loop import TrainLoop
from determined.pytorch._trial import PyTorchTrial, overrides
from determined.pytorch._units import Batch, Epoch, TrainUnit

logger = logging.getLogger("determined.pytorch")


class Trainer:
    """The training loop over a PyTorchTrial."""

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        self._trial = trial
        self._context = context
        self._is_trainer = True

    def configure_profiler(
        self,
        sync_timings: bool = True,
        enabled: bool = False,
        begin_on_batch: int = 0,
        end_after_batch: int | None = None,
    ) -> None:
        """Kept for older scripts; see Trainer.fit(profiling_enabled=...)."""
        logger.warning("configure_profiler does nothing; pass profiling_enabled to Trainer.fit()")

    def fit(
        self,
        checkpoint_period: TrainUnit | None = None,
        validation_period: TrainUnit | None = None,
        max_length: TrainUnit | None = None,
        reporting_period: TrainUnit = Batch(100),  # noqa: B008
        checkpoint_policy: str = "best",
        latest_checkpoint: str | None = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Train to `max_length` in all, earlier runs of this trial included. In a search, a trial may be stopped before
        that: the search reads the progress from each validation, and stops poor trials. Without `max_length`, the trial
        trains to the targets that the search sets.

        Validates and stores a checkpoint at the end, and after each given period. `checkpoint_policy` says after which
        validations a checkpoint is stored: "best", "all" or "none". `latest_checkpoint`: the one to resume from.
        """
        context = self._context
        config = context.get_experiment_config() if context._on_cluster() else {}
        asked = max_length
        if context._on_cluster():
            if asked is None and self._is_trainer and context.distributed.rank == 0:
                logger.warning(
                    "Trainer.fit() without max_length trains as long as searcher.max_length says, which is deprecated: "
                    "give fit(max_length=...)"
                )
            max_length = _from_config.checked(max_length, config, context)
        agreed = plan(
            max_length=max_length,
            reporting_period=reporting_period,
            validation_period=validation_period,
            checkpoint_period=checkpoint_period,
            checkpoint_policy=checkpoint_policy,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            on_cluster=context._on_cluster(),
        )
        self._check_model()
        if profiling_enabled:
            context._core.profiler.on()
        targets = self._targets(config, asked if self._is_trainer else None, agreed.max_length)
        TrainLoop(self._trial, context, agreed, targets, latest_checkpoint, self._is_trainer).run()

    def _targets(self, config: Mapping[str, Any], asked: TrainUnit | None, whole: TrainUnit) -> Iterator[Target]:
        """The targets of the search, if it sets lengths; otherwise the whole length. With a `max_length` of the script
        (`asked`) the search's targets are needed only if it counts epochs and cannot compute them from the batches that
        validations report."""
        unit = _from_config.search_unit(config)
        follows_from_batches = unit != "epochs" or config.get("records_per_epoch")
        if unit is None or (asked is not None and (follows_from_batches or not isinstance(asked, Epoch))):
            return own(whole)
        of_unit = partial(_from_config.target, unit, config, self._context)
        goes_far = None if _from_config.is_custom(config) else whole
        return up_to(asked, of_search(self._context._core.searcher, of_unit, goes_far))

    def _check_model(self) -> None:
        from determined.errors import InvalidExperimentException

        if not self._context.models or not self._context.optimizers:
            raise InvalidExperimentException(
                "a trial needs at least one model and one optimizer: call context.wrap_model() and "
                "context.wrap_optimizer() in its constructor"
            )
        both = [overrides(self._trial, name) for name in ("evaluate_batch", "evaluate_full_dataset")]
        if sum(both) != 1:
            raise InvalidExperimentException(
                "override exactly one of evaluate_batch and evaluate_full_dataset in your trial"
            )


@contextlib.contextmanager
def init(
    *,
    hparams: dict[str, Any] | None = None,
    exp_conf: dict[str, Any] | None = None,
    distributed: core.DistributedContext | None = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """The context for a trial; build the trial and train inside the block.

    In a trial on a cluster, hyperparameters and configuration are those of the trial unless they are given. If a
    launcher started this process as one of several, the ranks are read from its environment unless `distributed` is
    given, and their process group is started. Seeds all random generators before the block begins.

    Raises ValueError for a trial of several slots that no launcher started.
    """
    info = get_cluster_info()
    trial = info.trial if info is not None and info.task_type == "TRIAL" else None
    slots = sum(info.container_slot_counts) if info is not None and trial is not None else 1
    distributed = distributed or _backend.from_environment()
    if slots > 1 and distributed is None:
        raise ValueError(
            f"this trial has {slots} slots: start it with a launcher, for example python3 -m "
            "determined.launch.torch_distributed train.py, which starts one process for each slot"
        )
    with core.init(distributed=distributed) as core_context:
        yield context_around(
            core_context,
            hparams=hparams,
            exp_conf=exp_conf,
            aggregation_frequency=aggregation_frequency,
            enable_tensorboard_logging=enable_tensorboard_logging,
        )


def context_around(
    core_context: core.Context,
    *,
    hparams: dict[str, Any] | None = None,
    exp_conf: dict[str, Any] | None = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> PyTorchTrialContext:
    """The context of a trial with the given core context. Seeds all random generators."""
    info = core_context.info
    trial = info.trial if info is not None and info.task_type == "TRIAL" else None
    if trial is not None:
        hparams = trial.hparams if hparams is None else hparams
        exp_conf = trial._config if exp_conf is None else exp_conf
    _seed(_seed_of(info, exp_conf, core_context.distributed))
    return PyTorchTrialContext(
        core_context=core_context,
        trial_seed=trial.trial_seed if trial else None,
        hparams=hparams,
        slots_per_trial=core_context.distributed.size,
        num_gpus=torch.cuda.device_count(),
        exp_conf=exp_conf,
        aggregation_frequency=aggregation_frequency,
        steps_completed=trial._steps_completed if trial else 0,
        managed_training=trial is not None,
        debug_enabled=trial._debug if trial else False,
        enable_tensorboard_logging=enable_tensorboard_logging,
    )


def _seed_of(info: ClusterInfo | None, exp_conf: dict[str, Any] | None, distributed: core.DistributedContext) -> int:
    """The seed of the trial; off the cluster that of the configuration, or a random one that all ranks share."""
    if info is not None and info.task_type == "TRIAL":
        return info.trial.trial_seed
    configured = ((exp_conf or {}).get("reproducibility") or {}).get("experiment_seed")
    return int(distributed.broadcast(random.getrandbits(31) if configured is None else configured))


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    torch.manual_seed(seed)
