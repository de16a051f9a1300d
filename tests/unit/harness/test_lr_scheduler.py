"""When learning-rate schedulers are stepped, with and without gradient aggregation."""

from __future__ import annotations

from typing import Any

import pytest

from determined.pytorch import LRScheduler
from determined.pytorch._lr_scheduler import steps_due

Mode = LRScheduler.StepMode
BATCH, STEP, EPOCH = Mode.STEP_EVERY_BATCH, Mode.STEP_EVERY_OPTIMIZER_STEP, Mode.STEP_EVERY_EPOCH


@pytest.mark.parametrize(
    ("aggregation", "mode", "frequency", "after_batches"),
    [
        (1, BATCH, 1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (1, BATCH, 2, [1, 3, 5, 7, 9, 11]),
        (1, STEP, 2, [1, 3, 5, 7, 9, 11]),
        (1, EPOCH, 1, [3, 7, 11]),
        (1, EPOCH, 2, [7]),
        (1, Mode.MANUAL_STEP, 1, []),
        (2, BATCH, 1, [1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11]),
        (2, STEP, 1, [1, 3, 5, 7, 9, 11]),
        (2, EPOCH, 1, [3, 7, 11]),
        (3, BATCH, 2, [2, 5, 5, 8, 11, 11]),
        (3, STEP, 2, [5, 11]),
        (3, EPOCH, 1, [2, 5, 11]),
        (3, EPOCH, 2, [5]),
    ],
)
def test_over_three_epochs_of_four_batches_steps_fall_where_they_should(
    aggregation: int, mode: Any, frequency: int, after_batches: list[int]
) -> None:
    stepped = [
        batch_idx
        for batch_idx in range(12)
        for _ in range(steps_due(mode, frequency, batch_idx, aggregation, batches_per_epoch=4))
    ]
    assert stepped == after_batches


def test_a_loader_without_length_has_no_epochs_to_step_after() -> None:
    assert steps_due(EPOCH, 1, 3, 1, None) == 0
