"""Writing a checkpoint of a trial."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import torch

from determined._version import __version__
from determined.pytorch import _state
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._code import copy_code
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._state import TrialState
from determined.pytorch._trial import PyTorchTrial


def save(
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    callbacks: dict[str, PyTorchCallback],
    state: TrialState,
    is_trainer: bool,
) -> str:
    """The id of the new checkpoint. Every rank calls it; the chief writes."""
    contents = _state.collect(context)
    contents["callbacks"] = {name: callback.state_dict() for name, callback in callbacks.items()}
    for callback in callbacks.values():
        callback.on_checkpoint_save_start(contents)
    storage_id = ""
    if context.distributed.rank == 0:
        with context._core.checkpoint.store_path(_metadata(state)) as (folder, storage_id):
            _write(folder, trial, context, contents, state, is_trainer)
            for callback in callbacks.values():
                callback.on_checkpoint_end(str(folder))
                callback.on_checkpoint_write_end(str(folder))
    storage_id = str(context.distributed.broadcast(storage_id))
    for callback in callbacks.values():
        callback.on_checkpoint_upload_end(uuid=storage_id)
    return storage_id


def _metadata(state: TrialState) -> dict[str, Any]:
    return {
        "steps_completed": state.batches_trained,
        "determined_version": __version__,
        "framework": f"torch-{torch.__version__}",
        "format": "pickle",
    }


def _write(
    folder: pathlib.Path,
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    contents: dict[str, Any],
    state: TrialState,
    is_trainer: bool,
) -> None:
    torch.save(contents, folder / _state.STATE_FILE)
    _state.save_progress(folder, state)
    (folder / _state.LOAD_FILE).write_text(json.dumps(_load_data(trial, context, is_trainer)))
    copy_code(folder / "code", context._on_cluster(), leave_out=context._core.checkpoint._storage.root)


def _load_data(trial: PyTorchTrial, context: PyTorchTrialContext, is_trainer: bool) -> dict[str, Any]:
    kind = type(trial)
    facts: dict[str, Any] = {
        "trial_type": "PyTorchTrial",
        "experiment_config": context._exp_conf,
        "hparams": context._hparams,
        "trial_cls_spec": f"{kind.__module__}:{kind.__qualname__}",
    }
    if is_trainer:
        facts["is_trainer"] = True
    return facts
