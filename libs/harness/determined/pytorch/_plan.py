"""The checked arguments of one call of Trainer.fit, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from determined.pytorch._units import TrainUnit, is_due, total_batches


@dataclass(frozen=True)
class FitPlan:
    """What a call of Trainer.fit does. A period is None when nothing is done periodically."""

    max_length: TrainUnit
    reporting_period: TrainUnit
    validation_period: TrainUnit | None = None
    checkpoint_period: TrainUnit | None = None
    checkpoint_policy: str = "best"
    step_zero_validation: bool = False
    test_mode: bool = False

    def at_end(self, batches: int, batches_per_epoch: int | None) -> bool:
        total = total_batches(self.max_length, batches_per_epoch)
        return total is not None and batches >= total

    def stretch_ends(self, batches: int, batches_per_epoch: int | None) -> bool:
        """Whether anything is due after `batches`: training pauses there to do it."""
        periods = (self.validation_period, self.checkpoint_period, self.reporting_period)
        return (
            self.test_mode
            or self.at_end(batches, batches_per_epoch)
            or any(is_due(period, batches, batches_per_epoch) for period in periods)
        )


POLICIES = ("best", "all", "none")


def plan(
    *,
    max_length: TrainUnit | None,
    reporting_period: TrainUnit,
    validation_period: TrainUnit | None,
    checkpoint_period: TrainUnit | None,
    checkpoint_policy: str,
    step_zero_validation: bool,
    test_mode: bool,
    on_cluster: bool,
) -> FitPlan:
    """Checks the arguments. Raises ValueError or TypeError, naming the argument."""
    if max_length is None:
        raise ValueError("max_length: how long to train has to be said, for example pytorch.Batch(1000)")
    if not isinstance(max_length, TrainUnit) or not isinstance(max_length.value, int):
        raise TypeError(f"max_length: expected Batch or Epoch of a whole number, found {max_length!r}")
    for name, period in (
        ("validation_period", validation_period),
        ("checkpoint_period", checkpoint_period),
        ("reporting_period", reporting_period),
    ):
        if period is not None and not isinstance(period, TrainUnit):
            raise TypeError(f"{name}: expected Batch or Epoch, found {period!r}")
    if checkpoint_policy not in POLICIES:
        raise ValueError(f"checkpoint_policy: expected one of {', '.join(POLICIES)}, found {checkpoint_policy!r}")
    if test_mode and on_cluster:
        raise ValueError("test_mode: it is for trying a trial out off the cluster")
    # Off the cluster there is no experiment with a best validation to compare with.
    policy = "all" if checkpoint_policy == "best" and not on_cluster else checkpoint_policy
    return FitPlan(
        max_length=max_length,
        reporting_period=reporting_period,
        validation_period=validation_period,
        checkpoint_period=checkpoint_period,
        checkpoint_policy=policy,
        step_zero_validation=step_zero_validation,
        test_mode=test_mode,
    )
