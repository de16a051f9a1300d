"""`det experiment create --local --test-mode`: one batch, one validation, one checkpoint, on this machine."""

from __future__ import annotations

import logging
import os
import pathlib
import sys
import tempfile
import traceback
from typing import Any

from determined import constants
from determined._trial import any_choice
from determined.exec._entrypoint import TRIAL_CLASS


def run(config: dict[str, Any], context_dir: str) -> int:
    """Try out the trial class that `config` names, from `context_dir`. The exit code; progress is printed."""
    entrypoint = config.get("entrypoint")
    if not (isinstance(entrypoint, str) and TRIAL_CLASS.match(entrypoint)):
        print(
            f"entrypoint: --local --test-mode tries out a trial class (module:Class), found {entrypoint!r}",
            file=sys.stderr,
        )
        return 1
    try:
        import torch  # noqa: F401
    except ImportError as problem:
        print(f"--local --test-mode needs the trial's own packages here: {problem}", file=sys.stderr)
        return 1
    logging.basicConfig(level=logging.INFO, format=constants.LOG_FORMAT)
    before = pathlib.Path.cwd()
    os.chdir(context_dir)
    sys.path.insert(0, os.getcwd())
    try:
        _try_out(entrypoint, config)
    except Exception:  # noqa: BLE001 - the user's code may raise anything, and the test has to show it
        traceback.print_exc()
        print(f"the test of {entrypoint} failed", file=sys.stderr)
        return 1
    finally:
        sys.path.remove(os.getcwd())
        os.chdir(before)
    print(f"the test of {entrypoint} passed: one batch trained, one validation, one checkpoint")
    return 0


def _try_out(entrypoint: str, config: dict[str, Any]) -> None:
    from determined import core, pytorch
    from determined.exec.harness import load_trial_class
    from determined.pytorch._trainer import context_around

    print(f"loading {entrypoint}")
    trial_class = load_trial_class(entrypoint)
    hparams = any_choice(config.get("hyperparameters") or {})
    with (
        tempfile.TemporaryDirectory(prefix="determined-test-") as folder,
        core.init(checkpoint_storage=folder) as core_context,
    ):
        context = context_around(core_context, hparams=hparams, exp_conf=config)
        print("building the trial")
        trainer = pytorch.Trainer(trial_class(context), context)
        trainer._is_trainer = False
        print("training one batch, validating one batch, saving a checkpoint")
        trainer.fit(max_length=pytorch.Batch(1), test_mode=True)
