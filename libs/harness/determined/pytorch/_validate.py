"""One validation: evaluates every batch, and reduces the metrics over batches and ranks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import data

from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._reducers import Reducer, reduce_batches, reduce_ranks
from determined.pytorch._trial import PyTorchTrial, overrides


def validate(
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    loader: data.DataLoader[Any],
    callbacks: Sequence[PyTorchCallback],
    *,
    test_mode: bool,
) -> dict[str, Any]:
    """The metrics, equal on every rank. Raises RuntimeError when the validation data is empty."""
    context.reset_reducers()
    for model in context.models:
        model.eval()
    for callback in callbacks:
        callback.on_validation_start()
    with torch.no_grad(), context._backend.validating(context.models):
        if overrides(trial, "evaluate_full_dataset"):
            metrics = _on_chief(trial, context, loader)
        else:
            metrics = _batch_by_batch(trial, context, loader, callbacks, test_mode=test_mode)
    metrics = {**metrics, **context.reduce_metrics(for_training=False)}
    for callback in callbacks:
        callback.on_validation_end(metrics)
    return metrics


def _on_chief(trial: PyTorchTrial, context: PyTorchTrialContext, loader: data.DataLoader[Any]) -> dict[str, Any]:
    metrics = None
    if context.distributed.rank == 0:
        metrics = to_numbers(trial.evaluate_full_dataset(data_loader=loader))
    shared: dict[str, Any] = context.distributed.broadcast(metrics)
    return shared


def _batch_by_batch(
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    loader: data.DataLoader[Any],
    callbacks: Sequence[PyTorchCallback],
    *,
    test_mode: bool,
) -> dict[str, Any]:
    for callback in callbacks:
        callback.on_validation_epoch_start()
    with_index = "batch_idx" in inspect.signature(trial.evaluate_batch).parameters
    outputs: list[dict[str, Any]] = []
    weights: list[int] = []
    for batch_idx, batch in enumerate(loader):
        if context.experimental._auto_to_device:
            batch = context.to_device(batch)
        index = {"batch_idx": batch_idx} if with_index else {}
        outputs.append(_checked(trial.evaluate_batch(batch=batch, **index)))
        weights.append(weight(trial, batch))
        if test_mode:
            break
    for callback in callbacks:
        callback.on_validation_epoch_end(outputs)
    return _reduce(context, [to_numbers(output) for output in outputs], weights, trial.evaluation_reducer())


def weight(trial: PyTorchTrial, batch: Any) -> int:
    """The weight of a batch in an average: its number of records, or 1 when that is not known."""
    try:
        return trial.get_batch_length(batch) or 1
    except (TypeError, ValueError):
        return 1


def _checked(metrics: Any) -> dict[str, Any]:
    if not isinstance(metrics, dict):
        raise TypeError(f"evaluate_batch should return a dict of metrics, found {type(metrics).__name__}")
    return {name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in metrics.items()}


def _reduce(
    context: PyTorchTrialContext,
    outputs: Sequence[Mapping[str, Any]],
    weights: Sequence[int],
    reducer: Reducer | Mapping[str, Reducer],
) -> dict[str, Any]:
    names = outputs[0] if outputs else {}
    reducers = dict.fromkeys(names, reducer) if isinstance(reducer, Reducer) else dict(reducer)
    missing = sorted(set(names) - set(reducers))
    if missing:
        raise ValueError(f"evaluation_reducer says nothing of the metrics {', '.join(missing)}")
    mine = reduce_batches(outputs, reducers, weights) if outputs else {}
    everyone = context.distributed.allgather((mine, sum(weights), reducers))
    if not any(records for _, records, _ in everyone):
        raise RuntimeError("the validation data loader is empty, so there is nothing to validate on")
    reducers = next(theirs for _, records, theirs in everyone if records)
    return reduce_ranks([(metrics, records) for metrics, records, _ in everyone], reducers)


def to_numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics with tensors converted to numpy arrays, copied from their device."""
    return {
        name: value.detach().float().cpu().numpy()
        if isinstance(value, torch.Tensor) and value.dtype is torch.bfloat16
        else value.detach().cpu().numpy()
        if isinstance(value, torch.Tensor)
        else value
        for name, value in metrics.items()
    }
