"""How long to train and when to validate, as the configuration of a legacy entrypoint says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from determined import errors
from determined.pytorch._units import Batch, Epoch, TrainUnit

if TYPE_CHECKING:
    from determined.pytorch._context import PyTorchTrialContext


def fit_arguments(config: Mapping[str, Any], context: PyTorchTrialContext) -> dict[str, Any]:
    """Arguments for Trainer.fit. Raises InvalidExperimentException naming the field."""
    batch_size = context.get_global_batch_size()
    records_per_epoch = config.get("records_per_epoch") or None
    searcher: Mapping[str, Any] = config.get("searcher") or {}
    max_length = _unit("searcher.max_length", searcher.get("max_length"), batch_size, records_per_epoch)
    if max_length is None:
        raise errors.InvalidExperimentException(
            "searcher.max_length: a trial class needs it, for example {batches: 1000}; or use "
            "pytorch.Trainer.fit(max_length=...) in a script of your own"
        )
    periods = {
        name: _unit(f"min_{name}", config.get(f"min_{name}"), batch_size, records_per_epoch)
        for name in ("validation_period", "checkpoint_period")
    }
    return {
        "max_length": max_length,
        "validation_period": periods["validation_period"],
        "checkpoint_period": periods["checkpoint_period"],
        "reporting_period": Batch(int(config.get("scheduling_unit") or 100)),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation", False)),
        "profiling_enabled": bool((config.get("profiling") or {}).get("enabled", False)),
    }


def _unit(path: str, length: Any, batch_size: int, records_per_epoch: int | None) -> TrainUnit | None:
    """{batches|records|epochs: n} as a unit; 0 and nothing at all mean never."""
    match list(length.items()) if isinstance(length, Mapping) else length:
        case None:
            return None
        case int() as number if not isinstance(length, bool):
            return Batch(number) if number > 0 else None
        case [("batches", int() as number)]:
            return Batch(number) if number > 0 else None
        case [("records", int() as number)]:
            return Batch(max(1, number // batch_size)) if number > 0 else None
        case [("epochs", int() as number)]:
            return _epochs(number, batch_size, records_per_epoch)
    raise errors.InvalidExperimentException(
        f"{path}: expected one of batches, records or epochs with a number, found {length!r}"
    )


def _epochs(number: int, batch_size: int, records_per_epoch: int | None) -> TrainUnit | None:
    """Epochs are rounds of the loader, unless the configuration says how many records make one."""
    if number <= 0:
        return None
    if records_per_epoch:
        return Batch(max(1, number * records_per_epoch // batch_size))
    return Epoch(number)
