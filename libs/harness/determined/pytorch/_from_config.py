"""How long to train and when to validate, from the configuration of a trial with a legacy entrypoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from determined import errors
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._units import Batch, Epoch, TrainUnit

logger = logging.getLogger("determined.pytorch")


def fit_arguments(config: Mapping[str, Any], context: PyTorchTrialContext) -> dict[str, Any]:
    """Arguments for Trainer.fit. Raises InvalidExperimentException naming the field."""
    periods = {
        name: _unit(f"min_{name}", config.get(f"min_{name}"), config, context)
        for name in ("validation_period", "checkpoint_period")
    }
    return {
        "max_length": max_length(config, context),
        "validation_period": periods["validation_period"],
        "checkpoint_period": periods["checkpoint_period"],
        "reporting_period": Batch(int(config.get("scheduling_unit") or 100)),
        "checkpoint_policy": config.get("checkpoint_policy") or "best",
        "step_zero_validation": bool(config.get("perform_initial_validation", False)),
        "profiling_enabled": bool((config.get("profiling") or {}).get("enabled", False)),
    }


def max_length(config: Mapping[str, Any], context: PyTorchTrialContext) -> TrainUnit:
    """The largest length that the search may set for this trial: `searcher.max_length`, or `searcher.max_time` if that
    counts batches or epochs. For a custom search, which sets lengths as it goes, it is 1 unit.

    Raises InvalidExperimentException naming the field.
    """
    searcher: Mapping[str, Any] = config.get("searcher") or {}
    if is_custom(config):
        return target(searcher.get("unit") or "batches", config, context, 1)
    found = _unit("searcher.max_length", searcher.get("max_length"), config, context) or _time(searcher)
    if found is not None:
        return found
    if time_metric := searcher.get("time_metric"):
        raise errors.InvalidExperimentException(
            f"searcher.time_metric: a trial class counts only batches and epochs, so it cannot train to a length in "
            f"{time_metric!r}; use one of these two, or pytorch.Trainer.fit(max_length=...) in a script"
        )
    raise errors.InvalidExperimentException(
        "searcher.max_length: a trial class needs it, for example {batches: 1000}; or use "
        "pytorch.Trainer.fit(max_length=...) in a script of your own"
    )


def is_custom(config: Mapping[str, Any]) -> bool:
    """Whether a client runs the search, and sets its targets."""
    return (config.get("searcher") or {}).get("name") == "custom"


def search_unit(config: Mapping[str, Any]) -> str | None:
    """The unit of the search's targets; None for a search without targets."""
    searcher: Mapping[str, Any] = config.get("searcher") or {}
    match searcher.get("max_length"):
        case int():
            return "batches"
        case Mapping() as form:
            return str(next(iter(form)))
    return str(searcher.get("unit") or "batches") if is_custom(config) else None


def _time(searcher: Mapping[str, Any]) -> TrainUnit | None:
    match searcher.get("time_metric"), searcher.get("max_time"):
        case "batches", int() as number:
            return Batch(number)
        case "epochs", int() as number:
            return Epoch(number)
    return None


def target(unit: str, config: Mapping[str, Any], context: PyTorchTrialContext, length: int) -> TrainUnit:
    """A target of the search, which counts in `unit`."""
    found = _unit("searcher.max_length", {unit: length}, config, context)
    assert found is not None, f"a search sets targets above 0, found {length}"
    return found


def checked(asked: TrainUnit | None, config: Mapping[str, Any], context: PyTorchTrialContext) -> TrainUnit:
    """The `max_length` of a script, or that of the search when the script gives none. A search with a time metric
    compares trials up to its max_time: a script with another length gets a warning."""
    if asked is None:
        return max_length(config, context)
    searcher: Mapping[str, Any] = config.get("searcher") or {}
    whole = _time(searcher)
    if whole is not None and (type(asked), asked.value) != (type(whole), whole.value):
        logger.warning(
            "fit(max_length=%r) trains to another length than searcher.max_time, %s %s: trials are compared up to that",
            asked,
            searcher["max_time"],
            searcher["time_metric"],
        )
    return asked


def _unit(path: str, length: Any, config: Mapping[str, Any], context: PyTorchTrialContext) -> TrainUnit | None:
    """{batches|records|epochs: n} as a unit; None for 0 and for no value, which mean never."""
    match list(length.items()) if isinstance(length, Mapping) else length:
        case None:
            return None
        case int() as number if not isinstance(length, bool):
            return Batch(number) if number > 0 else None
        case [("batches", int() as number)]:
            return Batch(number) if number > 0 else None
        case [("records", int() as number)]:
            return _records(number, context) if number > 0 else None
        case [("epochs", int() as number)]:
            return _epochs(number, config.get("records_per_epoch"), context) if number > 0 else None
    raise errors.InvalidExperimentException(
        f"{path}: expected one of batches, records or epochs with a number, found {length!r}"
    )


def _records(number: int, context: PyTorchTrialContext) -> Batch:
    return Batch(max(1, number // context.get_global_batch_size()))


def _epochs(number: int, records_per_epoch: int | None, context: PyTorchTrialContext) -> TrainUnit:
    """Epochs are passes through the loader, unless the configuration has records_per_epoch."""
    return _records(number * records_per_epoch, context) if records_per_epoch else Epoch(number)
