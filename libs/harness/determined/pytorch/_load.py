"""Builds a trial from a checkpoint without training, for inference or to inspect a model."""

from __future__ import annotations

import importlib
import json
import logging
import pathlib
from typing import Any

import torch

from determined import core, errors
from determined._import_path import import_from_path
from determined.common import storage
from determined.pytorch import _state
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._trial import PyTorchTrial

logger = logging.getLogger("determined.pytorch")


class CheckpointLoadContext(PyTorchTrialContext):
    """A context to build a trial with, without a cluster and without training."""

    def __init__(self, hparams: dict[str, Any] | None = None, exp_conf: dict[str, Any] | None = None) -> None:
        distributed = core.DummyDistributedContext()
        place = storage.build(str(storage.default_root()))
        super().__init__(
            core_context=core.Context(checkpoint=core.DummyCheckpointContext(distributed, place)),
            trial_seed=None,
            hparams=hparams,
            slots_per_trial=1,
            num_gpus=torch.cuda.device_count(),
            exp_conf=exp_conf,
            aggregation_frequency=1,
            steps_completed=0,
            managed_training=False,
            debug_enabled=False,
            enable_tensorboard_logging=False,
        )


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: type[PyTorchTrial] | None = None,
    trial_kwargs: dict[str, Any] | None = None,
    torch_load_kwargs: dict[str, Any] | None = None,
    **kwargs: Any,
) -> PyTorchTrial:
    """The trial saved in the folder `path`, its models with their weights.

    Without `trial_class` the class is imported from the code in the checkpoint, so this runs that code.
    `trial_kwargs` are further arguments of the trial's constructor, `torch_load_kwargs` of torch.load.
    """
    options = dict(torch_load_kwargs or {})
    if kwargs:
        if torch_load_kwargs is not None:
            raise ValueError("give arguments of torch.load in torch_load_kwargs only")
        logger.warning("arguments of torch.load should be given in torch_load_kwargs")
        options = kwargs
    folder = pathlib.Path(path)
    load_data = _load_data(folder)
    context = CheckpointLoadContext(load_data.get("hparams"), load_data.get("experiment_config"))
    trial = _build(folder, load_data, trial_class, context, trial_kwargs or {})
    try:
        state = _state.load_state_file(folder, torch.device("cpu"), **options)
    except FileNotFoundError as problem:
        raise errors.InvalidCheckpointException(str(problem)) from problem
    _state.restore_models(context, state)
    return trial


def _load_data(folder: pathlib.Path) -> dict[str, Any]:
    if not (folder / _state.LOAD_FILE).exists() and (older := _of_older_release(folder)) is not None:
        return older
    load_data = _json_of(folder / _state.LOAD_FILE)
    if load_data.get("trial_type") != "PyTorchTrial":
        raise AssertionError(f"this is a checkpoint of a {load_data.get('trial_type')}, not of a PyTorchTrial")
    return load_data


def _json_of(file: pathlib.Path) -> dict[str, Any]:
    try:
        contents: dict[str, Any] = json.loads(file.read_text())
    except (FileNotFoundError, ValueError) as problem:
        raise errors.InvalidCheckpointException(str(problem)) from problem
    return contents


def _of_older_release(folder: pathlib.Path) -> dict[str, Any] | None:
    """The contents of metadata.json of Determined up to 0.17, in the form of load_data.json; None for another folder.

    A checkpoint whose folder was copied has no metadata.json (a download adds it): then only its weights are known.
    """
    if not _state.has_state(folder):
        return None
    metadata = _json_of(folder / storage.METADATA_FILE) if (folder / storage.METADATA_FILE).exists() else {}
    config = metadata.get("experiment_config") or {}
    return {
        "trial_type": "PyTorchTrial",
        "experiment_config": config or None,
        "hparams": metadata.get("hparams"),
        "trial_cls_spec": config.get("entrypoint") or "",
    }


def _build(
    folder: pathlib.Path,
    load_data: dict[str, Any],
    trial_class: type[PyTorchTrial] | None,
    context: PyTorchTrialContext,
    trial_kwargs: dict[str, Any],
) -> PyTorchTrial:
    if trial_class is not None:
        return trial_class(context, **trial_kwargs)
    module_name, _, qualified = str(load_data["trial_cls_spec"]).partition(":")
    if not qualified:
        raise ValueError("this checkpoint does not say which class its trial is; pass the class as trial_class")
    if module_name == "__main__":
        raise ValueError("this trial was defined in a script; pass its class as trial_class")
    with import_from_path(folder / "code"):
        found: Any = importlib.import_module(module_name)
        for name in qualified.split("."):
            found = getattr(found, name)
        trial: PyTorchTrial = found(context, **trial_kwargs)
    return trial
