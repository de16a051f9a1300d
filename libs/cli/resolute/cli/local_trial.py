"""The process behind `--local --test-mode`: `python -m resolute.cli.local_trial file:Class`, config on stdin."""

from __future__ import annotations

import importlib
import json
import random
import sys
import tempfile
from typing import Any


def main(entrypoint: str, config: dict[str, Any]) -> None:
    import determined.pytorch as det_pytorch

    module, _, name = entrypoint.partition(":")
    trial_class = getattr(importlib.import_module(module), name)
    hparams = hyperparameters(config)
    with tempfile.TemporaryDirectory() as directory:
        config["checkpoint_storage"] = {"type": "directory", "container_path": directory}
        with det_pytorch.init(hparams=hparams, exp_conf=config) as context:
            trainer = det_pytorch.Trainer(trial_class(context), context)
            trainer.fit(max_length=det_pytorch.Batch(1), test_mode=True)


def hyperparameters(config: dict[str, Any]) -> dict[str, Any]:
    """One choice from the search space, the same each time; a batch size is always there."""
    from resolute.config import parse_space, sample

    chosen = dict(sample(parse_space(config.get("hyperparameters") or {}), random.Random(0)))
    return {"global_batch_size": 1, **chosen}


if __name__ == "__main__":
    main(sys.argv[1], json.load(sys.stdin))
