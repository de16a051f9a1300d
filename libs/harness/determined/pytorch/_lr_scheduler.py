"""When a learning-rate scheduler is stepped."""

from __future__ import annotations

import enum
from typing import Any

import torch


class StepMode(enum.Enum):
    """After what a scheduler is stepped: epochs, batches, optimizer steps, or only by the trial itself."""

    STEP_EVERY_EPOCH = 1
    STEP_EVERY_BATCH = 2
    MANUAL_STEP = 3
    STEP_EVERY_OPTIMIZER_STEP = 4


_Mode = StepMode


class LRScheduler:
    """A scheduler and when it is stepped: every `frequency` times what the mode counts."""

    # Programs say LRScheduler.StepMode.
    StepMode = StepMode

    def __init__(self, scheduler: torch.optim.lr_scheduler.LRScheduler, step_mode: _Mode, frequency: int = 1) -> None:
        if scheduler is None:
            raise TypeError("scheduler: expected a torch learning-rate scheduler, found None")
        if not isinstance(step_mode, StepMode):
            raise TypeError(f"step_mode: expected an LRScheduler.StepMode, found {step_mode!r}")
        if frequency < 1:
            raise TypeError(f"frequency: expected at least 1, found {frequency}")
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> list[Any]:
        return list(self._scheduler.get_last_lr())

    def load_state_dict(self, state_dict: dict[Any, Any]) -> None:
        self._scheduler.load_state_dict(state_dict)

    def state_dict(self) -> dict[Any, Any]:
        return dict(self._scheduler.state_dict())

    def _step_after(self, batch_idx: int, aggregation_frequency: int, batches_per_epoch: int | None) -> None:
        for _ in range(
            steps_due(self._step_mode, self._frequency, batch_idx, aggregation_frequency, batches_per_epoch)
        ):
            self.step()


def steps_due(
    mode: StepMode, frequency: int, batch_idx: int, aggregation_frequency: int, batches_per_epoch: int | None
) -> int:
    """How many times to step after batch `batch_idx`.

    Schedulers move only where the optimizer does, at the end of each aggregation: what would have been due at
    the batches between is made up for there, and an epoch counts as over when no further optimizer step falls
    into it. STEP_EVERY_OPTIMIZER_STEP counts its frequency in batches.
    """
    done = batch_idx + 1
    if done % aggregation_frequency:
        return 0
    match mode:
        case StepMode.STEP_EVERY_BATCH:
            return done // frequency - (done - aggregation_frequency) // frequency
        case StepMode.STEP_EVERY_OPTIMIZER_STEP:
            return int(done % frequency == 0)
        case StepMode.STEP_EVERY_EPOCH if batches_per_epoch:
            epoch = batch_idx // batches_per_epoch
            epoch_of_next_step = (batch_idx + aggregation_frequency) // batches_per_epoch
            return epoch_of_next_step // frequency - epoch // frequency
    return 0
