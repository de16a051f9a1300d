"""Lengths and periods of training: how many, of what."""

from __future__ import annotations

from collections.abc import Container


class TrainUnit:
    """A number of batches or epochs. A container of numbers is a schedule: something is due at each of its numbers."""

    def __init__(self, value: int | Container[int]) -> None:
        if isinstance(value, bool) or not isinstance(value, int | Container):
            raise TypeError(f"{type(self).__name__}: expected a whole number or a container of them, found {value!r}")
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def should_stop(self, step_num: int) -> bool:
        """Whether this is due when `step_num` units are complete. A period below 1 is always due."""
        if isinstance(self.value, int):
            return self.value < 1 or step_num % self.value == 0
        return step_num in self.value


class Batch(TrainUnit):
    """Counted in batches."""


class Epoch(TrainUnit):
    """Counted in epochs: passes through the chief's training loader."""


def is_due(unit: TrainUnit | None, batches: int, batches_per_epoch: int | None) -> bool:
    """Whether `unit` is due after `batches` batches; epochs are only due where one ends."""
    if unit is None:
        return False
    if isinstance(unit, Epoch):
        if not batches_per_epoch or batches % batches_per_epoch:
            return False
        return unit.should_stop(batches // batches_per_epoch)
    return unit.should_stop(batches)


def total_batches(length: TrainUnit, batches_per_epoch: int | None) -> int | None:
    """The number of batches that `length` comes to; None for epochs of a loader without length."""
    assert isinstance(length.value, int)
    if isinstance(length, Epoch):
        return length.value * batches_per_epoch if batches_per_epoch else None
    return length.value


def progress(length: TrainUnit, batches: int, batches_per_epoch: int | None) -> float:
    """The fraction of `length` that is complete, from 0 to 1; an epoch counts when it is over."""
    assert isinstance(length.value, int)
    done = batches
    if isinstance(length, Epoch):
        done = batches // batches_per_epoch if batches_per_epoch else 0
    return min(1.0, done / length.value) if length.value > 0 else 1.0
