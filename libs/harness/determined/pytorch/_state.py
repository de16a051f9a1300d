"""The state of a trial in a checkpoint: collecting and restoring it."""

from __future__ import annotations

import pathlib
import pickle
import random
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import torch

from determined import errors
from determined.pytorch._context import PyTorchTrialContext

STATE_FILE = "state_dict.pth"
STATE_FILES = (STATE_FILE, "determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt")
"""The file of the state in a checkpoint: the present name first, then those of older releases."""
PROGRESS_FILE = "trial_state.pkl"
LOAD_FILE = "load_data.json"


@dataclass
class TrialState:
    """How far training has come, over all runs of the trial. `last_val` and `last_ckpt` are batch counts."""

    trial_id: int
    last_ckpt: int = 0
    step_id: int = 0
    last_val: int = 0
    batches_trained: int = 0
    epochs_trained: int = 0


def load_progress(folder: pathlib.Path, trial_id: int) -> TrialState | None:
    """The progress in a checkpoint of this trial; None for a checkpoint of another trial, of which only the weights are
    used."""
    path = folder / PROGRESS_FILE
    if not path.exists():
        return None
    with path.open("rb") as file:
        saved = pickle.load(file)
    if saved.get("trial_id") != trial_id:
        return None
    return TrialState(**{field.name: saved[field.name] for field in fields(TrialState) if field.name in saved})


def save_progress(folder: pathlib.Path, state: TrialState) -> None:
    with (folder / PROGRESS_FILE).open("wb") as file:
        pickle.dump(asdict(state), file)


def collect(context: PyTorchTrialContext) -> dict[str, Any]:
    """The state without that of callbacks. Every rank calls it."""
    state: dict[str, Any] = {
        "models_state_dict": [unwrapped(model).state_dict() for model in context.models],
        "optimizers_state_dict": [optimizer.state_dict() for optimizer in context.optimizers],
        "lr_schedulers_state_dict": [scheduler.state_dict() for scheduler in context.lr_schedulers],
        "rng_state": collect_rng_state(),
    }
    if context.distributed.size > 1:
        state["rng_state_by_rank"] = context.distributed.allgather(state["rng_state"])
    if context._scaler is not None:
        state["scaler_state_dict"] = context._scaler.state_dict()
    gradients = _unfinished_gradients(context)
    if gradients is not None:
        state["gradients"] = gradients
    return state


def restore_models(context: PyTorchTrialContext, state: dict[str, Any]) -> None:
    for model, saved in zip(context.models, _listed(state, "model"), strict=True):
        unwrapped(model).load_state_dict(saved)


def restore(context: PyTorchTrialContext, state: dict[str, Any], *, same_trial: bool) -> None:
    """Restores `state`. Random states and accumulated gradients are restored only for the same trial."""
    restore_models(context, state)
    for optimizer, saved in zip(context.optimizers, _listed(state, "optimizer"), strict=True):
        optimizer.load_state_dict(saved)
    schedulers = state.get("lr_schedulers_state_dict", [])
    for scheduler, saved in zip(context.lr_schedulers, schedulers, strict=True):
        scheduler.load_state_dict(saved)
    if context._scaler is not None and "scaler_state_dict" in state:
        context._scaler.load_state_dict(state["scaler_state_dict"])
    if same_trial:
        _restore_gradients(context, state.get("gradients"))
        restore_rng_state(_rng_state_of(context.distributed.rank, state))


def _rng_state_of(rank: int, state: dict[str, Any]) -> dict[str, Any]:
    """The random state of this rank. When there are more ranks than before, further ranks get the state of an earlier
    one; all ranks have the same random state, unless the trial seeds them differently."""
    by_rank = state.get("rng_state_by_rank") or [state.get("rng_state") or {}]
    found: dict[str, Any] = by_rank[rank % len(by_rank)]
    return found


def _listed(state: dict[str, Any], kind: str) -> list[Any]:
    """The states of all models or optimizers. Older checkpoints have a single state in place of a list."""
    if f"{kind}s_state_dict" in state:
        return list(state[f"{kind}s_state_dict"])
    return [state[f"{kind}_state_dict"]]


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The user's own model, so that checkpoints do not depend on how many slots trained it."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        return model.module  # type: ignore[no-any-return]
    return model


def load_state_file(folder: pathlib.Path, device: torch.device, **kwargs: Any) -> dict[str, Any]:
    """The saved state. Loading it may run code of the file, which is trusted as the code in the checkpoint is; with
    `weights_only` it runs none.

    Raises FileNotFoundError, and InvalidCheckpointException when only weights may be loaded (by `weights_only` or
    TORCH_FORCE_WEIGHTS_ONLY_LOAD) and the file has other objects.
    """
    for name in STATE_FILES:
        if (folder / name).exists():
            options = {"map_location": device, "weights_only": False, **kwargs}
            try:
                state: dict[str, Any] = torch.load(folder / name, **options)
            except pickle.UnpicklingError as problem:
                raise errors.InvalidCheckpointException(
                    f"{name} holds more than weights, as checkpoints of other releases do (random states of numpy): "
                    "where you trust it, load it without weights_only, or set TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1; "
                    f"torch says: {str(problem).splitlines()[0]}"
                ) from problem
            return state
    raise FileNotFoundError(f"{folder} holds no {STATE_FILE}")


def has_state(folder: pathlib.Path) -> bool:
    """Whether this is the folder of a trial's checkpoint, of whatever release."""
    return any((folder / name).exists() for name in STATE_FILES)


def collect_rng_state() -> dict[str, Any]:
    state: dict[str, Any] = {
        "cpu_rng_state": torch.random.get_rng_state(),
        "np_rng_state": _plain_numpy_state(),
        "random_rng_state": random.getstate(),
    }
    if torch.cuda.is_available():
        state["gpu_rng_state"] = torch.cuda.get_rng_state()
    return state


def _plain_numpy_state() -> tuple[Any, ...]:
    """numpy's random state with its array as a tensor: torch then loads the file with weights_only, its default."""
    kind, keys, *rest = np.random.get_state(legacy=True)
    return (kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest)


def _numpy_state(saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The random state for numpy. Checkpoints of other releases have an array in place of the tensor."""
    kind, keys, *rest = saved
    return (kind, np.asarray(keys).astype(np.uint32), *rest)


def restore_rng_state(state: dict[str, Any]) -> None:
    if "cpu_rng_state" in state:
        torch.random.set_rng_state(state["cpu_rng_state"].cpu())
        np.random.set_state(_numpy_state(state["np_rng_state"]))
        random.setstate(state["random_rng_state"])
    if "gpu_rng_state" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["gpu_rng_state"].cpu())


def _unfinished_gradients(context: PyTorchTrialContext) -> list[list[torch.Tensor | None]] | None:
    """Accumulated gradients; None when the last batch ended with an optimizer step.

    They are the means over the ranks, so that any number of ranks can resume from what the chief writes.
    """
    if context._aggregation_frequency == 1 or context._current_batch_idx is None or context._updates_now():
        return None
    mine = [[parameter.grad for parameter in model.parameters()] for model in context.models]
    everyone = context.distributed.allgather([[gradient is not None for gradient in model] for model in mine])
    return [
        [
            _mean_gradient(context, parameter) if any(has[at][position] for has in everyone) else None
            for position, parameter in enumerate(model.parameters())
        ]
        for at, model in enumerate(context.models)
    ]


def _mean_gradient(context: PyTorchTrialContext, parameter: torch.Tensor) -> torch.Tensor:
    mine = parameter.grad
    return context._backend.mean(torch.zeros_like(parameter) if mine is None else mine)


def _restore_gradients(context: PyTorchTrialContext, saved: list[list[torch.Tensor | None]] | None) -> None:
    for model, gradients in zip(context.models, saved or [], strict=False):
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.grad = None if gradient is None else gradient.to(parameter.device)
